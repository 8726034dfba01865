"""Trees, and models made of many: bagging, AdaBoost, mixtures of experts, and the average of polynomials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.pipeline import Pipeline

from credo.app.lab.playground._bases import Design
from credo.app.lab.playground._controls import Control, choice, log_slider, slider, toggle
from credo.app.lab.playground._equations import number, total
from credo.app.lab.playground._linear import NOISE, PRIOR
from credo.app.lab.playground._model import Bars, Evidence, Model, bic_evidence
from credo.app.lab.playground._problem import Array, rounded
from credo.app.lab.playground._source import prediction, shift, source
from credo.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    ModelAverage,
)
from credo.features import Polynomial
from credo.linear import BayesianLinearRegression, LinearRegression, LogisticRegression
from credo.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

# Few restarts and iterations of EM, so that an answer is quick.
_EM: dict[str, Any] = {"n_restarts": 1, "max_iter": 100, "tol": 1e-4}
_MAX_BARS = 40
_LEAF = "Minimum number of points in a leaf."
_WAYS = (("evidence", "Evidence (one degree is right)"), ("stacking", "Stacking (combine them)"))
_MEMBER = "Bagging helps members that vary strongly between samples."
_TREE, _STUMP = ("tree", "Tree"), ("stump", "Stump")


def _depth(default: int, **more: Any) -> Control:
    return slider("depth", "Depth", 1, 12, default, step=1, help="Maximum number of splits above a leaf.", **more)


class Tree(Model):
    """The tab of trees."""

    id, name, least = "tree", "Tree", 2
    shows: ClassVar = {"regression": ("band", "learn"), "classification": ("bars", "learn")}
    declared = (
        _depth(4),
        *(
            slider("leaf", "Points in a leaf", 1, 30, few, step=1, tasks=(task,), help=_LEAF)
            for task, few in (("regression", 3), ("classification", 1))
        ),
        log_slider(
            "pruning", "Pruning", 1e-4, 1, 1e-3, learnable=True, help="A split must explain at least this share."
        ),
    )
    no_evidence = "A tree chooses its splits greedily, not by a prior, so it has no evidence."
    learned_note = "The pruning has the highest held-out log score."

    def make(self) -> Any:
        kind = DecisionTreeRegressor if self.problem.task == "regression" else DecisionTreeClassifier
        return kind(
            max_depth=int(self.settings["depth"]),
            min_leaf=self.settings["leaf"],
            pruning="held-out" if self.learning else self.settings["pruning"],
            random_state=0,
        )

    def learned(self) -> dict[str, Any]:
        return {"pruning": float(self.estimator.pruning_)}

    def equation(self) -> str:
        leaves = f'{np.count_nonzero(self.estimator.tree_.is_leaf)}" leaves"'
        if self.problem.task == "regression":
            rule = '"splits minimize" ∑ "(y − mean of the part)²"'
            return f'f(x) = "shrunken mean of y in the leaf of x"\n{rule}\n{leaves}'
        rule = '"splits minimize the Gini impurity; n counts the points in the leaf"'
        return f"P(class = k) = (n_k + a π_k)/(n + a)\n{rule}\n{leaves}"

    def bars(self) -> Bars | None:
        if self.problem.task == "regression":
            return None
        return "Importance", ["x₁", "x₂"], self.estimator.feature_importances_


class Bagging(Model):
    """The tab of bagging; the functions of the members are the draws."""

    id, name, least = "bagging", "Bagging", 3
    shows: ClassVar = {"regression": ("band", "draws"), "classification": ()}
    declared = (
        *(
            choice("member", "Member", members, tasks=(task,), help=_MEMBER)
            for task, members in (
                ("regression", (_TREE, ("line", "Straight line"))),
                ("classification", (_TREE, _STUMP, ("line", "Logistic regression"))),
            )
        ),
        slider("members", "Number of members", 1, 50, 12, step=1, help="Bootstrap samples."),
        _depth(6, when={"member": ["tree"]}),
    )
    no_evidence = "An average over bootstrap samples has no prior, so it has no evidence."

    def make(self) -> Any:
        tree: dict[str, Any] = {"max_depth": int(self.settings["depth"]), "pruning": 0.0}
        if self.problem.task == "regression":
            kind, members = BaggingRegressor, {"tree": DecisionTreeRegressor(**tree), "line": LinearRegression()}
        else:
            kind, members = BaggingClassifier, {
                "tree": DecisionTreeClassifier(**tree), "stump": DecisionStump(), "line": LogisticRegression(0.01),
            }  # fmt: skip
        count, member = int(self.settings["members"]), members[self.settings["member"]]
        return kind(member, n_estimators=count, calibrate=None, random_state=0)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        return None if prior else np.stack([member.predict(grid) for member in self.estimator.estimators_[:n]])

    def equation(self) -> str:
        mean = f"f(x) = 1/{number(self.settings['members'], 4)} ∑ f_m(x)"
        return f'{mean}\n"each member is fitted to a bootstrap sample of the points"'


class AdaBoost(Model):
    """The tab of AdaBoost after some rounds; the weights are those of the points in the last of them."""

    id, name, least = "adaboost", "AdaBoost", 2
    shows: ClassVar = {"classification": ("weights", "rounds", "bars")}
    declared = (
        slider("round", "Round", 1, 100, 10, step=1, help="The learners so far; the dots show the weights."),
        choice("learner", "Learner", (_STUMP, ("tree", "Tree of depth 2")), help="One learner per round."),
        toggle("calibrate", "Calibrated probabilities", False, help="AdaBoost's own are too close to 0 and 1."),
    )
    no_evidence = "AdaBoost minimizes an exponential loss and has no prior, so it has no evidence."

    def make(self) -> Any:
        learner = None if self.settings["learner"] == "stump" else DecisionTreeClassifier(max_depth=2, pruning=0.0)
        rounds, calibrate = int(self.settings["round"]), self.settings["calibrate"]
        return AdaBoostClassifier(learner, n_rounds=rounds, calibrate=calibrate, keep_weights=True, random_state=0)

    def weights(self) -> Array:
        last = self.estimator.weights_[-1]
        return last * len(last)

    def cut(self) -> tuple[int, float] | None:
        if self.settings["learner"] != "stump":
            return None
        stumps = self.estimator.boosted_.stumps
        return (int(stumps.feature[-1]), float(stumps.threshold[-1])) if len(stumps.feature) else None

    def equation(self) -> str:
        errors, alphas = self.estimator.errors_, self.estimator.boosted_.alpha
        votes = f'F_k(x) = ∑ α_m" over the learners that say k, m = 1…"{len(errors)}'
        error = f'"error of the last learner "ε = {number(float(errors[-1]))}'
        if 0 < errors[-1] < 1 and len(alphas):
            error += f", α = ln((1 − ε)/ε) = {number(float(alphas[-1]))}"
        return f"{votes}\n{error}"

    def bars(self) -> Bars | None:
        errors = self.estimator.errors_[-_MAX_BARS:]
        first = len(self.estimator.errors_) - len(errors) + 1
        return "Weighted error of each round", [str(first + i) for i in range(len(errors))], errors


class Experts(Model):
    """The tab of mixtures of experts: lines, or logistic curves."""

    id, name, least = "experts", "Mixture of experts", 4
    shows: ClassVar = {
        "regression": ("band", "evidence", "learn", "bars"),
        "classification": ("evidence", "learn", "bars"),
    }
    declared = (
        slider("experts", "Number of experts", 1, 6, 2, step=1, learnable=True, help="Lines, or logistic curves."),
        log_slider("gate_precision", "Precision of the gate", 1e-4, 10, 0.01, help="Larger makes the gate smoother."),
    )
    learned_note = "The number of experts has the smallest BIC."

    def make(self) -> Any:
        kind = MixtureOfExpertsRegressor if self.problem.task == "regression" else MixtureOfExpertsClassifier
        return kind(
            "bic" if self.learning else int(self.settings["experts"]),
            gate_precision=self.settings["gate_precision"],
            max_experts=5,
            random_state=0,
            **_EM,
        )

    def learned(self) -> dict[str, Any]:
        return {"experts": float(self.estimator.n_experts_)}

    def evidence(self) -> Evidence:
        return bic_evidence(self.estimator)

    def equation(self) -> str:
        lines = ['p("y | x") = ∑ g_j(x) p_j("y | x")', "g(x) = softmax(V x)"]
        if self.problem.task == "regression":
            left, right = self.problem.domain.x
            low, high = self.estimator.expert_predictions(np.array([[left], [right]]))
            slopes = (high - low) / (right - left)
            levels = low - slopes * left
            lines += [
                f"f_{j + 1} = {total([number(float(levels[j])), f'{number(float(slopes[j]))} x'])}"
                for j in range(min(len(levels), 4))
            ]
        return "\n".join(lines)

    def bars(self) -> Bars | None:
        shares = self.estimator.gate_proba(self.problem.X).mean(axis=0)
        return "Share of the points of each expert", [f"expert {j + 1}" for j in range(len(shares))], shares


class Average(Model):
    """The tab of the average over degrees: polynomials weighted by their evidence or by stacking."""

    id, name, least = "average", "Model average", 3
    latent = centered = True
    shows: ClassVar = {"regression": ("band", "draws", "evidence", "bars")}
    declared = (
        slider("degree", "Highest degree", 1, 10, 6, step=1, help="Polynomials of degree 1 to this one."),
        choice("weights", "Weights", _WAYS, help="Evidence assumes that one model is right; stacking combines them."),
        *(replace(control, learnable=False, curve=False) for control in (PRIOR, NOISE)),
    )

    @property
    def _map(self) -> tuple[float, float]:
        return Design({"basis": "polynomial", "degree": 1}, self.problem.domain).mapped or (0.0, 1.0)

    def features(self, X: Array) -> Array:
        return (X - self._map[0]) / self._map[1]

    def _last(self) -> BayesianLinearRegression:
        prior, noise = (rounded(self.settings[name] ** -2, 8) for name in ("prior_std", "noise"))
        return BayesianLinearRegression(prior, noise_precision=noise, fit_intercept=False)

    def make(self) -> Any:
        degrees = range(1, int(self.settings["degree"]) + 1)
        bases = {d: Polynomial(d, scale=False, include_constant=True) for d in degrees}
        models = [(str(d), Pipeline([("basis", bases[d]), ("model", self._last())])) for d in degrees]
        return ModelAverage(models, weights=self.settings["weights"], random_state=0)

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        """The means of the polynomials with the largest weights."""
        if prior:
            return None
        best = np.argsort(-np.asarray(self.estimator.weights_))[:n]
        models = [self.estimator.estimators_[int(i)] for i in best if self.estimator.weights_[int(i)] > 1e-3]
        return np.stack([model.predict(self.features(grid)) for model in models]) + self.offset

    def evidence(self) -> Evidence:
        if self.settings["weights"] == "stacking":
            return Evidence(None, "Stacking weighs models by held-out scores, not by their evidence.")
        return Evidence(float(self.estimator.log_evidence_), label="log evidence of the average")

    def equation(self) -> str:
        shares = zip(self.estimator.names_, self.estimator.weights_, strict=True)
        terms = [f'{number(float(share))} · p_{name}("y | x")' for name, share in shares if share >= 0.005]
        what = "p(degree | points)" if self.settings["weights"] == "evidence" else "held-out log score"
        return f'p("y | x") = {total(terms)}\n"weights by {what}"'

    def code(self) -> list[str]:
        center, half = self._map
        return [
            "from sklearn.pipeline import make_pipeline",
            "",
            "models = [",
            f"    (str(d), make_pipeline(Polynomial(d, scale=False, include_constant=True), {source(self._last())}))",
            f"    for d in range(1, {int(self.settings['degree']) + 1})",
            "]",
            f'model = ModelAverage(models, weights="{self.settings["weights"]}", random_state=0)',
            f"model.fit((x - {center!r}) / {half!r}, {shift('y', self.offset, '-')})",
            *prediction(f"(grid - {center!r}) / {half!r}", self.offset),
            "print(dict(zip(model.names_, model.weights_)))",
        ]

    def bars(self) -> Bars | None:
        return "Weight of each degree", [f"degree {name}" for name in self.estimator.names_], self.estimator.weights_
