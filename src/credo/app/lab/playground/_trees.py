"""Trees, and models made of many: bagging and AdaBoost."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from credo.app.lab.playground._controls import Control, choice, log_slider, slider, toggle
from credo.app.lab.playground._estimators import ClassifierFit, RegressorFit
from credo.app.lab.playground._mathml import (
    Math,
    call,
    fraction,
    index,
    joined,
    lines,
    number,
    row,
    sign,
    symbol,
    words,
)
from credo.app.lab.playground._model import Fitted, Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem
from credo.ensemble import AdaBoostClassifier, BaggingClassifier, BaggingRegressor
from credo.linear import LinearRegression, LogisticRegression
from credo.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor


def _leaf(task: str) -> Control:
    least = 3 if task == "regression" else 1
    return slider("leaf", "Points in a leaf", 1, 30, least, step=1, help="The fewest points that a leaf may have.")


class _TreeParts:
    """The equation and the bars of a tree."""

    estimator: Any
    problem: Problem
    no_evidence = "A tree chooses its splits greedily, not by a prior, so it has no evidence."

    def equation(self) -> Math:
        leaves = int(np.count_nonzero(self.estimator.tree_.is_leaf))
        if self.problem.task == "regression":
            name = row(call("f", "x"), "=", words("shrunken mean of y in the leaf of x"))
            rule = row(words("splits minimise"), sign("∑"), words("(y − mean of the part)²"))
        else:
            name = row(call("P", row("class", "=", "k")), "=", fraction(
                row(index(symbol("n"), symbol("k")), "+", symbol("a"), index(symbol("π"), symbol("k"))),
                row(symbol("n"), "+", symbol("a")),
            ))  # fmt: skip
            rule = words("splits minimise the Gini impurity; n counts the points in the leaf")
        return lines(name, rule, row(number(leaves), words(" leaves")))


class TreeRegressorFit(_TreeParts, RegressorFit):
    """A regression tree."""


class TreeClassifierFit(_TreeParts, ClassifierFit):
    """A classification tree."""

    def bars(self) -> tuple[str, list[str], Array]:
        return "Importance", ["x₁", "x₂"], np.asarray(self.estimator.feature_importances_)


class Tree(Model):
    """The tab of trees."""

    id, name = "tree", "Tree"
    shows: ClassVar = {"regression": ("band", "learn"), "classification": ("bars", "learn")}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        depth = slider("depth", "Depth", 1, 12, 4, step=1, help="The most splits above a leaf.")
        return [depth, _leaf(task), self._pruning()]

    def _pruning(self) -> Control:
        return log_slider(
            "pruning", "Pruning", 1e-4, 1, 1e-3, learnable=True, help="A split must explain at least this share."
        )

    def _estimator(self, problem: Problem, settings: Settings, pruning: float | Literal["held-out"]) -> Any:
        kind = DecisionTreeRegressor if problem.task == "regression" else DecisionTreeClassifier
        return kind(max_depth=int(settings["depth"]), min_leaf=settings["leaf"], pruning=pruning, random_state=0)

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        kind = TreeRegressorFit if problem.task == "regression" else TreeClassifierFit
        return kind(problem, settings, self._estimator(problem, settings, settings["pruning"]))

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        found = self._estimator(problem, settings, "held-out").fit(problem.X, problem.target)
        learned = self._pruning().clipped(float(found.pruning_))
        return {**settings, "pruning": learned}, ["The pruning has the highest held-out log score."]


class _BaggingParts:
    """The equation of an average over bootstrap samples."""

    settings: Settings
    no_evidence = "An average over bootstrap samples has no prior, so it has no evidence."

    def equation(self) -> Math:
        count = number(self.settings["members"], 4)
        member = call(index(symbol("f"), symbol("m")), "x")
        mean = row(call("f", "x"), "=", fraction(number(1), count), sign("∑"), member)
        return lines(mean, words("each member is fitted to a bootstrap sample of the points"))


class BaggedRegressorFit(_BaggingParts, RegressorFit):
    """Bagged regressors; their functions are the draws."""

    def draws(self, grid: Array, n: int, *, prior: bool, seed: int) -> Array | None:
        if prior:
            return None
        return np.stack([member.predict(grid) for member in self.estimator.estimators_[:n]])


class BaggedClassifierFit(_BaggingParts, ClassifierFit):
    """Bagged classifiers."""


class Bagging(Model):
    """The tab of bagging."""

    id, name = "bagging", "Bagging"
    shows: ClassVar = {"regression": ("band", "draws"), "classification": ()}
    least = 3

    def controls(self, task: str, domain: Domain) -> list[Control]:
        line = ("line", "Straight line" if task == "regression" else "Logistic regression")
        members = (("tree", "Tree"), line) if task == "regression" else (("tree", "Tree"), ("stump", "Stump"), line)
        return [
            choice("member", "Member", members, help="Bagging helps members that vary much from sample to sample."),
            slider("members", "Number of members", 1, 50, 12, step=1, help="Bootstrap samples."),
            slider("depth", "Depth", 1, 12, 6, step=1, when={"member": ["tree"]}, help="The most splits above a leaf."),
        ]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        depth, kind, count = int(settings["depth"]), settings["member"], int(settings["members"])
        member: Any
        if problem.task == "regression":
            member = LinearRegression() if kind == "line" else DecisionTreeRegressor(max_depth=depth, pruning=0.0)
            model = BaggingRegressor(member, n_estimators=count, calibrate=None, random_state=0)
            return BaggedRegressorFit(problem, settings, model)
        if kind == "line":
            member = LogisticRegression(0.01)
        else:
            member = DecisionStump() if kind == "stump" else DecisionTreeClassifier(max_depth=depth, pruning=0.0)
        bagged = BaggingClassifier(member, n_estimators=count, calibrate=None, random_state=0)
        return BaggedClassifierFit(problem, settings, bagged)


class BoostedFit(ClassifierFit):
    """AdaBoost after some rounds; the weights are those of the points in the last of them."""

    no_evidence = "AdaBoost minimises an exponential loss and has no prior, so it has no evidence."

    def weights(self) -> Array:
        last = self.estimator.weights_[-1]
        return last * len(last)

    def equation(self) -> Math:
        found = self.estimator
        rounds = number(len(found.errors_), 4)
        votes = row(call(index(symbol("F"), symbol("k")), "x"), "=", sign("∑"), index(symbol("α"), symbol("m")),
                    words(" over the learners that say k, m = 1…"), rounds)  # fmt: skip
        error = float(found.errors_[-1])
        parts = [row(words("error of the last learner ε = "), number(error))]
        if 0 < error < 1 and len(found.boosted_.alpha):
            alpha = row("α", "=", call("ln", fraction(row(number(1), "−", "ε"), symbol("ε"))))
            parts.append(row(alpha, "=", number(float(found.boosted_.alpha[-1]))))
        return lines(votes, joined(parts))

    def bars(self) -> tuple[str, list[str], Array]:
        errors = np.asarray(self.estimator.errors_)[-40:]
        first = len(self.estimator.errors_) - len(errors) + 1
        return "Weighted error of each round", [str(first + i) for i in range(len(errors))], errors


class AdaBoost(Model):
    """The tab of AdaBoost."""

    id, name = "adaboost", "AdaBoost"
    shows: ClassVar = {"classification": ("weights", "rounds", "bars")}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [
            slider("round", "Round", 1, 100, 10, step=1, help="The learners so far; the dots show the weights."),
            choice(
                "learner", "Learner", (("stump", "Stump"), ("tree", "Tree of depth 2")), help="One learner a round."
            ),
            toggle("calibrate", "Calibrated probabilities", False, help="AdaBoost's own are too close to 0 and 1."),
        ]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        learner = None if settings["learner"] == "stump" else DecisionTreeClassifier(max_depth=2, pruning=0.0)
        model = AdaBoostClassifier(
            learner,
            n_rounds=int(settings["round"]),
            calibrate=settings["calibrate"],
            keep_weights=True,
            random_state=0,
        )
        return BoostedFit(problem, settings, model)
