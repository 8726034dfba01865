"""Fuzzers: hostile inputs, each tried in a process that may crash.

`python -m fuzz.model_files --seconds 60 --seed 0` forges model files, `python -m fuzz.fits` fits models to hard
data. `make fuzz` runs all fuzzers for a while. They are not part of the library and aren't installed with it.
"""
