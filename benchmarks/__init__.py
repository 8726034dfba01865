"""Credo beside its peers, measured in one run: ``make bench``, or ``python -m benchmarks linear``."""
