"""Averaging densities by their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import clone

from credo.seeds import generator

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DensityAverage:
    """Densities averaged with their posterior probabilities p(h | X).

    Attributes
    ----------
    names : of the families
    models : the fitted densities
    weights : p(h | X)
    log_evidences : ln p(X | h)
    log_evidence : ln Σ_h p(X | h) p(h)

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GaussianMixture, StudentTMixture, average_densities
    >>> X = np.random.default_rng(0).standard_t(2.0, size=(200, 1))
    >>> found = average_densities({"normal": GaussianMixture(1), "cauchy": StudentTMixture(1, df=1.0)}, X)
    >>> found.names, found.weights.round(3)
    (('normal', 'cauchy'), array([0., 1.]))
    """

    names: tuple[str, ...]
    models: tuple[Any, ...]
    weights: Array
    log_evidences: Array
    log_evidence: float

    def score_samples(self, X: ArrayLike) -> Array:
        """ln Σ_h p(h | X) p(x | h) of each row."""
        terms = np.column_stack([model.score_samples(X) for model in self.models])
        return np.asarray(logsumexp(terms, axis=1, b=self.weights))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, NDArray[np.intp]]:
        """Draw rows, each from one of the families; returns them and the family of each."""
        rng = generator(random_state)
        labels = rng.choice(len(self.models), size=n_samples, p=self.weights)
        rows = np.empty((n_samples, self.models[0].n_features_in_))
        for h in np.unique(labels):
            rows[labels == h] = self.models[h].sample(int((labels == h).sum()), random_state=rng)[0]
        return rows, labels


def average_densities(
    models: Mapping[str, Any] | Sequence[tuple[str, Any]],
    X: ArrayLike,
    *,
    prior: Mapping[str, float] | Sequence[float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> DensityAverage:
    """Bayesian model averaging of densities.

        p(X) = Σ_h p(X | h) p(h),    p(h | X) = p(X | h) p(h) / p(X)                            (Bishop 14.2)

    The average assumes that one family h made the whole data set, of which X leaves us uncertain: with more rows, the
    probability of one family tends to one. A mixture model, by contrast, lets each row have a component of its own.

    Parameters
    ----------
    models : mapping of name to density, or sequence of (name, density)
        Such as `GaussianMixture(2)` and `StudentTMixture(2, df=1)`; clones of them are fitted to X.
    X : array or frame of shape (n_samples, n_features)
    prior : mapping from name to probability, or sequence of probabilities, optional
        p(h), which must be positive and sum to one; by default equal for all.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo.mixtures import average_densities
    >>> x = np.random.default_rng(0).standard_cauchy((100, 1))
    >>> from credo.mixtures import GaussianMixture, StudentTMixture
    >>> models = {"normal": GaussianMixture(2, random_state=0), "Cauchy": StudentTMixture(2, df=1, random_state=0)}
    >>> average = average_densities(models, x)
    >>> average.weights.round(3)
    array([0., 1.])
    """
    pairs = list(models.items()) if isinstance(models, Mapping) else [(str(name), model) for name, model in models]
    if not pairs:
        raise ValueError("average_densities needs at least one model; got none")
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError(f"the names of the models must differ; got {[name for name, _ in pairs]}")
    if isinstance(prior, Mapping):
        if set(prior) != {name for name, _ in pairs}:
            raise ValueError(f"prior must name the models {[name for name, _ in pairs]}; got {list(prior)}")
        prior = [prior[name] for name, _ in pairs]
    p = np.full(len(pairs), 1.0 / len(pairs)) if prior is None else np.asarray(prior, dtype=np.float64)
    if p.shape != (len(pairs),) or not (p > 0).all() or not np.isclose(p.sum(), 1.0):
        raise ValueError(f"prior must have {len(pairs)} positive numbers that sum to one; got {prior!r}")
    fitted = [clone(model).fit(X, sample_weight=sample_weight) for _, model in pairs]
    for (name, _), model in zip(pairs, fitted, strict=True):
        if model.evidence_base_ != fitted[0].evidence_base_:
            raise ValueError(
                f"the evidence of {name!r} has the base {model.evidence_base_!r}, that of {pairs[0][0]!r} "
                f"{fitted[0].evidence_base_!r}: evidences are comparable only within one base; use the same `prior` "
                "and way to choose n_components for all"
            )
    evidences = np.array([model.log_evidence_ for model in fitted])
    joint = evidences + np.log(p)
    total = float(logsumexp(joint))
    weights = np.exp(joint - total)
    return DensityAverage(
        tuple(name for name, _ in pairs), tuple(fitted), weights / weights.sum(), evidences, total
    )  # fmt: skip
