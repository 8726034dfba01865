"""Models as factors of their columns.

`Columns` is what all models share, `Replicas` are several models, as tuples of arrays that compiled code reads and
writes; the functions of `_jit` insert and remove a column in O(dk). What does not belong here: how likely a model is.
"""

from credo.subsets.walk.factors._jit import Columns, Replicas

__all__ = ["Columns", "Replicas"]
