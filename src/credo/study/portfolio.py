"""In which order models are fitted, and how long they take: made by `benchmarks/portfolio.py` from fits to many tables.

`SECONDS` has constants a, b, c of the law a (n/1000)ᵇ (p/10)ᶜ for the seconds of one fit to n rows and p prepared
columns on one core. `ORDER` has the models by what they add to the held-out log score of the average of those before
them, for each second; derived on one half of the tables, judged on the other.
"""

from __future__ import annotations

from collections.abc import Mapping

SECONDS: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "regression": {
        "baseline": (0.001, 0.3, 0.0),
        "naive": (0.002, 0.5, 0.0),
        "naive-season": (0.002, 0.5, 0.0),
        "linear": (0.004, 0.7, 0.8),
        "ridge": (0.006, 0.8, 0.9),
        "bayes": (0.006, 0.8, 0.9),
        "lasso": (0.05, 0.8, 1.0),
        "spike-slab": (0.5, 0.3, 1.5),
        "polynomial": (0.05, 0.9, 2.5),
        "lms": (0.1, 1.0, 0.5),
        "nadaraya-watson": (0.6, 2.0, 0.7),
        "kernel-ridge": (0.6, 2.5, 0.3),
        "gp": (4.0, 2.3, 0.8),
        "gp-matern": (4.0, 2.3, 0.8),
        "gp-heteroscedastic": (12.0, 2.3, 0.8),
        "gp-time": (3.0, 2.3, 0.5),
        "experts": (1.0, 1.0, 1.2),
        "forest": (0.8, 1.1, 0.6),
        "boosting": (0.5, 0.7, 0.6),
    },
    "classification": {
        "baseline": (0.001, 0.3, 0.0),
        "discriminant": (0.005, 0.8, 1.0),
        "logistic": (0.02, 0.9, 1.0),
        "bayes-logistic": (0.05, 0.9, 1.2),
        "sparse-logistic": (0.3, 1.0, 1.2),
        "spike-slab": (3.0, 0.8, 1.5),
        "polynomial": (0.2, 1.0, 2.2),
        "neighbours": (0.6, 2.0, 0.7),
        "gp": (6.0, 2.3, 0.8),
        "experts": (2.0, 1.0, 1.2),
        "adaboost": (0.3, 1.0, 0.8),
        "forest": (0.6, 1.1, 0.6),
        "boosting": (0.5, 0.7, 0.6),
    },
}

ORDER: Mapping[str, tuple[str, ...]] = {
    "regression": (
        "baseline", "naive", "naive-season", "linear", "bayes", "lasso", "ridge", "polynomial", "boosting", "gp-time",
        "kernel-ridge", "forest", "nadaraya-watson", "gp", "experts", "spike-slab", "gp-heteroscedastic",
    ),
    "classification": (
        "baseline", "logistic", "discriminant", "bayes-logistic", "boosting", "polynomial", "adaboost", "forest", "gp",
        "sparse-logistic", "neighbours", "spike-slab", "experts",
    ),
}  # fmt: skip


def seconds(task: str, name: str, rows: int, columns: int) -> float:
    """The seconds of one fit on the machine that the constants come from."""
    a, b, c = SECONDS[task][name]
    return a * (rows / 1000) ** b * (max(columns, 1) / 10) ** c
