"""Models that weigh the points near a place: Nadaraya–Watson, soft neighbours, and perceptrons."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from credo.app.lab.playground._controls import Control, choice, log_slider, slider
from credo.app.lab.playground._estimators import ClassifierFit, Plane, RegressorFit
from credo.app.lab.playground._kernels import STATIONARY
from credo.app.lab.playground._mathml import Math, call, fraction, index, lines, number, row, sign, symbol, words
from credo.app.lab.playground._model import Fitted, Model, Settings
from credo.app.lab.playground._problem import Array, Domain, Problem, rounded
from credo.kernel_machines import KernelPerceptron, NadarayaWatson, SoftNeighborsClassifier
from credo.kernels import Kernel
from credo.linear import Perceptron

_SHAPES = tuple((name, label) for name, (_, label) in STATIONARY.items())


def _kernel(settings: Settings) -> Kernel:
    made: Kernel = STATIONARY[settings["shape"]][0](settings["lengthscale"])
    return made


def _kernel_controls(domain: Domain, task: str, *, learnable: bool) -> list[Control]:
    reach = max(domain.width, domain.height) if task == "classification" else domain.width
    return [
        choice("shape", "Kernel", _SHAPES, help="How the weight of a point decreases with its distance."),
        log_slider(
            "lengthscale", "Bandwidth", reach / 200, 2 * reach, reach / 20, unit="x", learnable=learnable,
            help="The distance within which points count.",
        ),
    ]  # fmt: skip


def _kernel_words(settings: Settings) -> Math:
    label = STATIONARY[settings["shape"]][1]
    return row(call("k", "r"), "=", words(label), words(" with bandwidth "), number(settings["lengthscale"]))


def _kernel_at() -> Math:
    return call("k", row(symbol("x"), sign("−"), index(symbol("x"), symbol("i"))))


class WeightedMeanFit(RegressorFit):
    """Nadaraya–Watson."""

    latent = True

    def equivalent_kernel(self, at: float) -> Array:
        weights = self.estimator.kernel_.cross(np.array([[at]]), self.problem.X)[0]
        if weights.sum() <= 0:
            # Where all weights underflow, the nearest points decide.
            distance = np.abs(self.problem.X[:, 0] - at)
            weights = (distance <= distance.min() * (1 + 1e-12)).astype(np.float64)
        return weights / weights.sum()

    def equation(self) -> Math:
        weighted = row(sign("∑"), _kernel_at(), index(symbol("y"), symbol("i")))
        mean = row(call("f", "x"), "=", fraction(weighted, row(sign("∑"), _kernel_at())))
        return lines(mean, _kernel_words(self.settings))


class WeightedMean(Model):
    """The tab of Nadaraya–Watson regression."""

    id, name = "nadaraya_watson", "Nadaraya–Watson"
    shows: ClassVar = {"regression": ("band", "equivalent_kernel", "learn")}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return _kernel_controls(domain, task, learnable=True)

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        return WeightedMeanFit(problem, settings, NadarayaWatson(_kernel(settings), bandwidth=1.0))

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        found = NadarayaWatson(_kernel(settings), bandwidth="loo").fit(problem.X, problem.y)
        return _with_bandwidth(self, problem, settings, found), ["The bandwidth has the smallest leave-one-out error."]


class SoftNeighboursFit(ClassifierFit):
    """Kernel-weighted votes."""

    def equation(self) -> Math:
        a = number(self.settings["smoothing"])
        prior = row(a, sign("·"), index(symbol("π"), symbol("c")))
        votes = row(index(sign("∑"), words("class c")), _kernel_at())
        share = fraction(row(votes, "+", prior), row(sign("∑"), _kernel_at(), "+", a))
        return lines(row(call("P", row("class", "=", "c")), "=", share), _kernel_words(self.settings))


class SoftNeighbours(Model):
    """The tab of soft nearest neighbours."""

    id, name = "soft_neighbours", "Soft neighbours"
    shows: ClassVar = {"classification": ("learn",)}
    least = 2

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [*_kernel_controls(domain, task, learnable=True), _smoothing()]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        model = SoftNeighborsClassifier(_kernel(settings), bandwidth=1.0, smoothing=settings["smoothing"])
        return SoftNeighboursFit(problem, settings, model)

    def learn(self, problem: Problem, settings: Settings) -> tuple[Settings, list[str]]:
        found = SoftNeighborsClassifier(_kernel(settings)).fit(problem.X, problem.target)
        learned = _with_bandwidth(self, problem, settings, found)
        learned["smoothing"] = _smoothing().clipped(float(found.smoothing_))
        return learned, ["Bandwidth and smoothing have the smallest leave-one-out log loss."]


def _smoothing() -> Control:
    return log_slider(
        "smoothing", "Smoothing", 1e-4, 100, 0.1, learnable=True,
        help="Points of the prior: far from all points, the classes have their overall shares.",
    )  # fmt: skip


def _with_bandwidth(model: Model, problem: Problem, settings: Settings, found: Any) -> Settings:
    controls = {control.id: control for control in model.controls(problem.task, problem.domain)}
    value = rounded(float(found.bandwidth_) * settings["lengthscale"])
    return {**settings, "lengthscale": controls["lengthscale"].clipped(value)}


_PASSES = slider("epochs", "Most passes", 1, 200, 50, step=1, help="Passes over the points.")


class _WithoutLikelihood(ClassifierFit):
    """What both perceptrons lack."""

    no_evidence = "The perceptron has no likelihood, so it has no evidence."

    @property
    def notes(self) -> tuple[str, ...]:
        return ("A perceptron has no probabilities: the map shows the predicted class.",)


class PerceptronFit(_WithoutLikelihood):
    """The perceptron on powers of the inputs."""

    def equation(self) -> Math:
        assert self.plane is not None
        rule = row("w", "←", "w", "+", words("class (±1)"), sign("·"), words("point, if it is misclassified"))
        if not self.is_binary:
            return lines(row("class", "=", symbol("argmax"), words(" of one line for each class")), rule)
        function = self.plane.sum(float(self.estimator.intercept_[0]), self.estimator.coef_[0])
        return lines(row(call("f", "x"), "=", function), rule, self.plane.where())

    def bars(self) -> tuple[str, list[str], Array]:
        passes = self.estimator.mistakes_[:40]
        return "Mistakes in each pass", [str(i + 1) for i in range(len(passes))], np.asarray(passes, dtype=float)


class PerceptronModel(Model):
    """The tab of the perceptron."""

    id, name = "perceptron", "Perceptron"
    shows: ClassVar = {"classification": ("bars",)}

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [slider("degree", "Degree", 1, 5, 1, step=1, help="Highest power of the inputs."), _PASSES]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        plane = Plane(int(settings["degree"]), problem.domain)
        return PerceptronFit(problem, settings, Perceptron(int(settings["epochs"]), random_state=0), plane)


class KernelPerceptronFit(_WithoutLikelihood):
    """The perceptron on the features of a kernel; the weights are the mistakes made on each point."""

    def equation(self) -> Math:
        coefficient = row(index(symbol("α"), symbol("i")), index(symbol("y"), symbol("i")))
        function = row(call("f", "x"), "=", sign("∑"), coefficient, _kernel_at())
        count = row(words("mistakes: "), number(float(self.estimator.mistakes_.sum()), 6))
        return lines(function, _kernel_words(self.settings), count)

    def weights(self) -> Array:
        return np.asarray(self.estimator.mistakes_, dtype=np.float64)


class KernelPerceptronModel(Model):
    """The tab of the kernel perceptron."""

    id, name = "kernel_perceptron", "Kernel perceptron"
    shows: ClassVar = {"classification": ("weights",)}

    def controls(self, task: str, domain: Domain) -> list[Control]:
        return [*_kernel_controls(domain, task, learnable=False), _PASSES]

    def fit(self, problem: Problem, settings: Settings) -> Fitted:
        model = KernelPerceptron(_kernel(settings), n_epochs=int(settings["epochs"]), random_state=0)
        return KernelPerceptronFit(problem, settings, model)
