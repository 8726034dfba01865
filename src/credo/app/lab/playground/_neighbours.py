"""Models that weight nearby points: Nadaraya–Watson, soft neighbors, and the kernel perceptron."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from credo.app.lab.playground._controls import Control, choice, log_slider
from credo.app.lab.playground._equations import number
from credo.app.lab.playground._kernels import STATIONARY
from credo.app.lab.playground._linear import PASSES, PerceptronModel
from credo.app.lab.playground._model import Model
from credo.app.lab.playground._problem import Array
from credo.kernel_machines import KernelPerceptron, NadarayaWatson, SoftNeighborsClassifier
from credo.kernels import Kernel

_SHAPES = tuple((name, shape.label) for name, shape in STATIONARY.items())


_CONTROLS = (
    choice("shape", "Kernel", _SHAPES, help="How the weight of a point decreases with its distance."),
    log_slider(
        "lengthscale", "Bandwidth", 1 / 200, 2, 1 / 20, unit="x", learnable=True,
        help="The distance within which points count.",
    ),
)  # fmt: skip


class Weighing(Model):
    """A model whose points have weights k(x − xᵢ)."""

    least = 2
    declared: ClassVar[tuple[Control, ...]] = _CONTROLS
    formula: ClassVar[str]

    @property
    def kernel(self) -> Kernel:
        made: Kernel = STATIONARY[self.settings["shape"]].kind(self.settings["lengthscale"])
        return made

    def learned(self) -> dict[str, Any]:
        return {"lengthscale": float(self.estimator.bandwidth_) * self.settings["lengthscale"]}

    def equation(self) -> str:
        label, width = STATIONARY[self.settings["shape"]].label, number(self.settings["lengthscale"])
        return f'{self.formula}\nk(r) = "{label} with bandwidth "{width}'


class WeightedMean(Weighing):
    """The tab of Nadaraya–Watson regression."""

    id, name, latent = "nadaraya_watson", "Nadaraya–Watson", True
    shows: ClassVar = {"regression": ("band", "equivalent_kernel", "learn")}
    learned_note = "The bandwidth has the smallest leave-one-out error."
    formula = "f(x) = (∑ k(x − x_i) y_i)/(∑ k(x − x_i))"

    def make(self) -> Any:
        return NadarayaWatson(self.kernel, bandwidth="loo" if self.learning else 1.0)

    def equivalent_kernel(self, at: float) -> Array:
        weights = self.estimator.kernel_.cross(np.array([[at]]), self.problem.X)[0]
        if weights.sum() <= 0:
            # If all weights underflow, the nearest points decide.
            distance = np.abs(self.problem.X[:, 0] - at)
            weights = (distance <= distance.min() * (1 + 1e-12)).astype(np.float64)
        return weights / weights.sum()


class SoftNeighbours(Weighing):
    """The tab of soft nearest neighbors: kernel-weighted votes."""

    id, name = "soft_neighbours", "Soft neighbors"
    shows: ClassVar = {"classification": ("learn",)}
    declared = (
        *_CONTROLS,
        log_slider(
            "smoothing", "Smoothing", 1e-4, 100, 0.1, learnable=True,
            help="Pseudo-count: far from all points, the classes have their overall shares.",
        ),
    )  # fmt: skip
    learned_note = "Bandwidth and smoothing have the smallest leave-one-out log loss."

    def make(self) -> Any:
        given = {} if self.learning else {"bandwidth": 1.0, "smoothing": self.settings["smoothing"]}
        return SoftNeighborsClassifier(self.kernel, **given)

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "smoothing": float(self.estimator.smoothing_)}

    @property
    def formula(self) -> str:  # type: ignore[override]
        a = number(self.settings["smoothing"])
        return f'P(class = c) = (∑_"class c" k(x − x_i) + {a} · π_c)/(∑ k(x − x_i) + {a})'


class KernelPerceptronModel(Weighing):
    """The perceptron on the features of a kernel; the weights are the mistakes made on each point."""

    id, name, least = "kernel_perceptron", "Kernel perceptron", 1
    shows: ClassVar = {"classification": ("weights", "rounds")}
    declared = (*(replace(control, learnable=False) for control in _CONTROLS), PASSES)
    no_evidence, notes, has_probabilities = PerceptronModel.no_evidence, PerceptronModel.notes, False
    formula = "f(x) = ∑ α_i y_i k(x − x_i)"

    def make(self) -> Any:
        return KernelPerceptron(self.kernel, n_epochs=int(self.settings["epochs"]), random_state=0)

    def equation(self) -> str:
        return f'{super().equation()}\n"mistakes: "{number(float(self.estimator.mistakes_.sum()), 6)}'

    def weights(self) -> Array:
        return np.asarray(self.estimator.mistakes_, dtype=np.float64)
