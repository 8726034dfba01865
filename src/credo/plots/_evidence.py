"""Two parameters at a time: the log evidence of two hyperparameters, and the posterior of two weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter
from scipy.stats import f as fisher

from credo.core.estimator import interval_level, positive_integer
from credo.core.linalg import NotPositiveDefiniteError
from credo.core.params import Bijector, Parameter, Positive
from credo.gp import GPRegressor
from credo.linear import BayesianLinearRegression, BayesianLogisticRegression, LinearRegression
from credo.plots._data import Vector, feature_names, grid_rows, pair_of
from credo.plots.styling import ACCENT, ALERT, INK, MUTED, canvas, legend, name_axis, name_log_axis, shorten

Array = NDArray[np.float64]

# Contours, in nats below the maximum.
_LEVELS = (1.0, 3.0, 10.0, 30.0, 100.0)
# The parameter of constant noise, and the mean level of varying noise.
_NOISES = ("noise", "noise.level")


@dataclass(frozen=True)
class _Direction:
    """One hyperparameter: its index in theta, and its grid there and in natural units."""

    index: int
    label: str
    flat: Vector
    bijector: Bijector
    unit: float
    center: float

    @property
    def natural(self) -> Vector:
        return self.unit * self.bijector.forward(self.flat)

    @property
    def fitted(self) -> float:
        return self.unit * float(self.bijector.forward(self.center))


def evidence_surface(
    model: Any,
    parameters: Sequence[str] | None = None,
    *,
    n: int = 40,
    span: float = 30.0,
    ax: Axes | None = None,
) -> Axes:
    """The log evidence over two hyperparameters around the fitted ones, as contours of nats below its maximum.

    The others keep their fitted values. A second maximum is another explanation of the data, such as a short length
    scale with little noise instead of a long one with much noise (Rasmussen & Williams 2006, figure 5.5). With
    hyperpriors, the fitted values aren't at the maximum of the evidence. It takes n² factorizations.

    Parameters
    ----------
    model : fitted model with `theta_`, `theta_names_` and `log_evidence(theta, gradient=False)`
    parameters : pair of str, optional
        Names from ``model.theta_names_``; by default the first length scale and the noise, or the first two.
    n : int, default 40
        Grid points in each direction.
    span : float, default 30
        Each parameter ranges from its fitted value divided by this factor to that multiplied by it.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from credo import GPRegressor
    >>> from credo.plots import evidence_surface
    >>> from matplotlib.figure import Figure
    >>> x = np.linspace(0.0, 6.0, 12)[:, None]
    >>> model = GPRegressor("rbf", hyperparameters="optimize", random_state=0).fit(x, np.sin(x[:, 0]))
    >>> ax = evidence_surface(model, n=5, ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('length scale of x', 'noise variance')
    """
    n = positive_integer("n", n)
    if not 1 < span < np.inf:
        raise ValueError(f"span must be a factor above 1, as in 30; got {span!r}")
    if n < 3:
        raise ValueError(f"n must be at least 3, for a surface of n × n points; got {n}")
    theta = np.asarray(model.theta_, dtype=np.float64)
    across, up = _directions(model, theta, parameters, n, span)
    values = _grid(model, theta, across, up)
    summit = np.nanmax([np.nanmax(values), model.log_evidence(theta, gradient=False)])
    below = values - summit
    with canvas(ax, size=(4.9, 3.7)) as ax:
        # Contour labels are placed on the final axes.
        _scale(ax, "x", across)
        _scale(ax, "y", up)
        _contours(ax, across, up, below)
        ax.plot(across.fitted, up.fitted, "o", color=INK, markersize=5, zorder=4, label="fitted")
        _other_maxima(ax, across, up, below)
        legend(ax, columns=3)
        return ax


def _directions(
    model: Any, theta: Vector, parameters: Sequence[str] | None, n: int, span: float
) -> tuple[_Direction, _Direction]:
    names = [str(name) for name in model.theta_names_]
    if len(names) < 2 or len(names) != len(theta):
        raise ValueError(
            f"an evidence surface needs a model with two free hyperparameters or more, named in theta_names_; this "
            f"{type(model).__name__} has {', '.join(names) or 'none'}"
        )
    chosen = list(parameters) if parameters is not None else _default(names)
    if isinstance(parameters, str) or len(chosen) != 2 or chosen[0] == chosen[1] or not set(chosen) <= set(names):
        raise ValueError(f"parameters must be two different names out of {', '.join(names)}; got {parameters!r}")
    first, second = (_direction(model, theta, names, name, n, span) for name in chosen)
    return first, second


def _default(names: list[str]) -> list[str]:
    scale = next((name for name in names if "lengthscale" in name), None)
    noise = next((name for name in names if name in _NOISES), None)
    return names[:2] if scale is None or noise is None else [scale, noise]


def _direction(model: Any, theta: Vector, names: list[str], name: str, n: int, span: float) -> _Direction:
    index = names.index(name)
    flat = theta[index] + np.linspace(-np.log(span), np.log(span), n)
    # Variances are learned on standardized targets and drawn in the units of y.
    bijector, unit = _natural(model, name, float(theta[index]))
    return _Direction(index, _label(model, name), flat, bijector, unit, float(theta[index]))


def _natural(model: Any, name: str, flat: float) -> tuple[Bijector, float]:
    """The bijector of a parameter to natural units, and the factor between natural and standardized units."""
    path, _, entry = name.removesuffix("]").partition("[")
    scale = np.ravel(model.scale_ if isinstance(model, GPRegressor) else 1.0)
    if path in _NOISES:
        return Positive(), float(scale[0]) ** 2 if len(scale) == 1 else 1.0
    # A scaled kernel may have one more factor; then the ends of the paths agree.
    tree, path = model.kernel_.tree, path.removeprefix("kernel.")
    found = [known for known in tree.paths if known == path] or [k for k in tree.paths if k.endswith(f".{path}")]
    leaf = tree[found[0]] if found else None
    if not isinstance(leaf, Parameter):
        return Positive(), 1.0
    forward = float(leaf.bijector.forward(flat))
    return leaf.bijector, float(np.atleast_1d(leaf.value)[int(entry or 0)]) / forward if forward else 1.0


def _label(model: Any, name: str) -> str:
    """'kernel.rbf.lengthscale[1]' as an axis label: "rbf: length scale of depth"."""
    path, _, entry = name.removesuffix("]").partition("[")
    owner, _, kind = path.removeprefix("kernel.").rpartition(".")
    if path in _NOISES:
        owner, kind = "", "noise variance"
    kind = {"lengthscale": "length scale"}.get(kind, kind)
    if entry:
        owners = model.kernel_.owners(path.removeprefix("kernel."), feature_names(model)) or ()
        kind += f" of {owners[int(entry)]}" if int(entry) < len(owners) else f" {entry}"
    if isinstance(model, GPRegressor) and np.size(model.scale_) > 1 and kind.endswith("variance"):
        kind += " (y standardized)"
    return shorten(f"{owner}: {kind}" if owner else kind, width=40)


def _grid(model: Any, theta: Vector, across: _Direction, up: _Direction) -> NDArray[np.float64]:
    """Log evidences, a row for each value of `up`; NaN if the matrix can't be factored."""
    values = np.full((len(up.flat), len(across.flat)), np.nan)
    for cell in np.ndindex(values.shape):
        place = theta.copy()
        place[up.index], place[across.index] = up.flat[cell[0]], across.flat[cell[1]]
        try:
            values[cell] = model.log_evidence(place, gradient=False)
        except NotPositiveDefiniteError:
            continue
    if not np.isfinite(values).any():
        raise ValueError("the evidence is not finite anywhere on the grid: use a smaller span")
    return values


def _contours(ax: Axes, across: _Direction, up: _Direction, below: NDArray[np.float64]) -> None:
    levels = [-level for level in _LEVELS[::-1]]
    shades = [to_rgba(ACCENT, alpha) for alpha in (0.04, 0.09, 0.16, 0.26, 0.42)]
    masked = np.ma.masked_invalid(below)
    ax.contourf(across.natural, up.natural, masked, levels=[*levels, 0.0], colors=shades)
    lines = ax.contour(
        across.natural, up.natural, masked, levels=levels, colors=ACCENT, linewidths=0.8, linestyles="solid"
    )
    ax.plot([], [], color=ACCENT, linewidth=0.8, label="nats below the maximum")
    texts = {level: f"{-level:g}" for level in levels}
    ax.clabel(lines, fmt=texts, fontsize=7, colors=INK, inline_spacing=3)


def _other_maxima(ax: Axes, across: _Direction, up: _Direction, below: NDArray[np.float64]) -> None:
    """Mark maxima other than that of the fitted point, inside the grid."""
    here = np.array([int(np.argmin(np.abs(d.flat - d.center))) for d in (up, across)])
    filled = np.where(np.isfinite(below), below, -np.inf)
    peaks = np.argwhere(filled == maximum_filter(filled, size=5, mode="nearest"))
    inside = ((peaks > 1) & (peaks < np.array(below.shape) - 2)).all(axis=1)
    other = peaks[inside & (np.abs(peaks - here).max(axis=1) > 2)]
    if len(other):
        i, j = other.T
        ax.plot(
            across.natural[j], up.natural[i], "D", color=ALERT, markerfacecolor="white", markersize=4.5, zorder=4,
            label="other maximum",
        )  # fmt: skip


def _scale(ax: Axes, which: str, direction: _Direction) -> None:
    values, axis = direction.natural, ax.xaxis if which == "x" else ax.yaxis
    positive = bool((values > 0).all())
    ax.set(**{f"{which}scale": "log" if positive else "linear", f"{which}lim": (values[0], values[-1])})
    (name_log_axis if positive else name_axis)(axis, direction.label)


_TURN = np.linspace(0.0, 2 * np.pi, 181)
_MESH_POINTS = 121


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
        Such as `credo.BayesianLinearRegression` or `credo.BayesianLogisticRegression`.
    pair : pair of int or str, default (0, 1)
        The columns; with more than two classes, indices into ``coef_.ravel()``.
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
    mode, cov, titles = _two_weights(model, pair)
    titles = titles if names is None else [str(name) for name in names]
    if len(titles) != 2:
        raise ValueError(f"names must name the two weights; got {names!r}")
    inner_first = sorted({interval_level(level) for level in levels})
    if not inner_first:
        raise ValueError("there is nothing to draw: levels is empty")
    df = float(model.posterior_.df) if isinstance(model, BayesianLinearRegression) else np.inf
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


def _two_weights(model: Any, pair: Sequence[int | str]) -> tuple[Vector, Array, list[str]]:
    """The mode, the covariance and the names of two weights."""
    known = feature_names(model)
    if not isinstance(model, BayesianLinearRegression | BayesianLogisticRegression | LinearRegression):
        raise TypeError(
            f"weight_posterior needs coef_ and coef_cov_, as BayesianLogisticRegression has them; a "
            f"{type(model).__name__} has none"
        )
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(coef) > 1:
        known = [f"{label}: {name}" for label in model.classes_ for name in known]
    chosen = pair_of("pair", pair, known, what="weight")
    cov = np.asarray(model.coef_cov_, dtype=np.float64)[np.ix_(chosen, chosen)]
    if not np.isfinite(cov).all():
        raise ValueError("the posterior of these weights has no finite covariance to draw")
    return coef.ravel()[chosen], cov, [known[place] for place in chosen]


def ellipse(mode: Vector, cov: Array, level: float, *, df: float = np.inf) -> Array:
    """The boundary of the smallest region of this probability, as x and y."""
    scale = cov if np.isinf(df) else cov * (df - 2) / df
    # F(2, ∞) is half a chi-squared of two degrees, whose quantile is −2 ln(1 − q).
    square = -2 * np.log1p(-level) if np.isinf(df) else 2 * fisher.ppf(level, 2, df)
    values, vectors = np.linalg.eigh(scale)
    half = vectors * np.sqrt(np.maximum(values, 0.0) * square)
    return mode[:, None] + half @ np.array([np.cos(_TURN), np.sin(_TURN)])


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
    # Zero is inside the axes unless the ellipse would fill less of an axis than this.
    if high - low > 0.15 * (with_zero[1] - with_zero[0]):
        low, high = with_zero
    margin = 0.08 * (high - low)
    return low - margin, high + margin


def _exact(ax: Axes, log_posterior: Callable[[Array], Any], levels: list[float]) -> None:
    """Contours of a log posterior, on axes half again as wide."""
    # The log density of two normal weights is −½r² = ln(1 − q) below its maximum at the boundary of level q.
    depths = [float(np.log1p(-level)) for level in levels[::-1]]
    for ends, widen in ((ax.get_xlim(), ax.set_xlim), (ax.get_ylim(), ax.set_ylim)):
        margin = 0.25 * (ends[1] - ends[0])
        widen(ends[0] - margin, ends[1] + margin)
    across, up = (np.linspace(*ends, _MESH_POINTS) for ends in (ax.get_xlim(), ax.get_ylim()))
    mesh = grid_rows(across, up)
    values = np.asarray(log_posterior(mesh), dtype=np.float64)
    if values.shape != (len(mesh),):
        raise ValueError(
            f"log_posterior must give one value for each of the {len(mesh)} weights of shape (n, 2); got {values.shape}"
        )
    below = np.reshape(values - np.nanmax(values), (_MESH_POINTS, _MESH_POINTS))
    ax.contour(across, up, below, levels=depths, colors=INK, linewidths=1.0, linestyles=[(0, (4, 2.5))], zorder=3)
    ax.plot([], [], color=INK, linewidth=1.0, dashes=(4, 2.5), label="exact posterior")
