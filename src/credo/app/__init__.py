"""The programs: the command line (`cli`), the lab in the browser (`lab`) and the model server (`serve`).

Only these packages print, listen on a port or read options. What does not belong here: anything that computes.
"""
