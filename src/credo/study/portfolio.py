"""In which order models are fitted, and how long they take.

`SECONDS` has the constants f, a, b, c of the law f + a (n/1000)ᵇ (p/10)ᶜ for the seconds of one fit to n rows and p
prepared columns on one core, measured by `benchmarks/seconds.py`. `ORDER` has the models by what they add to the
held-out log score of the average of those before them, for each second, on the tables of `benchmarks/portfolio.py`.
The place of "additive" is from 46 of these tables with up to 1,600 rows, without Gaussian processes.
"""

from __future__ import annotations

from collections.abc import Mapping

from credo.study.catalogue import EXACT_ROWS

SECONDS: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "regression": {
        "baseline": (0.001, 0.00001, 1.0, 0.0),
        "naive": (0.001, 0.00001, 1.6, 0.0),
        "naive-season": (0.001, 0.00001, 1.6, 0.0),
        "linear": (0.001, 0.00005, 1.1, 1.0),
        "ridge": (0.001, 0.0018, 0.9, 0.2),
        "bayes": (0.0014, 0.0003, 0.7, 0.8),
        "lasso": (0.015, 0.0014, 0.9, 0.6),
        "spike-slab": (0.005, 0.088, 0.0, 2.8),
        "additive": (0.02, 0.1, 0.3, 1.8),
        "counts": (0.05, 0.77, 0.8, 2.0),
        "hurdle": (0.05, 0.95, 0.6, 1.8),
        "log-normal": (0.05, 0.77, 0.8, 2.0),
        "weibull": (0.05, 0.77, 0.8, 2.0),
        "polynomial": (0.003, 0.003, 0.6, 2.2),
        "lms": (0.001, 0.068, 1.0, 0.0),
        "nadaraya-watson": (0.001, 0.14, 1.3, 0.3),
        "kernel-ridge": (0.002, 0.15, 2.8, 0.0),
        "gp": (0.15, 1.4, 1.5, 0.1),
        "gp inducing": (0.0, 0.6, 0.95, 0.1),
        "gp-matern": (0.15, 1.4, 1.5, 0.1),
        "gp-matern inducing": (0.0, 0.6, 0.95, 0.1),
        "gp-heteroscedastic": (0.2, 7.1, 1.5, 0.3),
        "gp-time": (0.6, 3.7, 1.6, 0.2),
        "experts": (0.06, 0.64, 0.8, 0.0),
        "forest": (0.2, 0.19, 1.0, 0.5),
        "boosting": (0.0, 0.75, 0.2, 0.3),
    },
    "classification": {
        "baseline": (0.001, 0.00001, 1.0, 0.0),
        "discriminant": (0.001, 0.0003, 1.1, 0.7),
        "logistic": (0.001, 0.0003, 0.9, 0.4),
        "bayes-logistic": (0.014, 0.006, 1.0, 0.1),
        "sparse-logistic": (0.12, 0.064, 0.9, 0.3),
        "spike-slab": (0.01, 0.41, 0.5, 1.5),
        "additive": (0.02, 0.38, 1.05, 1.9),
        "ordinal": (0.02, 0.2, 1.0, 1.9),
        "polynomial": (0.016, 0.046, 0.8, 3.0),
        "neighbours": (0.001, 0.14, 1.1, 0.0),
        "gp": (0.0, 4.9, 1.5, 0.0),
        "gp inducing": (0.0, 0.45, 0.95, 0.1),
        "experts": (0.08, 1.2, 1.0, 0.0),
        "adaboost": (0.04, 0.011, 1.1, 0.0),
        "forest": (0.18, 0.17, 1.1, 0.4),
        "boosting": (0.0, 0.41, 0.2, 0.4),
    },
}

ORDER: Mapping[str, tuple[str, ...]] = {
    "regression": (
        "baseline", "naive", "naive-season", "linear", "bayes", "lasso", "ridge", "polynomial", "additive", "counts",
        "hurdle", "log-normal", "weibull", "boosting", "gp-time", "kernel-ridge", "forest", "gp", "experts",
        "spike-slab", "gp-heteroscedastic",
    ),
    "classification": (
        "baseline", "logistic", "discriminant", "bayes-logistic", "additive", "ordinal", "boosting", "polynomial",
        "adaboost", "forest", "gp", "sparse-logistic", "neighbours", "spike-slab",
    ),
}  # fmt: skip


def seconds(task: str, name: str, rows: int, columns: int, classes: int = 0) -> float:
    """The seconds of one fit on the machine that the constants come from.

    Most models learn a function for each class if there are more than two.
    """
    table = SECONDS[task]
    many = f"{name} inducing"
    f, a, b, c = table[many if rows > EXACT_ROWS and many in table else name]
    return (f + a * (rows / 1000) ** b * (max(columns, 1) / 10) ** c) * (classes if classes > 2 else 1)
