"""Densities that are mixtures of normal or Student-t components.

    p(x) = Σ_k π_k N(x | μ_k, Σ_k)    or    Σ_k π_k t(x | ν_k, μ_k, Σ_k)

Fitted by EM in the log domain, with a weak proper prior under which no component can collapse on a single row. The
number of components is given or selected by BIC. The Laplace approximation of ln p(X) makes families comparable:
p(X) = Σ_h p(X | h) p(h).

Contract: scikit-learn's names, `fit(X)`, `score_samples`, `score`, `sample`, `predict`, `predict_proba`, `bic` and
`aic`; and Credo's, `log_evidence_`, `evidence_method_`, `evidence_base_`, `result_` and `summary()`.

Members: `GaussianMixture`, `StudentTMixture` (df=1 is the Cauchy mixture), and `average_densities`, which returns a
`DensityAverage`.

Not here: mixtures that predict y from X (`credo.ensemble`), mixtures as predictive distributions
(`credo.distributions`).
"""

from credo.mixtures._density import DensityAverage, GaussianMixture, StudentTMixture, average_densities
from credo.mixtures._mixture import Components

__all__ = ["Components", "DensityAverage", "GaussianMixture", "StudentTMixture", "average_densities"]
