"""Additive classification: logits, several classes, or ordered classes as a sum of curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from credo.additive import _families as families
from credo.additive._laplace import LaplaceEvidence
from credo.additive._learning import Layout
from credo.additive._model import AdditiveModel
from credo.additive._posterior import AdditivePosterior, basis_layout, centered_basis, monotone
from credo.additive.terms import Term, TrainingColumns
from credo.core.estimator import Classifier, Description, check_labels, choice, interval_level
from credo.core.fields import Axes
from credo.likelihoods import Bernoulli, Likelihood, Ordinal, expected_sigmoid
from credo.likelihoods.bernoulli import expected_softmax, normal_points, softmax_interval

Array = NDArray[np.float64]
_ORDINAL = "logit P(y ≤ k) = c_k − f1(x) − f2(x) − ..."
# Equally probable points of a standard normal distribution, over which ordered probabilities are averaged.
_EVEN = ndtri((np.arange(101) + 0.5) / 101)


class AdditiveClassifier(AdditiveModel, Classifier):
    """Class probabilities from a sum of curves, lines, factors, random effects and pairs of columns.

    Two classes have P(y = 1) = σ(f), f = b + f₁(x) + f₂(x) + …; more have a softmax of one such sum for each; ordered
    classes have P(y ≤ k) = σ(c_k − f). Terms and their variances are those of `AdditiveRegressor`, by Laplace's
    approximation of the evidence, and probabilities are averaged over the posterior.

    Parameters
    ----------
    terms : list of terms, optional
        As in `AdditiveRegressor`.
    family : {"auto", "bernoulli", "categorical", "ordinal"}, default "auto"
        "auto" is "bernoulli" for two classes, else "ordinal" if `order` is given, else "categorical".
    order : list of labels, optional
        The classes from lowest to highest, for ordered classes.
    pairs, hyperparameters, reml : as in `AdditiveRegressor`

    Attributes
    ----------
    terms_ : a table of the terms: standard deviations, effective degrees of freedom, shares, log Bayes factors
    family_ : the family
    cuts_ : c of ordered classes, on the scale of f where all columns with flat priors are zero
    log_evidence_, evidence_method_, evidence_base_ : ln p(y | X), by Laplace's approximation
    posterior_ : the posterior of the coefficients
    result_ : how the search for the variances ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo import AdditiveClassifier
    >>> x = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> inside = np.abs(x[:, 0]) < 1.2
    >>> AdditiveClassifier().fit(x, inside).predict([[-2.0], [0.0], [2.0]])
    array([False,  True, False])
    """

    family_: str
    likelihood_: Any
    contrasts_: Annotated[Any, Axes("c M")]
    ranks_: NDArray[np.intp]

    _title = "Additive classification"
    _equation = "logit P(y = 1) = b + f1(x) + f2(x) + ..."

    def __init__(
        self,
        terms: Sequence[Term | str] | None = None,
        *,
        family: Literal["auto", "bernoulli", "categorical", "ordinal"] = "auto",
        order: Sequence[Any] | None = None,
        pairs: int | Literal["auto"] = "auto",
        hyperparameters: Literal["integrate", "optimize"] = "integrate",
        reml: bool = True,
    ) -> None:
        self.terms = terms
        self.family = family
        self.order = order
        self.pairs = pairs
        self.hyperparameters = hyperparameters
        self.reml = reml

    def describe(self, *, level: float = 0.95) -> Description:
        """What the fitted model is, in words and numbers, with a curve for each term: see `Description`."""
        found = super().describe(level=level)
        return replace(found, equation=_ORDINAL) if self.family_ == "ordinal" else found

    def _check_state(self) -> None:
        n, m = len(self.classes_), self.posterior_.n_latents
        if sorted(self.ranks_.tolist()) != list(range(n)):
            raise ValueError(f"ranks_ must have each of the numbers 0 to {n - 1} once")
        cuts = self.likelihood_.cuts if isinstance(self.likelihood_, Ordinal) else np.empty(0)
        fits = {
            "bernoulli": n == 2 and m == 1 and self.posterior_.has_intercept,
            "ordinal": m == 1 and len(cuts) == n - 1 and not self.posterior_.has_intercept,
            "categorical": np.shape(self.contrasts_) == (n, m),
        }
        if not fits.get(self.family_, False):
            raise ValueError(f"the posterior is not that of {n} classes of the family {self.family_!r}")

    def fit(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        column_groups: Sequence[Any] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Columns of text are factors.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of k is the same as k copies of the row. For numbers of successes among trials, as in a binomial
            model, give each row twice, once for the successes and once for the failures, with the numbers as weights.
        column_groups : sequence of n_features labels, optional
            Columns that are the levels of one factor, as in `AdditiveRegressor`.
        """
        choice("family", self.family, ("auto", "bernoulli", "categorical", "ordinal"))
        self._check_options()
        self._reset()
        self._log_variances: dict[Any, float] = {}
        rows, codes, weight = self._training_rows(self._numbered(X, reset=True), y, sample_weight)
        rows = self._with_factors(column_groups, rows)
        every = np.ones(len(rows)) if weight is None else weight
        self.family_ = self._chosen_family()
        self.ranks_ = self._ranks()
        columns = self._columns(rows)

        noises: list[Any] = []

        def fit(terms: Sequence[Term]) -> None:
            noises.append(self._fit_terms(terms, columns, codes, every))

        def derivatives() -> tuple[Array, Array]:
            F = self.posterior_.mean_of(rows)
            return noises[-1].gradient(F), np.maximum(np.einsum("naa->na", noises[-1].curvature(F)), 0.0)

        self._fit_with_pairs(columns, fit, derivatives)
        return self

    def proba_interval(self, X: Any, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of the intervals of the class probabilities, each of shape (n_samples, n_classes)."""
        rows, tail = self._predict_rows(X), 0.5 + 0.5 * interval_level(level)
        mean, cov = self.posterior_.latent(rows)
        if self.family_ == "categorical":
            nodes = normal_points(mean.shape[1], log2=10)
            return softmax_interval([nodes], mean[None], _roots(cov)[None], self.contrasts_, level)
        std, z = np.sqrt(cov[:, 0, 0]), float(ndtri(tail))
        if self.family_ == "bernoulli":
            low, high = expit(mean[:, 0] - z * std), expit(mean[:, 0] + z * std)
            return np.column_stack([1 - high, low]), np.column_stack([1 - low, high])
        draws = self._ordered(mean[:, 0] + std * _EVEN[:, None])
        lower, upper = np.quantile(draws, [1 - tail, tail], axis=0)
        return lower, upper

    def decision_function(self, X: Any) -> Array:
        """The log odds of two classes, or the log probability of each of more."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.predict_proba(X))
        return logs if len(self.classes_) > 2 else logs[:, 1] - logs[:, 0]

    def _probabilities(self, rows: Any) -> Array:
        mean, cov = self.posterior_.latent(rows)
        if self.family_ == "bernoulli":
            return expected_sigmoid(mean[:, 0], cov[:, 0, 0])
        if self.family_ == "categorical":
            found = expected_softmax(normal_points(mean.shape[1], log2=9), mean, _roots(cov), self.contrasts_)
        else:
            found = self._ordered(mean[:, 0] + np.sqrt(cov[:, 0, 0]) * _EVEN[:, None]).mean(axis=0)
        return found / found.sum(axis=1, keepdims=True)

    def _ordered(self, f: Array) -> Array:
        """Probabilities of ordered classes, in the order of `classes_`."""
        found = self.likelihood_.probabilities(f.ravel()).reshape(*f.shape, -1)
        return found[..., self.ranks_]

    def _chosen_family(self) -> str:
        n = len(self.classes_)
        if self.family == "bernoulli" and n > 2:
            raise ValueError(f'family="bernoulli" needs two classes, and there are {n}')
        if self.family == "auto":
            return "bernoulli" if n == 2 else "categorical" if self.order is None else "ordinal"
        return self.family if n > 2 or self.family == "ordinal" else "bernoulli"

    def _ranks(self) -> NDArray[np.intp]:
        """The rank of each class."""
        if self.family_ != "ordinal" or self.order is None:
            return np.arange(len(self.classes_))
        order = check_labels(np.asarray(self.order)).tolist()
        missing = [label for label in self.classes_.tolist() if label not in order]
        if missing or len(set(order)) < len(order):
            raise ValueError(f"order must name every class once; the classes are {self.classes_.tolist()}")
        present = [label for label in order if label in self.classes_.tolist()]
        return np.array([present.index(label) for label in self.classes_.tolist()], dtype=np.intp)

    def _noise_at(self, codes: NDArray[np.intp], weight: Array) -> tuple[Any, Array]:
        """The likelihood for given parameters, and where these start."""
        n = len(self.classes_)
        self.contrasts_ = None
        if self.family_ == "categorical":
            # An orthonormal basis of the differences between classes.
            self.contrasts_ = np.linalg.qr(np.eye(n) - 1.0 / n)[0][:, : n - 1]
            classes = families.SoftmaxNoise(codes, weight, self.contrasts_)
            return (lambda logs: classes), np.empty(0)
        likelihood: Likelihood = Bernoulli("logit")
        target, logs = np.where(codes == 1, 1.0, -1.0), np.empty(0)
        if self.family_ == "ordinal":
            begin = families.ordinal_starting_point(self.ranks_[codes], weight, n)
            likelihood, target, logs = begin.likelihood, self.ranks_[codes].astype(np.float64), begin.logs
        return (lambda logs: families.RowNoise(likelihood.with_logs(logs), target, weight)), logs

    def _fit_terms(
        self, terms: Sequence[Term], columns: TrainingColumns, codes: NDArray[np.intp], weight: Array
    ) -> Any:
        """Fit the terms; returns the likelihood of the rows."""
        intercept, average = self.family_ != "ordinal", self.hyperparameters == "integrate"
        blocks = self._blocks(terms, columns)
        Z, center = centered_basis(blocks, columns.rows, weight, intercept=intercept, center_levels=bool(self.reml))
        squares = np.average(Z**2, axis=0, weights=weight)
        layout = basis_layout(blocks, [block.width for block in blocks], squares, intercept=intercept)
        noise_at, start = self._noise_at(codes, weight)
        evidence = LaplaceEvidence(
            Z, np.zeros(len(Z)), layout, noise_at, start, prior=average, maximize_flat=not self.reml
        )
        learned = evidence.learn(self._starts(terms, blocks), average=average)
        noise = noise_at(learned.parameters)
        self.likelihood_ = noise.likelihood if self.family_ == "ordinal" else None
        posterior = AdditivePosterior(blocks, center, learned.mean, learned.covariance, intercept, math.inf)
        inner = Layout(layout.block[int(intercept) :], layout.scale)
        basis = Z[:, int(intercept) :]
        self._keep(
            terms, monotone(posterior, terms), learned.for_columns(int(intercept)), inner,
            (basis * weight[:, None]).T @ basis,
        )  # fmt: skip
        self.evidence_method_ = "laplace"
        self.evidence_base_ = self._base("")
        return noise

    @property
    def cuts_(self) -> Array:
        """The cut points of ordered classes."""
        if not isinstance(self.likelihood_, Ordinal):
            raise AttributeError("only ordered classes have cuts")
        posterior = self.posterior_
        return self.likelihood_.cuts + float((posterior.mean * posterior.center)[posterior.is_absent_at_zero()].sum())

    def _direction(self, label: Any) -> Array:
        if self.family_ != "categorical":
            return np.ones(1)
        known = self.classes_.tolist()
        if label not in known:
            raise ValueError(f"with more than two classes, label must be one of {known}; got {label!r}")
        return np.asarray(self.contrasts_[known.index(label)])

    def _unit(self, label: Any) -> str:
        if self.family_ == "ordinal":
            return "log odds of a higher class"
        return f"log odds of {self.classes_[1] if label is None else label}"

    def _response(self) -> Callable[[Array], Array] | None:
        level = float(self.posterior_.mean[0])
        return (lambda f: expit(level + f)) if self.family_ == "bernoulli" else None

    def _outputs(self) -> Sequence[Any]:
        return list(self.classes_.tolist()) if self.family_ == "categorical" else (None,)

    def _noise_rows(self) -> list[tuple[str, float]]:
        if self.family_ != "ordinal":
            return []
        labels = self.classes_[np.argsort(self.ranks_)].tolist()
        return [(f"cut {a}|{b}", float(c)) for a, b, c in zip(labels, labels[1:], self.cuts_, strict=False)]

    def _words(self) -> str:
        return f"Additive classification ({families.WORDS[self.family_]})"


def _roots(cov: Array) -> Array:
    """Roots of the covariances of the latent values."""
    values, axes = np.linalg.eigh(cov)
    return axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
