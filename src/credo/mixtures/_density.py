"""Mixtures of normal and of Student-t components as density estimators, averaged by their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import choice, positive
from credo.core.seeds import generator
from credo.mixtures._mixture import DensityMixture

Array = NDArray[np.float64]

_PARAMETERS = """
    n_components : int or "bic", default 1
        "bic" selects the number with the smallest BIC, from 1 to `max_components`.
    covariance : {"full", "diag"}, default "full"
        Whether the columns may be correlated within a component.
    prior : "weak" or None, default "weak"
        "weak" is the prior of Fraley & Raftery (2007) on means and covariances, with the information of about d + 3
        rows for each component, under which no component collapses on one row; it is scaled by the interquartile
        ranges of the columns. None maximizes the likelihood, with only a floor for the covariances (a millionth of
        those squared); the evidence is then −½ BIC.
    max_components : int, default 10
        For "bic".
    n_restarts : int, default 4
        Further starts of EM; the best is continued.
    max_iter : int, default 1000
        Iterations of EM.
    tol : float, default 1e-6
        EM stops when an iteration adds less than this to the log posterior, for each observation.
    random_state : int, Generator or None, default None
        For the starts."""

_ATTRIBUTES = """
    weights_ : π_k, the largest first
    means_ : μ_k, (n_components, n_features)
    components_ : the components, in units of the standardized columns
    log_likelihood_, n_parameters_, n_observations_ : at the estimate
    log_evidence_, evidence_method_, evidence_base_ : ln p(X), by the Laplace approximation, with K! for the ways to
        number the components; too large if components overlap so much that these aren't separate modes
    bound_ : the log posterior, up to a constant, after each iteration; it never decreases
    result_ : convergence of EM"""


class GaussianMixture(DensityMixture):
    __doc__ = f"""A mixture of normal distributions, fitted by EM.

        p(x) = Σ_k π_k N(x | μ_k, Σ_k)

    With ``prior=None`` equivalent to scikit-learn's `GaussianMixture`.

    Parameters
    ----------{_PARAMETERS}

    Attributes
    ----------
    covariances_ : Σ_k, (n_components, n_features, n_features), or (n_components, n_features) for "diag"{_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from credo.mixtures import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(-3.0, 1.0, 100), rng.normal(3.0, 0.5, 50)])[:, None]
    >>> model = GaussianMixture("bic", random_state=0).fit(x)
    >>> model.weights_.round(1), model.means_.ravel().round(0)
    (array([0.7, 0.3]), array([-3.,  3.]))
    """

    _title = "Mixture of normal distributions"

    @property
    def covariances_(self) -> Array:
        return self._scatters()

    def _df(self) -> float:
        return float("inf")


class StudentTMixture(DensityMixture):
    __doc__ = f"""A mixture of Student-t distributions, which outliers hardly move, fitted by EM.

        p(x) = Σ_k π_k t(x | ν_k, μ_k, Σ_k),    x = μ_k + L_k ε/√u,  ε ~ N(0, I),  u ~ Gamma(ν_k/2, ν_k/2)

    With df=1 a mixture of Cauchy distributions.

    Parameters
    ----------
    df : float or "learn", default "learn"
        ν of all components; "learn" estimates one for each, under a gamma prior of shape 2 and rate 0.1 (Juárez &
        Steel 2010).{_PARAMETERS}

    Attributes
    ----------
    scale_matrices_ : Σ_k, (n_components, n_features, n_features), or (n_components, n_features) for "diag"; the
        covariance of a component is νΣ/(ν − 2) if ν > 2
    df_ : ν_k{_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from credo.mixtures import StudentTMixture
    >>> x = np.random.default_rng(0).standard_cauchy((300, 1))
    >>> model = StudentTMixture(df=1, random_state=0).fit(x)
    >>> bool(abs(model.means_[0, 0]) < 0.2)
    True
    """

    _title = "Mixture of Student-t distributions"

    def __init__(
        self,
        n_components: int | Literal["bic"] = 1,
        *,
        df: float | Literal["learn"] = "learn",
        covariance: Literal["full", "diag"] = "full",
        prior: Literal["weak"] | None = "weak",
        max_components: int = 10,
        n_restarts: int = 4,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components, covariance=covariance, prior=prior, max_components=max_components, n_restarts=n_restarts,
            max_iter=max_iter, tol=tol, random_state=random_state,
        )  # fmt: skip
        self.df = df

    @property
    def scale_matrices_(self) -> Array:
        return self._scatters()

    @property
    def df_(self) -> Array:
        check_is_fitted(self)
        return self.components_.df

    def _df(self) -> float | None:
        if isinstance(self.df, str):
            choice("df", self.df, ("learn",))
            return None
        return positive("df", self.df)


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

    The average assumes that one unknown family h generated the whole data set: with more rows, the probability of one
    family tends to one. In a mixture model, by contrast, each row has its own component.

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
