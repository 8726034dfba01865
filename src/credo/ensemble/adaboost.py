"""AdaBoost with any weighted classifier; for stumps, all rounds run in compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from credo.core.deadlines import check
from credo.core.estimator import (
    Classifier,
    FitWarning,
    Result,
    choice,
    encode_labels,
    interval_level,
    is_predictor,
    positive_integer,
)
from credo.core.fields import Axes, Indices, Inner, Where
from credo.core.folds import divided_rows, even_folds
from credo.core.frames import Table
from credo.core.linalg import parallel_map
from credo.core.notices import warn
from credo.core.seeds import generator, reseeded
from credo.ensemble._base import fit_arguments
from credo.ensemble.calibration import ScoreScaling
from credo.trees import DecisionStump, Stumps
from credo.trees.stump import SortedColumns, boosted_stumps, chance

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def _predict(learners: list[Any]) -> bool:
    return all(map(is_predictor, learners))


@dataclass(frozen=True)
class Boosted:
    """Learners and the weights of their votes: `stumps` in arrays, or other learners in a list.

    `stopped` says why boosting ended: "rounds" (all were run), "perfect" (a learner made no mistake) or "chance".
    """

    classes: Annotated[NDArray[Any], Axes("C")]
    alpha: Annotated[Array, Axes("m")]
    stumps: Annotated[Stumps | None, Inner(m="m")]
    learners: Annotated[list[Any], Where(_predict, "estimators that predict")]
    stopped: Literal["rounds", "perfect", "chance"]

    def _sizes(self) -> dict[str, int]:
        return {"m": len(self)}

    @property
    def columns(self) -> Index:
        """The columns that stumps split."""
        return np.empty(0, dtype=np.intp) if self.stumps is None else self.stumps.feature

    @property
    def labels(self) -> Index:
        """The places of the classes that stumps vote for."""
        return np.empty(0, dtype=np.intp) if self.stumps is None else self.stumps.label

    def __len__(self) -> int:
        return len(self.learners) if self.stumps is None else len(self.stumps)

    @property
    def total(self) -> float:
        """Σ α."""
        return float(self.alpha.sum())

    def first(self, n: int) -> Boosted:
        """The first n learners."""
        return self._part(0, n)

    def last(self) -> Boosted:
        """The last learner alone."""
        return self._part(len(self) - 1, len(self))

    def _part(self, start: int, stop: int) -> Boosted:
        stumps = None if self.stumps is None else self.stumps.part(start, stop)
        return replace(self, alpha=self.alpha[start:stop], stumps=stumps, learners=self.learners[start:stop])

    def votes(self, rows: Array, n_classes: int) -> Array:
        """F_k = Σ α_m 1[G_m(x) = k], shape (n_samples, n_classes)."""
        if self.stumps is not None:
            return self.stumps.votes(rows, self.alpha, n_classes)
        F = np.zeros((len(rows), n_classes))
        for m in range(len(self)):
            self._add(F, m, rows)
        return F

    def staged_votes(self, rows: Array, n_classes: int) -> Iterator[Array]:
        """F after each round."""
        F = np.zeros((len(rows), n_classes))
        for m in range(len(self)):
            if self.stumps is not None:
                F += self.stumps.part(m, m + 1).votes(rows, self.alpha[m : m + 1], n_classes)
            else:
                self._add(F, m, rows)
            yield F.copy()

    def _add(self, F: Array, m: int, rows: Array) -> None:
        said = np.asarray(self.learners[m].predict(rows))
        codes = np.minimum(np.searchsorted(self.classes, said), len(self.classes) - 1)
        if not np.array_equal(self.classes[codes], said):
            raise ValueError(f"learner {m} predicts labels that are none of the classes")
        F[np.arange(len(F)), codes] += self.alpha[m]

    def importances(self, n_features: int) -> Array:
        """The share of each column in the weights of the votes; stumps that don't split have none."""
        if self.stumps is None or not self.total:
            return np.zeros(n_features)
        splits = self.stumps.label[:, 0] != self.stumps.label[:, 1]
        share = np.bincount(self.stumps.feature, self.alpha * splits, minlength=n_features).astype(np.float64)
        return share / share.sum() if share.sum() > 0 else share


def boost(
    learner: Any,
    rows: Array,
    codes: Index,
    weight: Array,
    classes: NDArray[Any],
    *,
    n_rounds: int,
    keep: bool,
    random_state: Any = None,
) -> tuple[Boosted, Array, Array]:
    """Run the rounds: the learners, their weighted errors, and the row weights with which each round starts."""
    n_classes = len(classes)
    share = weight / weight.sum()
    stumps: Stumps | None = None
    learners: list[Any] = []
    if type(learner) is DecisionStump and learner.class_weight is None:
        stumps, errors, kept = boosted_stumps(
            SortedColumns.of(rows), codes, share, n_classes, criterion=learner.criterion, n_rounds=n_rounds, keep=keep
        )
    else:
        learners, errors, kept = _boosted_learners(
            learner, rows, codes, share, classes, n_rounds, keep, float(weight.sum()), random_state
        )
    found = Boosted(classes, _alphas(errors, n_classes), stumps, learners, "rounds")
    if errors[-1] <= 0.0:
        # A vote of infinite weight outweighs all others.
        return replace(found, stopped="perfect").last(), errors, kept
    if errors[-1] >= chance(n_classes):
        n = max(1, len(errors) - 1)
        return replace(found, stopped="chance").first(n), errors[:n], kept[:n]
    return found, errors, kept


def _alphas(errors: Array, n_classes: int) -> Array:
    """α = ln((1 − ε)/ε) + ln(K − 1); 1 for a learner without error, and 0 for one no better than chance."""
    inside = np.clip(errors, 1e-300, 1.0 - 1e-16)
    alpha = np.log1p(-inside) - np.log(inside) + np.log(n_classes - 1.0)
    return np.where(errors <= 0.0, 1.0, np.where(errors >= chance(n_classes), 0.0, alpha))


def _boosted_learners(
    learner: Any, rows: Array, codes: Index, share: Array, classes: NDArray[Any], n_rounds: int, keep: bool,
    total: float, random_state: Any,
) -> tuple[list[Any], Array, Array]:  # fmt: skip
    """One fit a round, with weights that sum to the number of observations."""
    labels, n_classes = classes[codes], len(classes)
    rng = generator(random_state)
    learners: list[Any] = []
    errors, kept = [], []
    for _ in range(n_rounds):
        check()
        kept += [share.copy()] if keep else []
        model = reseeded(clone(learner), rng)
        used = share > 0
        model.fit(rows[used], labels[used], **fit_arguments(model, share[used] * total))
        wrong = np.asarray(model.predict(rows)) != labels
        learners.append(model)
        errors.append(float(share[wrong].sum()))
        if errors[-1] <= 0.0 or errors[-1] >= chance(n_classes):
            break
        share = np.where(wrong, share * ((1.0 - errors[-1]) / errors[-1] * (n_classes - 1.0)), share)
        share = share / share.sum()
    return learners, np.array(errors), np.array(kept).reshape(len(kept), len(rows))


# Training rows, and held-out rows whose votes are wanted; None wants the weights of the rounds.
_Part = tuple[Any, Array]
_Job = tuple[_Part, _Part | None]

# Up to this many distinct rows, calibration uses five folds; with more, one quarter is held out once.
_MAX_FOLDED_ROWS, _N_FOLDS, _N_PARTS = 4000, 5, 4
# Larger data are subsampled for calibration, with a fixed seed.
_MAX_CALIBRATION_ROWS = 60_000


class AdaBoostClassifier(Classifier):
    """AdaBoost: each learner is fitted with more weight on the rows that the ones before it got wrong.

        α_m = ln((1 − ε_m)/ε_m) + ln(K − 1),    wᵢ ← wᵢ exp(α_m 1[row i is wrong]),    F_k(x) = Σ α_m 1[G_m(x) = k]

    ε_m is the weighted error of the learner G_m. This is Freund & Schapire's (1997) AdaBoost.M1 for two classes, and
    SAMME (Zhu, Zou, Rosset & Hastie 2009) for more. It ends early at a learner without error, which then decides alone,
    and at one that is no better than chance, which isn't used.

    AdaBoost's own probabilities, softmax(F), are overconfident, increasingly so with more rounds. By default they are
    calibrated: p = softmax(a F + b), where a and b maximize the likelihood of held-out rows (Platt 2000): five
    folds, or one quarter of the rows if more than 4000 are distinct.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier whose `fit` takes `sample_weight`, or a pipeline whose last step does. By default
        `DecisionStump()`, for which all rounds run in compiled code on columns that are sorted once.
    n_rounds : int, default 100
        Maximum number of rounds.
    calibrate : bool, default True
    early_stopping : bool, default False
        Hold out some rows, and keep the number of rounds with the smallest calibrated log loss on them.
    validation_fraction : float, default 0.2
        The share of rows that early stopping holds out, rounded to 1/2, 1/3, 1/4 and so on.
    keep_weights : bool, default False
        Keep the weights of the rows in every round, n_rounds × n_samples numbers, in `weights_`.
    class_weight : mapping from label to factor, or "balanced", optional
    random_state : int, Generator, RandomState or None, default None
        For learners that have one.

    Attributes
    ----------
    boosted_ : Boosted
        The learners and the weights α of their votes.
    errors_ : ε of each round
    calibration_ : ScoreScaling
        a and b of the probabilities.
    log_losses_ : held-out log loss after each of the rounds `stages_` (with early stopping)
    weights_ : weights of the rows with which each round starts, summing to one (with `keep_weights`)
    feature_importances_ : the share of each column in the weights of the votes (of stumps)
    result_ : how boosting ended

    Examples
    --------
    >>> import numpy as np
    >>> from credo.ensemble import AdaBoostClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = AdaBoostClassifier(n_rounds=60, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]])
    array([False,  True])
    """

    boosted_: Annotated[Boosted, Inner(C="c"), Indices("d", "columns"), Indices("c", "labels")]
    errors_: NDArray[np.float64]
    calibration_: Annotated[ScoreScaling, Inner(k="c")]
    log_losses_: NDArray[np.float64]
    stages_: NDArray[np.intp]
    weights_: NDArray[np.float64]
    feature_importances_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_rounds: int = 100,
        calibrate: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        keep_weights: bool = False,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.calibrate = calibrate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.keep_weights = keep_weights
        self.class_weight = class_weight
        self.random_state = random_state

    @property
    def _accepts_nan(self) -> bool:  # type: ignore[override]
        return self.estimator is not None and bool(get_tags(self.estimator).input_tags.allow_nan)

    def _check_state(self) -> None:
        if not np.array_equal(self.boosted_.classes, self.classes_):
            raise ValueError("boosted_ has other classes")

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table; a weight of k is equivalent to k copies of the row."""
        self._reset()
        learner = self._checked_learner()
        rows, codes, weight = self._training_rows(X, y, sample_weight, class_weight=self.class_weight)
        weight = np.ones(len(rows)) if weight is None else weight
        folds = self._folds(rows, codes, weight)

        def job(fold: _Job) -> tuple[Boosted, Array, Array]:
            (used, share), held = fold
            keep = held is None and self.keep_weights
            found, errors, kept = boost(
                learner, rows[used], codes[used], share, self.classes_, n_rounds=self.n_rounds, keep=keep,
                random_state=self.random_state,
            )  # fmt: skip
            return found, errors, kept if held is None else found.votes(rows[held[0]], len(self.classes_))

        if self.early_stopping:
            if not folds:
                raise ValueError(
                    "early_stopping holds out some of the distinct rows, and the others must have two classes; "
                    f"there are too few rows for that: use more than {len(rows)}, or early_stopping=False"
                )
            used, (held, share) = folds[0]
            self.boosted_, self.errors_, kept = job((used, None))
            self._stop_early(rows[held], codes[held], share)
        else:
            every = (slice(None), weight)
            (self.boosted_, self.errors_, kept), *found = parallel_map(job, [(every, None), *folds])
            self.calibration_ = ScoreScaling.identity(len(self.classes_))
            if found:
                F = np.concatenate([votes for *_, votes in found])
                at, share = (np.concatenate(parts) for parts in zip(*(held for _, held in folds), strict=True))
                self.calibration_ = ScoreScaling.fitted(F, codes[at], share)
        if self.keep_weights:
            self.weights_ = kept[: len(self.errors_)]
        if self.boosted_.stumps is not None:
            self.feature_importances_ = self.boosted_.importances(self.n_features_in_)
        self._report()
        return self

    def votes(self, X: ArrayLike) -> Array:
        """F, the weight of the votes for each class: shape (n_samples, n_classes)."""
        return self.boosted_.votes(self._predict_rows(X), len(self.classes_))

    def decision_function(self, X: ArrayLike) -> Array:
        """a F + b: for two classes that of the second against the first, (n_samples,); otherwise of each class."""
        scores = self.calibration_.scaled(self.votes(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def margins(self, X: ArrayLike, y: ArrayLike) -> Array:
        """The share of the votes for the label minus the largest share for another class: from −1 to 1."""
        F = self.votes(X)
        codes = encode_labels(y, self.classes_)
        own = F[np.arange(len(codes)), codes]
        F[np.arange(len(codes)), codes] = -np.inf
        return (own - F.max(axis=1)) / (self.boosted_.total or 1.0)

    def exponential_loss(self, X: ArrayLike, y: ArrayLike) -> float:
        """The mean of exp(−½(F_y − F_other)), which AdaBoost decreases in each round; for K classes SAMME's loss.

        It is exp(Σ α_m (1[wrong] − (K − 1)/K)), which for two classes is the same.
        """
        F = self.votes(X)
        own = F[np.arange(len(F)), encode_labels(y, self.classes_)]
        return float(np.mean(np.exp(np.minimum(self.boosted_.total / len(self.classes_) - own, 700.0))))

    def staged_votes(self, X: ArrayLike) -> Iterator[Array]:
        """`votes` after each round."""
        return self.boosted_.staged_votes(self._predict_rows(X), len(self.classes_))

    def staged_predict_proba(self, X: ArrayLike) -> Iterator[Array]:
        """Probabilities after each round, calibrated like the last, with the bias in proportion to Σ α."""
        shares = np.cumsum(self.boosted_.alpha) / (self.boosted_.total or 1.0)
        for share, F in zip(shares, self.staged_votes(X), strict=True):
            yield softmax(self.calibration_.scaled(F, float(share)), axis=1)

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Labels after each round."""
        for table in self.staged_predict_proba(X):
            yield self.classes_[table.argmax(axis=1)]

    def staged_score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Iterator[float]:
        """Accuracy after each round."""
        truth = np.asarray(y)
        weight = None if sample_weight is None else self._weights(sample_weight, truth[:, None])
        for found in self.staged_predict(X):
            yield float(np.average(found == truth, weights=weight))

    def summary(self, *, level: float = 0.95) -> Table:
        """Rounds, errors, calibration and, for stumps, importances of the columns; without intervals."""
        check_is_fitted(self)
        lines: list[tuple[str, Any]] = [
            ("rounds", len(self.boosted_)),
            ("error of the first learner", float(self.errors_[0])),
            ("error of the last learner (weighted)", float(self.errors_[-1])),
            ("sum of the weights of the votes", self.boosted_.total),
            ("slope of the calibration", self.calibration_.slope),
            *((f"bias of {label}", float(b)) for label, b in zip(self.classes_, self.calibration_.bias, strict=True)),
        ]
        if self.boosted_.stumps is not None:
            shares = zip(self._feature_names(), self.feature_importances_, strict=True)
            lines += [(f"importance of {name}", float(share)) for name, share in shares]
        return Table.of_estimates("AdaBoost", lines, notes=(self.result_.message,))

    _title = "AdaBoost: a weighted vote of simple classifiers"
    _equation = "class with the largest Σ αₘ [hₘ(x) = class]"

    def _probabilities(self, rows: Array) -> Array:
        return softmax(self.calibration_.scaled(self.boosted_.votes(rows, len(self.classes_))), axis=1)

    def _checked_learner(self) -> Any:
        positive_integer("n_rounds", self.n_rounds)
        for name in ("calibrate", "early_stopping", "keep_weights"):
            choice(name, getattr(self, name), (True, False))
        interval_level(self.validation_fraction, "validation_fraction")
        learner = DecisionStump() if self.estimator is None else clone(self.estimator)
        if not is_classifier(learner):
            raise ValueError(f"estimator must be a classifier; got {self.estimator!r}")
        return learner

    def _folds(self, rows: Array, codes: Index, weight: Array) -> list[tuple[_Part, _Part]]:
        """Training and held-out rows for calibration or early stopping, with their weights.

        Copies of a row are on the same side, unless their inputs occur with several classes (see `divided_rows`).
        """
        if not (self.calibrate or self.early_stopping):
            return []
        place = np.arange(len(rows))
        if len(rows) > _MAX_CALIBRATION_ROWS and not self.early_stopping:
            place = np.sort(np.random.default_rng(0).permutation(len(rows))[:_MAX_CALIBRATION_ROWS])
        n_parts, n_folds = max(2, round(1.0 / self.validation_fraction)), 1
        found, share, key = divided_rows(
            rows[place], codes[place], weight[place], n_parts if self.early_stopping else _N_FOLDS
        )
        if not self.early_stopping:
            n_parts, n_folds = (min(_N_FOLDS, len(found)),) * 2 if len(found) <= _MAX_FOLDED_ROWS else (_N_PARTS, 1)
        place = place[found]
        fold = even_folds(codes[place], n_parts, key=key)
        order = np.argsort(place, kind="stable")
        pairs = [(order[fold[order] != k], order[fold[order] == k]) for k in range(n_folds)]
        pairs = [(used, held) for used, held in pairs if len(used) and len(held) and np.ptp(codes[place[used]]) > 0]
        return [((place[used], share[used]), (place[held], share[held])) for used, held in pairs]

    def _stop_early(self, rows: Array, codes: Index, weight: Array) -> None:
        """Keep the number of rounds with the smallest held-out log loss, each with its own best calibration."""
        n_rounds = len(self.boosted_)
        # At most 200 evaluations on the held-out rows.
        step = max(1, -(-n_rounds // 200))
        losses, found, stages = [], [], []
        for m, F in enumerate(self.boosted_.staged_votes(rows, len(self.classes_)), start=1):
            if m % step and m < n_rounds:
                continue
            found.append(ScoreScaling.fitted(F, codes, weight))
            losses.append(found[-1].log_loss(F, codes, weight))
            stages.append(m)
        self.log_losses_, self.stages_ = np.array(losses), np.array(stages)
        best = int(np.argmin(self.log_losses_))
        self.boosted_, self.errors_ = self.boosted_.first(stages[best]), self.errors_[: stages[best]]
        self.calibration_ = found[best] if self.calibrate else ScoreScaling.identity(len(self.classes_))

    def _report(self) -> None:
        n_rounds, stopped = len(self.boosted_), self.boosted_.stopped
        if stopped == "chance" and not self.boosted_.total:
            message = (
                f"the first learner is no better than chance (error {self.errors_[0]:.3g}), so every class is equally "
                "probable: use a stronger estimator, or check whether the columns are related to y"
            )
            self.result_ = Result(False, n_rounds, message)
            warn(message, FitWarning, stacklevel=3)
            return
        message = {
            "rounds": f"all {n_rounds} rounds",
            "perfect": "ended at a learner without error on the training rows, which decides alone",
            "chance": f"ended after {n_rounds} rounds, because the next learner was no better than chance",
        }[stopped]
        if self.early_stopping:
            message = f"{n_rounds} rounds have the smallest held-out log loss"
        self.result_ = Result(True, n_rounds, message)
