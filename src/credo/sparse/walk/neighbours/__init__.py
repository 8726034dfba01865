"""A model as a factor of its columns, and the log posteriors of all models that differ from it by one column.

    ln p_β(γ) = still + β · fit,   still + fit = ln p(γ)p(y | γ)

`Columns`, `Heights` and `Replicas` are tuples of arrays that compiled code reads and writes; the functions of `_jit`
insert and remove a column in O(dk) and look at all d neighbours in O(d). What does not belong here: which neighbour
to go to.
"""

from credo.sparse.walk.neighbours._jit import Columns, Heights, Replicas

__all__ = ["Columns", "Heights", "Replicas"]
