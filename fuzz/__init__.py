"""Fuzzers: generated and hostile inputs, with a known truth or none.

Each runs by itself, as `python -m fuzz.tables --seconds 60 --seed 0`: `tables` (text tables), `commands` (`credo fit`
stopped at any moment), `model_files` (forged model files, each tried in a process that may crash) and `fits` (hard
data). `make fuzz` runs them all for a while. They are not part of the library and aren't installed with it.
"""
