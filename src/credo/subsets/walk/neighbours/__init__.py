"""The log posteriors of all models that differ from one by a column.

    ln p_β(γ) = still + β · fit,   still + fit = ln p(γ)p(y | γ)

`Heights` is what compiled code reads of the posterior; the functions of `_jit` look at all d neighbours of a factored
model in O(d). What does not belong here: which neighbour to go to.
"""

from credo.subsets.walk.neighbours._jit import Heights

__all__ = ["Heights"]
