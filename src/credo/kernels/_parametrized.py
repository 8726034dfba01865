"""Named parameters of an immutable object: replace, fix, bound, set priors."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.kernels._groups import Groups
from credo.params import LogInterval, Parameter, ParameterTree, Prior


class Parametrized(ABC):
    """An object whose parameters are in `tree`; every change returns a new one."""

    tree: ParameterTree
    # The attributes that make the value.
    _fields: ClassVar[tuple[str, ...]] = ("tree",)
    # The parameters that may have an entry for each column.
    _vectors_allowed: ClassVar[tuple[str, ...]] = ()

    def with_tree(self, tree: ParameterTree) -> Self:
        """The same object with these parameters."""
        twin = copy(self)
        twin.tree = tree
        return twin

    @property
    def params(self) -> Mapping[str, Any]:
        """Every parameter in natural units, by name."""
        return self.tree.natural

    @property
    def names(self) -> list[str]:
        """The free parameters, entry by entry, in the order of `pullback`."""
        return self.tree.names

    def entries(self, columns: Sequence[str]) -> list[tuple[str, float]]:
        """Name and value of every parameter entry; entries for a column or group of columns are named after it."""
        lines = []
        for path, value in self.params.items():
            if not np.ndim(value):
                lines.append((path, float(value)))
                continue
            owners = self.owners(path, columns)
            tails = [f"[{i}]" for i in range(len(value))] if owners is None else [f" of {name}" for name in owners]
            lines += [(path + tail, float(entry)) for tail, entry in zip(tails, value, strict=True)]
        return lines

    def owners(self, path: str, columns: Sequence[str]) -> list[str] | None:
        """The column, or group of columns, of each entry of a vector parameter; None where entries have none."""
        # A scaled kernel may have gained a factor in front: the path is the same from its end.
        known = [own for own in self.tree.paths if own == path or own.endswith(f".{path}")]
        if not known:
            return None
        shared = self.column_groups().get(known[0])
        if shared is not None:
            return shared.described(columns)
        return list(columns) if np.size(self.params[known[0]]) == len(columns) else None

    def column_groups(self) -> dict[str, Groups]:
        """By path, the groups of the columns that share entries of a vector parameter."""
        return {}

    def with_params(self, **values: Any) -> Self:
        """The kernel with other parameter values; "a__b" is the parameter "a.b" of a composed kernel."""
        return self.with_tree(self.tree.with_values({_path(name): value for name, value in values.items()}))

    def fix(self, *names: str) -> Self:
        """The kernel with these parameters (by default all) fixed during fitting."""
        return self.with_tree(self.tree.fix(*map(_path, names or self.tree.paths)))

    def free(self, *names: str) -> Self:
        """The kernel with these parameters (by default all) free to be fitted."""
        return self.with_tree(self.tree.free(*map(_path, names or self.tree.paths)))

    def with_prior(self, name: str, prior: Prior | None) -> Self:
        """The kernel with a hyperprior on one parameter, or without it."""
        return self.with_tree(self.tree.replace(_path(name), prior=prior))

    def with_bounds(self, name: str, lower: float, upper: float) -> Self:
        """The kernel with one positive parameter bounded between two values."""
        return self.with_tree(self.tree.replace(_path(name), bijector=LogInterval(lower, upper)))

    def to_fields(self) -> dict[str, Any]:
        """The attributes named in `_fields`, which model files store."""
        return {name: getattr(self, name) for name in self._fields}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """The object from the fields of `to_fields`."""
        if set(fields) != set(cls._fields):
            raise ValueError(f"a {cls.__name__} has the fields {', '.join(cls._fields)}; got {', '.join(fields)}")
        value = cls.__new__(cls)
        vars(value).update(fields)
        value._check_fields()
        return value

    def _check_fields(self) -> None:
        """Raise a ValueError where the attributes that a file gave can't be those of a constructor."""
        fresh = type(self)().tree
        if not isinstance(self.tree, ParameterTree) or self.tree.paths != fresh.paths:
            raise ValueError(f"a {type(self).__name__} has the parameters {fresh.paths}")
        for path, value in self.params.items():
            if np.ndim(value) and path not in self._vectors_allowed:
                raise ValueError(f"{path} of a {type(self).__name__} is one number")

    def _check_tree(self, fresh: Parametrized) -> None:
        """Raise a ValueError where the parameters aren't those of the same object made by its constructor."""
        if self.tree != fresh.tree:
            raise ValueError(f"the parameters of a {type(self).__name__} aren't those of its parts")

    def _free(self) -> NDArray[np.bool_]:
        """Which entries of all parameters, in order, are free."""
        leaves = [self.tree[path] for path in self.tree.paths]
        marks = [np.full(leaf.size, not leaf.fixed) for leaf in leaves if isinstance(leaf, Parameter)]
        return np.concatenate(marks) if marks else np.empty(0, dtype=bool)

    def _label(self) -> str:
        """The name of the object within a composition."""
        return type(self).__name__.lower()


def labels(terms: Sequence[Parametrized]) -> list[str]:
    """A name for each term: its class in lower case, numbered from the second of its kind on."""
    seen: Counter[str] = Counter()
    names = []
    for term in terms:
        kind = term._label()
        seen[kind] += 1
        names.append(kind if seen[kind] == 1 else f"{kind}{seen[kind]}")
    return names


def _path(name: str) -> str:
    return name.replace("__", ".")
