"""Mixtures of normal and of Student-t components as density estimators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credo.estimator import choice, positive
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
        number the components; too large where components overlap so much that these aren't separate modes
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
