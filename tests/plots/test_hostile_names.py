"""Names, labels and titles come from data: whatever they hold, every figure can be drawn."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import credo
import credo.plots as plots
from credo.distributions import Categorical, Normal
from credo.ensemble import AdaBoostClassifier, BaggingRegressor, MixtureOfExpertsRegressor
from credo.gp import GPClassifier, GPRegressor
from credo.kernels import RBF
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression, LogisticRegression
from credo.metrics import kaplan_meier
from credo.sparse import LassoCV, SpikeSlabRegressor
from credo.trees import DecisionTreeClassifier

NAMES = [
    "$0_$5",
    r"$\frac{",
    "a^b_c",
    "100 % \\alpha {x}",
    "🦉",
    "long " * 60,
    "tab\tbell\x07nul\x00line\nend\x1b[31m",
    "\u202eevil\u2066",
    "<b>&amp;",
    "",
]
# Figures and other members that draw no names from data.
WITHOUT_NAMES = {"calibration", "evidence_surface", "model_scores", "shorten", "style", "svg"}


@pytest.fixture(scope="module")
def fitted():
    """Models of columns and classes with such names."""
    rng = np.random.default_rng(0)
    names = [*NAMES, "other"]
    X = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    y = X.iloc[:, 0] - 2 * X.iloc[:, 1] + 0.3 * rng.normal(size=60)
    two = X.iloc[:, :2]
    labels = np.array(NAMES[:2])[(y > 0).astype(int)]
    return {
        "X": X,
        "y": y,
        "two": two,
        "labels": labels,
        "lasso": LassoCV().fit(X, y),
        "subsets": SpikeSlabRegressor(random_state=0).fit(X, y),
        "process": GPRegressor(RBF(lengthscale=np.ones(2)), n_restarts=0).fit(two, y),
        "line": GPRegressor(n_restarts=0).fit(X.iloc[:, :1], y),
        "linear": BayesianLinearRegression().fit(two, y),
        "logistic": LogisticRegression(alpha=1.0).fit(two, labels),
        "bayes": BayesianLogisticRegression().fit(two, labels),
        "curve": BayesianLogisticRegression().fit(X.iloc[:, :1], labels),
        "additive": credo.AdditiveRegressor(family="gaussian").fit(two.assign(**{NAMES[2]: labels}), y),
        "tree": DecisionTreeClassifier(random_state=0).fit(two, labels),
        "bagged": BaggingRegressor(BayesianLinearRegression(), n_estimators=3, random_state=0).fit(X.iloc[:, :1], y),
        "experts": MixtureOfExpertsRegressor(2, n_restarts=0, tol=1e-2, random_state=0).fit(two, y),
        "search": credo.search_kernel(X.iloc[:30, :1], y[:30], budget=2, random_state=0),
        "boosted": AdaBoostClassifier(n_rounds=3, calibrate=False, random_state=0).fit(two, labels),
        "classes": GPClassifier(hyperparameters="fixed").fit(two, labels),
    }


def law(n_classes, n):
    probs = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=n)
    return Categorical(probs, classes=NAMES[:n_classes])


def classes(n):
    return np.array(NAMES[:4])[np.arange(n) % 4]


DRAWINGS = {
    "adaboost_rounds": lambda m, name, ax: plots.adaboost_rounds(m["boosted"], m["two"], m["labels"], n=20, ax=ax),
    "band": lambda m, name, ax: plots.band(np.arange(3.0), Normal(np.zeros(3), np.ones(3)), name=name, ax=ax),
    "bars": lambda m, name, ax: plots.bars(NAMES, np.arange(len(NAMES)) + 1.0, label=name, ax=ax),
    "coefficient_density": lambda m, name, ax: plots.coefficient_density(m["subsets"], 0, ax=ax),
    "coefficient_path": lambda m, name, ax: plots.coefficient_path(m["X"], m["y"], ax=ax),
    "coefficients": lambda m, name, ax: plots.coefficients(
        NAMES, np.ones(len(NAMES)), lower=np.zeros(len(NAMES)), upper=np.full(len(NAMES), 2.0), label=name, ax=ax
    ),
    "components": lambda m, name, ax: plots.components(m["search"], ax=ax),
    "confusion": lambda m, name, ax: plots.confusion(classes(20), classes(20)[::-1], ax=ax),
    "decision_regions": lambda m, name, ax: plots.decision_regions(m["logistic"], m["two"], m["labels"], n=20, ax=ax),
    "expert_regions": lambda m, name, ax: plots.expert_regions(m["experts"], m["two"], m["y"], ax=ax),
    "importances": lambda m, name, ax: plots.importances(m["process"], ax=ax),
    "inclusions": lambda m, name, ax: plots.inclusions(m["subsets"], ax=ax),
    "next_points": lambda m, name, ax: plots.next_points(m["line"], m["X"].iloc[:, :1], name=name, ax=ax),
    "predicted_vs_actual": lambda m, name, ax: plots.predicted_vs_actual([1.0, 2.0], [1.0, 2.0], name=name, ax=ax),
    "reliability": lambda m, name, ax: plots.reliability(NAMES[:2] * 20, law(2, 40), ax=ax),
    "residuals": lambda m, name, ax: plots.residuals([1.0, 2.0], [1.0, 2.0], name=name, ax=ax),
    "roc": lambda m, name, ax: plots.roc(classes(40), law(4, 40), ax=ax),
    "sigmoid": lambda m, name, ax: plots.sigmoid(m["curve"], m["X"].iloc[:, 0], m["labels"], target=name, ax=ax),
    "survival": lambda m, name, ax: plots.survival(kaplan_meier([1.0, 2.0, 3.0], [1, 0, 1]), name=name, ax=ax),
    "terms": lambda m, name, ax: plots.terms(m["additive"], name=name, ax=ax),
    "tree": lambda m, name, ax: plots.tree(m["tree"], ax=ax),
    "waterfall": lambda m, name, ax: plots.waterfall(
        NAMES, np.arange(len(NAMES)) - 3.5, base=1.0, values=NAMES, label=name, ax=ax
    ),
    "weight_posterior": lambda m, name, ax: plots.weight_posterior(m["linear"], ax=ax),
}


def test_every_figure_is_drawn_here():
    assert set(DRAWINGS) | WITHOUT_NAMES == set(plots.__all__)


# Names of data and of columns go through the same functions in every figure: one of them tries all names.
CASES = [(member, name) for member in DRAWINGS for name in (NAMES if member == "band" else NAMES[:1])]


@pytest.mark.parametrize(("member", "name"), CASES, ids=[f"{m}-{NAMES.index(name)}" for m, name in CASES])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_figure_can_be_drawn_whatever_the_names_are(member, name, fitted):
    draw = DRAWINGS[member]
    if member in ("band", "bars", "confusion"):
        figure = Figure(layout="constrained")
        draw(fitted, name, figure.subplots())
        figure.savefig(io.BytesIO(), format="png", dpi=20)
    text = plots.svg(lambda ax: draw(fitted, name, ax), prefix="p", label=name)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("member", ["decision_regions", "weight_posterior", "next_points"])
def test_models_of_two_inputs(member, fitted):
    draw = {
        "decision_regions": lambda ax: plots.decision_regions(
            fitted["classes"], fitted["two"], fitted["labels"], ax=ax
        ),
        "weight_posterior": lambda ax: plots.weight_posterior(fitted["bayes"], ax=ax),
        "next_points": lambda ax: plots.next_points(fitted["process"], fitted["two"], ax=ax),
    }[member]
    assert plots.svg(draw, prefix="p", label="two inputs")
