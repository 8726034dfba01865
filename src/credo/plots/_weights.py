"""What a Bayesian linear model knows about two of its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from numpy.typing import NDArray
from scipy.stats import f as fisher

from credo.estimator import interval_level
from credo.plots._data import Vector, feature_names, grid_rows, pair_of
from credo.plots._labels import name_axis, shorten
from credo.plots._style import ACCENT, INK, MUTED, canvas, legend

Array = NDArray[np.float64]

_TURN = np.linspace(0.0, 2 * np.pi, 181)
_MESH = 121
# How often the axes grow by a fifth to contain an exact posterior.
_WIDENINGS = 8
# Zero is inside the axes unless the ellipse would fill less of an axis than this.
_SHARE = 0.15


def weight_posterior(
    model: Any,
    pair: Sequence[int | str] = (0, 1),
    *,
    levels: Sequence[float] = (0.5, 0.9),
    names: Sequence[str] | None = None,
    log_posterior: Callable[[Array], Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The marginal posterior of two weights: its mode, and ellipses of given probability.

    The region of level q of a normal distribution is (w − m)ᵀ S⁻¹ (w − m) ≤ −2 ln(1 − q); that of a Student-t
    distribution (a model with its noise integrated out) follows from Fisher's F.

    Parameters
    ----------
    model : fitted model with `coef_` and `coef_cov_`
        As `credo.BayesianLinearRegression` or `credo.BayesianLogisticRegression`.
    pair : pair of int or str, default (0, 1)
        The columns; of more than two classes, places in ``coef_.ravel()``.
    levels : sequence of float, default (0.5, 0.9)
    names : pair of str, optional
        For the axes' labels.
    log_posterior : callable, optional
        The exact log posterior, up to a constant, of weights of shape (n_points, 2). Its contours are as far below its
        maximum as the ellipses are below theirs, for comparison with an approximation.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import BayesianLinearRegression
    >>> from credo.plots import weight_posterior
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> ax = weight_posterior(BayesianLinearRegression().fit(X, X @ [1.0, 2.0]), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['mode', '50 %', '90 %']
    """
    mode, cov, titles = two_weights(model, pair)
    titles = titles if names is None else [str(name) for name in names]
    if len(titles) != 2:
        raise ValueError(f"names must name the two weights; got {names!r}")
    inner_first = sorted({interval_level(level) for level in levels})
    if not inner_first:
        raise ValueError("there is nothing to draw: levels is empty")
    df = float(getattr(getattr(model, "posterior_", None), "df", np.inf))
    rings = [ellipse(mode, cov, level, df=df) for level in inner_first]
    with canvas(ax, size=(4.2, 4.0)) as ax:
        ax.plot(*mode, "o", color=INK, markersize=4.5, zorder=4, label="mode")
        _rings(ax, rings, [f"{level * 100:g} %" for level in inner_first])
        ax.set(xlim=_reach(rings[-1][0]), ylim=_reach(rings[-1][1]))
        if log_posterior is not None:
            _exact(ax, log_posterior, inner_first)
        ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        ax.axvline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        legend(ax, columns=None)
        name_axis(ax.xaxis, f"weight of {shorten(titles[0])}")
        name_axis(ax.yaxis, f"weight of {shorten(titles[1])}")
        return ax


def two_weights(model: Any, pair: Sequence[int | str]) -> tuple[Vector, Array, list[str]]:
    """The mode, the covariance and the names of two weights."""
    known = _names(model)
    chosen = pair_of("pair", pair, known, what="weight")
    coef = np.ravel(np.asarray(model.coef_, dtype=np.float64))
    cov = np.asarray(model.coef_cov_, dtype=np.float64)[np.ix_(chosen, chosen)]
    if not np.isfinite(cov).all():
        raise ValueError("the posterior of these weights has no finite covariance to draw")
    return coef[chosen], cov, [known[place] for place in chosen]


def ellipse(mode: Vector, cov: Array, level: float, *, df: float = np.inf) -> Array:
    """The boundary of the smallest region of this probability, as x and y."""
    scale = cov if np.isinf(df) else cov * (df - 2) / df
    # F(2, ∞) is half a chi-squared of two degrees, whose quantile is −2 ln(1 − q).
    square = -2 * np.log1p(-level) if np.isinf(df) else 2 * fisher.ppf(level, 2, df)
    values, vectors = np.linalg.eigh(scale)
    half = vectors * np.sqrt(np.maximum(values, 0.0) * square)
    return mode[:, None] + half @ np.array([np.cos(_TURN), np.sin(_TURN)])


def _names(model: Any) -> list[str]:
    features = feature_names(model)
    if not (hasattr(model, "coef_") and hasattr(model, "coef_cov_")):
        raise TypeError(
            f"weight_posterior needs coef_ and coef_cov_, as BayesianLogisticRegression has them; a "
            f"{type(model).__name__} has none"
        )
    shape = np.shape(model.coef_)
    if len(shape) == 2 and shape[0] > 1:
        return [f"{label}: {name}" for label in model.classes_ for name in features]
    return features


def _rings(ax: Axes, rings: list[Array], texts: list[str]) -> None:
    """Ellipses from the narrowest to the widest, paler outwards."""
    # Each leaves 1 − 0.15 of what is below it.
    for place, (ring, text) in enumerate(zip(rings, texts, strict=True)):
        shade = to_rgba(ACCENT, 1 - 0.85 ** (len(rings) - place))
        ax.fill(*ring, facecolor=to_rgba(ACCENT, 0.15), edgecolor="none", zorder=1)
        ax.plot(*ring, color=ACCENT, linewidth=1.2, zorder=2)
        ax.fill([], [], facecolor=shade, edgecolor=ACCENT, linewidth=1.2, label=text)


def _reach(ring: Vector) -> tuple[float, float]:
    low, high = float(ring.min()), float(ring.max())
    low, high = (low, high) if low < high else (low - 0.5, high + 0.5)
    with_zero = min(low, 0.0), max(high, 0.0)
    if high - low > _SHARE * (with_zero[1] - with_zero[0]):
        low, high = with_zero
    margin = 0.08 * (high - low)
    return low - margin, high + margin


def _exact(ax: Axes, log_posterior: Callable[[Array], Any], levels: list[float]) -> None:
    """Contours of a log posterior, on axes wide enough to hold them."""
    # The log density of two normal weights is −½r² = ln(1 − q) below its maximum at the boundary of level q.
    depths = [float(np.log1p(-level)) for level in levels[::-1]]
    for _ in range(_WIDENINGS):
        across, up, below = _landscape(log_posterior, ax.get_xlim(), ax.get_ylim())
        open_x, open_y = below[:, [0, -1]].max(), below[[0, -1]].max()
        if max(open_x, open_y) < depths[0]:
            break
        ax.set(xlim=_wider(ax.get_xlim(), open_x > depths[0]), ylim=_wider(ax.get_ylim(), open_y > depths[0]))
    ax.contour(across, up, below, levels=depths, colors=INK, linewidths=1.0, linestyles=[(0, (4, 2.5))], zorder=3)
    ax.plot([], [], color=INK, linewidth=1.0, dashes=(4, 2.5), label="exact posterior")


def _wider(ends: tuple[float, float], needed: bool) -> tuple[float, float]:
    margin = 0.1 * (ends[1] - ends[0]) if needed else 0.0
    return ends[0] - margin, ends[1] + margin


def _landscape(
    log_posterior: Callable[[Array], Any], xlim: tuple[float, float], ylim: tuple[float, float]
) -> tuple[Vector, Vector, Array]:
    across, up = np.linspace(*xlim, _MESH), np.linspace(*ylim, _MESH)
    mesh = grid_rows(across, up)
    values = np.asarray(log_posterior(mesh), dtype=np.float64)
    if values.shape != (len(mesh),):
        raise ValueError(
            f"log_posterior must give one value for each of the {len(mesh)} weights of shape (n, 2); got {values.shape}"
        )
    return across, up, np.reshape(values - np.nanmax(values), (_MESH, _MESH))
