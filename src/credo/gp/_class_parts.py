"""Fitting a classifier to a table in parts: hyperparameters from a sample of the rows, variational sites from all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.estimator import ConvergenceWarning, named
from credo.core.inference import NOT_CONVERGED, FeatureWeights, InducingFeatures, SiteSums, natural_ascent
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.notices import warn
from credo.core.parts import Chunk, Labels, Parts, survey_labels
from credo.gp._class_predictors import SumsPredictor
from credo.gp._classifier_core import ClassifierCore
from credo.gp._row_sums import features_of, independent_points
from credo.likelihoods import Bernoulli

Array = NDArray[np.float64]

# The bound is at its maximum when a pass over the rows gains less than this many nats.
_GAIN = 1e-6


class ClassifierInParts(ClassifierCore):
    """A classifier that can be fitted to a table in parts, of which its predictor then has sums."""

    @property
    def _accepts_parts(self) -> bool:  # type: ignore[override]
        return not any(self._refused_in_parts().values())

    def _fit_parts(self, parts: Parts, column_groups: Sequence[str] | Sequence[int] | None) -> None:
        """Fit to a sample of the rows, then condition the process on all of them, in several passes."""
        found, labels = survey_labels(self, parts, self.class_weight)
        rows = found.sample.rows if found.names is None else named(found.sample.rows, found.names)
        if found.is_complete:
            y, weight = found.sample.extra
            self._fit_rows(rows, y, weight, column_groups)
            return
        self._check_in_parts(found.n_rows)
        self._rows_in_parts = found.n_rows
        rows, codes, weight = labels.read_sample(found.sample)
        absent = np.setdiff1d(np.arange(len(labels.classes)), codes)
        if len(absent):
            raise ValueError(
                f"class {labels.classes[absent[0]].item()!r} is so rare that a random sample of {len(codes):,} rows "
                "has none of it: fit to rows in memory, with all rows of rare classes, or leave it out"
            )
        self._keep_groups(column_groups)
        self._fit_coded(rows, codes, weight)
        share = float(labels.totals.sum() / weight.sum())
        models = [(self, 1)] if self.members_ is None else [(member, k) for k, member in enumerate(self.members_)]
        for model, positive in models:
            model._condition_on(parts, labels, positive, share)
        if self.members_ is not None:
            self._join_results(self.members_)

    def _condition_on(self, parts: Parts, labels: Labels, positive: int, share: float) -> None:
        """The posterior given all rows, one class against the others; the sample has 1/share of their weight."""
        assert self.inducing_points_ is not None
        self.inducing_points_ = independent_points(self.kernel_, self.inducing_points_)
        features = features_of(self.kernel_, self.inducing_points_)
        near = _near(features, self.predictor_, share)
        bounds: list[float] = []
        at = partial(_evaluated, features, parts, labels, positive, Bernoulli(self.link), bounds)
        end, n_steps, converged = natural_ascent(at, near.natural, tolerance=_GAIN)
        sums = SiteSums.of_natural(end.z, features.size)
        self.predictor_ = SumsPredictor(self.kernel_, self.inducing_points_, sums.gram, sums.cross, self.link)
        self.log_evidence_, self.evidence_method_ = end.bound, "elbo"
        message = (
            f"{self.result_.message}; hyperparameters from a random sample of {len(self.codes_):,} rows, the posterior "
            f"from all, by variational inference in {len(bounds)} passes"
        )
        if not converged:
            message = f"{message}; {NOT_CONVERGED.format(n_steps)}"
            warn(message, ConvergenceWarning, stacklevel=5)
        self.result_ = replace(self.result_, converged=self.result_.converged and converged, message=message)
        self._held_objective = None

    def _check_in_parts(self, n_rows: int) -> None:
        """Raise an error where the arguments need more of the rows than sums."""
        for what, is_refused in self._refused_in_parts().items():
            if is_refused:
                raise ValueError(
                    f"{what} needs all rows in memory, and the table comes in parts with {n_rows:,} rows: use "
                    'method="inducing", or fit to a sample of the rows'
                )

    def _refused_in_parts(self) -> dict[str, bool]:
        return {
            f'method="{self.method}"': self.method not in ("auto", "inducing"),
            'inference="mcmc"': self.inference == "mcmc",
            'multiclass="softmax"': self.multiclass == "softmax",
        }

    def _has_sums(self) -> bool:
        return isinstance(getattr(self, "predictor_", None), SumsPredictor)


@dataclass(frozen=True)
class _Pass:
    """One pass over all rows: the bound for natural parameters z of q(v), and the sums of the sites it leads to."""

    bound: float
    z: Array
    target: Array


def _evaluated(
    features: InducingFeatures,
    parts: Parts,
    labels: Labels,
    positive: int,
    likelihood: Bernoulli,
    bounds: list[float],
    z: Array,
) -> _Pass | None:
    """The pass for z, whose bound is added to those of earlier ones; None where z belong to no distribution."""
    try:
        weights = FeatureWeights.of(features, SiteSums.of_natural(z, features.size))
    except NotPositiveDefiniteError:
        return None
    sums: SiteSums = parts.map_reduce(partial(_summed, weights, labels, positive, likelihood), SiteSums.merge)
    bounds.append(sums.bound - weights.divergence)
    return _Pass(bounds[-1], z, sums.natural)


def _summed(weights: FeatureWeights, labels: Labels, positive: int, likelihood: Bernoulli, chunk: Chunk) -> SiteSums:
    rows, codes, weight = labels.read(chunk)
    size = len(weights.mean)
    if not len(codes):
        return SiteSums(np.zeros((size, size)), np.zeros(size))
    return weights.sums(rows, np.where(codes == positive, 1.0, -1.0), weight, likelihood)


def _near(features: InducingFeatures, sample: Any, share: float) -> SiteSums:
    """The sums of the sites of the sample, as if all rows were like it."""
    gram, cross = np.zeros((features.size, features.size)), np.zeros(features.size)
    for part, psi in features.chunks(sample.X):
        rest = features.kernel.diagonal(sample.X[part]) - np.einsum("ij,ij->i", psi, psi)
        growth = 1.0 + sample.precision[part] * np.maximum(rest, 0.0)
        gram += psi.T @ ((sample.precision[part] / growth)[:, None] * psi)
        cross += psi.T @ (sample.location[part] / growth)
    return SiteSums(share * np.tril(gram), share * cross)
