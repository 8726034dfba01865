"""What every exported kernel keeps, alone and composed: symmetry, positivity, derivatives, names."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
import credo.kernels as room
from credo.core.params import LogNormal
from credo.gp import GPRegressor
from credo.kernels import RBF, Columns, Constant, Exp, Function, Kernel, Linear, Periodic, Product, Sum, check_kernel
from credo.tables import ModelFileError

RNG = np.random.default_rng(5)
ROWS = np.vstack([RNG.normal(size=(24, 3)) * [1.0, 2.0, 0.5] + 3, np.full((1, 3), 3.0), np.full((1, 3), 3.0)])
CODES = RNG.integers(0, 3, size=(26, 3)).astype(float)
WEIGHTS = RNG.normal(size=(26, 26))

# One example of each class at values where every derivative is at work; a class without one fails the test below.
EXAMPLES: dict[str, Kernel] = {
    "RBF": room.RBF([0.8, 2.0, 3.0], variance=1.7),
    "Exponential": room.Exponential([0.8, 2.0, 3.0], variance=0.6),
    "Matern32": room.Matern32(1.4, variance=2.0),
    "Matern52": room.Matern52([0.8, 2.0, 3.0]),
    "RationalQuadratic": room.RationalQuadratic([0.8, 2.0, 3.0], shape=0.7, variance=0.4),
    "Periodic": room.Periodic([0.8, 2.0, 1.0], period=[3.0, 2.0, 1.5], variance=0.3),
    "ZeroMeanPeriodic": room.ZeroMeanPeriodic(0.8, period=3.0, variance=0.3).on(1),
    "Harmonic": room.Harmonic(period=3.0, quality=2.0, variance=0.7).on(1),
    "Cosine": room.Cosine(period=3.0, variance=0.6).on(0),
    "Linear": room.Linear([0.5, 1.0, 2.0], center=[1.5, 0.0, -0.5], scale=[1.0, 2.0, 0.5]),
    "Polynomial": room.Polynomial(3, offset=0.7, variance=0.2),
    "Constant": Constant(2.5),
    "White": room.White(0.3),
    "Categorical": room.Categorical(0.4, variance=1.2),
    "Sum": room.RBF(1.0) + room.White(0.1) + 2.0 * room.Matern32(2.0),
    "Product": room.RBF(1.0) * room.Linear(0.5) * room.Periodic(1.0, period=2.0),
    "Exp": (0.3 * room.RBF(1.0) + 0.1 * room.Matern52(2.0)).exp(),
    "Columns": room.RBF([1.0, 2.0]).on([0, 2]),
    "Function": room.from_function(lambda x, z: float(np.exp(-np.abs(x - z).sum())), variance=0.5),
}
# The textbook's θ₀ exp(−½θ₁‖·‖²) + θ₂ + θ₃ xᵀx′ in one line.
TEXTBOOK = 1.3 * room.RBF(0.5) + 0.7 + 0.2 * room.Linear()


def test_every_exported_kernel_has_its_example():
    classes = {name for name in room.__all__ if inspect.isclass(getattr(room, name))} - {"Kernel", "KernelCheck"}
    assert classes == set(EXAMPLES)


each = pytest.mark.parametrize("kernel", [*EXAMPLES.values(), TEXTBOOK], ids=repr)


def rows_for(kernel):
    return CODES if isinstance(kernel, room.Categorical) else ROWS


def parts(kernel):
    """The kernels that sums, products and choices of columns are made of."""
    inner = [kernel.kernel] if isinstance(kernel, Columns) else getattr(kernel, "terms", [])
    return [part for term in inner for part in parts(term)] or [kernel]


def has_features(kernel):
    """Random features are optional, and white noise can't have any."""
    return type(kernel)._spectrum is not Kernel._spectrum and not isinstance(kernel, room.White)


def without_noise(kernel):
    """The kernel with a negligible variance of its white noise, which `cross` doesn't have."""
    return kernel.with_params(**{path: 1e-290 for path in kernel.tree.paths if noisy(kernel, path)})


def noisy(kernel, path):
    return path == "white.variance" or (path == "variance" and isinstance(kernel, room.White))


def finite_differences(kernel, function):
    """The derivatives of a function of the kernel by every entry of its parameters, by central differences."""
    slopes = []
    for path in kernel.tree.paths:
        value = np.atleast_1d(kernel.params[path]).astype(float)
        for i in range(len(value)):
            at = []
            for sign in (1, -1):
                moved = value.copy()
                moved[i] *= 1 + sign * 1e-5
                at.append(function(kernel.with_params(**{path: moved if np.ndim(kernel.params[path]) else moved[0]})))
            slopes.append((at[0] - at[1]) / (2e-5 * value[i]))
    return np.array(slopes)


@each
def test_gram_is_symmetric_and_positive_semidefinite(kernel):
    K = kernel.gram(rows_for(kernel))
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.abs(K).max()
    assert check_kernel(kernel, rows_for(kernel))


@each
def test_diagonal_and_cross_agree_with_gram(kernel):
    X = rows_for(kernel)
    K = kernel.gram(X)
    triangle = np.full_like(K, np.nan)
    kernel.fill(X, triangle)
    np.testing.assert_array_equal(np.triu(triangle), np.triu(K))
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(kernel.cross(X[:7], X[9:]), kernel.cross(X[9:], X[:7]).T, rtol=1e-12)
    np.testing.assert_allclose(kernel.cross(X, X), without_noise(kernel).gram(X), rtol=1e-9, atol=1e-12)


@each
def test_pullbacks_are_the_derivatives(kernel):
    """Of Σ W∘K, of Σ W∘k(X, Z) for a rectangle, and of Σ w∘k(x, x), to 1e-6 of the largest."""
    X = rows_for(kernel)
    Z, rectangle, w = X[5:14], WEIGHTS[:, :9], WEIGHTS[0]
    for found, function in [
        (kernel.pullback(X, WEIGHTS), lambda k: np.sum(WEIGHTS * k.gram(X))),
        (kernel.pullback_cross(X, Z, rectangle), lambda k: np.sum(rectangle * k.cross(X, Z))),
        (kernel.pullback_diagonal(X, w), lambda k: np.sum(w * k.diagonal(X))),
    ]:
        numeric = finite_differences(kernel, function)
        assert found.shape == (len(kernel.names),)
        np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max() + 1e-9)


@each
def test_pullbacks_agree(kernel):
    """A triangle, the whole matrix and the rectangle of a table with itself; white noise is in all but the last."""
    X, W = rows_for(kernel), WEIGHTS + WEIGHTS.T
    whole = kernel.pullback(X, W)
    triangle = np.where(np.tri(26, k=-1, dtype=bool), np.nan, W)
    np.testing.assert_allclose(kernel.pullback(X, triangle, triangle=True), whole, rtol=1e-12)
    shared = [not noisy(kernel, name) for name in kernel.names]
    np.testing.assert_allclose(kernel.pullback_cross(X, X, W)[shared], whole[shared], rtol=1e-9, atol=1e-9)
    only_diagonal = kernel.pullback(X, np.diag(W[0]))
    np.testing.assert_allclose(kernel.pullback_diagonal(X, W[0]), only_diagonal, rtol=1e-9, atol=1e-9)
    first = kernel.tree.paths[0]
    for own in (kernel.fix(), kernel.fix(first)):
        free = [name in own.names for name in kernel.names]
        np.testing.assert_array_equal(own.pullback_cross(X, X, W), kernel.pullback_cross(X, X, W)[free])
        np.testing.assert_array_equal(own.pullback_diagonal(X, W[0]), kernel.pullback_diagonal(X, W[0])[free])


SERIES = [
    room.Matern52(0.7) * room.Exponential([2.0]),
    room.Periodic(0.7, period=2.0) + room.Linear(0.4, center=1.0),
    room.Harmonic(2.0, quality=5.0),
    room.Harmonic(2.0, quality=0.2) + room.Cosine(1.5, variance=0.4),
    room.Harmonic(2.0, quality=0.7) * room.Matern32(4.0),
]


@pytest.mark.parametrize("kernel", [*EXAMPLES.values(), *SERIES], ids=repr)
def test_the_state_space_form_has_the_kernel_s_covariance_or_says_that_there_is_none(kernel):
    try:
        form = kernel.state_space()
    except (NotImplementedError, ValueError) as caught:
        assert "no state-space form" in str(caught) or "X has only 1" in str(caught)
        return
    # The states of one column have the kernel's covariance.
    t = np.sort(RNG.uniform(0, 4, 6))
    K, g = np.zeros((6, 6)), form.observation(t)
    for j in range(6):
        A, start = form.transitions(np.abs(t - t[j]))[0], 0
        for b, term in enumerate(form.terms):
            end = start + term.size**2
            moved = A[:, start:end].reshape(6, term.size, term.size) @ term.covariance
            K[:, j] += g[:, b] * g[j, b] * moved[:, 0, 0]
            start = end
    np.testing.assert_allclose(K, kernel.gram(t[:, None]), rtol=1e-11, atol=1e-11)


@each
def test_input_pullback_is_the_derivative(kernel):
    X = ROWS.copy()[:24]
    if isinstance(kernel, Function):
        with pytest.raises(ValueError, match="no derivative with respect to its inputs"):
            kernel.pullback_inputs(X, WEIGHTS[:24, :24])
        return
    found = kernel.pullback_inputs(X, WEIGHTS[:24, :24])
    for i, d in [(0, 0), (7, 1), (23, 2)]:
        at = []
        for sign in (1, -1):
            moved = X.copy()
            moved[i, d] += sign * 1e-5
            at.append(np.sum(WEIGHTS[:24, :24] * kernel.gram(moved)))
        assert found[i, d] == pytest.approx((at[0] - at[1]) / 2e-5, rel=1e-5, abs=1e-5)


@each
def test_names_fix_and_priors(kernel):
    assert len(kernel.names) == len(kernel.tree.flatten())
    assert kernel.fix().names == []
    assert kernel.fix().pullback(rows_for(kernel), WEIGHTS).shape == (0,)
    first = kernel.tree.paths[0]
    assert not any(name.split("[")[0] == first for name in kernel.fix(first).names)
    assert kernel.with_prior(first, LogNormal(1.0, 1.0)).tree[first].prior == LogNormal(1.0, 1.0)
    again = kernel.with_params(**{path.replace(".", "__"): value for path, value in kernel.params.items()})
    assert again == kernel and hash(again) == hash(kernel) and repr(again) == repr(kernel)
    with pytest.raises(ValueError, match=r"nonsense|no parameter"):
        kernel.with_params(nonsense=1.0)


@each
def test_draws_have_the_gram_as_covariance(kernel):
    """4000 draws: the standard error of a covariance entry is about √2/63 of its scale."""
    X = rows_for(kernel)[:6]
    K = kernel.gram(X)
    for method in ("cholesky", "eigh"):
        draws = kernel.sample(X, 4000, random_state=1, method=method)
        assert draws.shape == (4000, 6)
        scale = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        assert (np.abs(np.cov(draws.T, bias=True) - K) < 0.15 * scale).all()


@each
def test_features_have_the_gram_as_covariance_or_are_refused(kernel):
    """The mean of 40 draws of ΦΦᵀ is K within six standard errors; one draw of 2048 features is within 0.1 of it."""
    X = rows_for(kernel)
    center = X.mean(axis=0)
    if not all(has_features(part) for part in parts(kernel)):
        with pytest.raises(ValueError, match=r"can't be drawn everywhere.*sample\(X\)"):
            kernel.features(center, 256, np.random.default_rng(0))
        return
    K = kernel.gram(X)
    scale = np.sqrt(np.outer(np.diag(K), np.diag(K)))
    rng = np.random.default_rng(3)
    found = np.array([Phi @ Phi.T for Phi in (kernel.features(center, 256, rng)(X) for _ in range(40))])
    error = found.std(axis=0, ddof=1) / np.sqrt(40)
    assert (np.abs(found.mean(axis=0) - K) < 6 * error + 1e-8 * scale).all()
    Phi = kernel.features(center, 2048, rng)(X)
    assert np.abs((Phi @ Phi.T - K) / scale).max() < 0.1


primitives = st.sampled_from(
    [k for name, k in EXAMPLES.items() if name not in {"Categorical", "Function", "Polynomial"}]
)


@st.composite
def compositions(draw):
    kernel = draw(primitives)
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from(["+", "*", "scale", "on", "add number"]))
        if step == "+":
            kernel = kernel + draw(primitives)
        elif step == "*":
            kernel = kernel * draw(primitives)
        elif step == "scale":
            kernel = draw(st.floats(0.1, 3.0)) * kernel
        elif step == "add number":
            kernel = draw(st.floats(0.1, 3.0)) + kernel
        else:
            kernel = kernel + room.Matern52(1.0).on(draw(st.sampled_from([0, 1, [0, 2], slice(1, 3)])))
    return kernel


@settings(max_examples=40, deadline=None)
@given(compositions())
def test_random_compositions_are_kernels_with_right_derivatives(kernel):
    X = ROWS[:12]
    W = WEIGHTS[:12, :12]
    K = kernel.gram(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.abs(K).max()
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-10)
    vector, tree = kernel.tree.flatten(), kernel.tree
    slopes = kernel.pullback(X, W) * tree.derivative(vector)
    direction = np.random.default_rng(0).normal(size=len(vector))
    ahead, behind = (
        np.sum(W * kernel.with_tree(tree.unflatten(vector + s * direction)).gram(X)) for s in (1e-5, -1e-5)
    )
    assert slopes @ direction == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-6 * np.abs(K).max())


def test_algebra_flattens_and_prints():
    k = 1.3 * room.RBF([0.2, 14]) + room.White(0.01)
    assert repr(k) == "1.3 * RBF(lengthscale=[0.2, 14]) + White(0.01)"
    assert isinstance((k + k), Sum) and len((k + k).terms) == 4
    assert repr((room.RBF() + 1.0) * room.Linear()) == "(RBF(lengthscale=1) + Constant(1)) * Linear(variance=1)"
    assert list((k + room.RBF()).params) == [
        "rbf.lengthscale", "rbf.variance", "white.variance", "rbf2.lengthscale", "rbf2.variance",
    ]  # fmt: skip
    assert isinstance(room.RBF().exp(), Exp) and isinstance(room.RBF() * room.RBF(), Product)
    assert isinstance(room.RBF().on(1), Columns)


def test_the_diagonal_is_exact_and_duplicates_are_at_distance_zero():
    K = room.RBF([0.1, 0.2, 0.3]).gram(ROWS * 1e8)
    assert (np.diag(K) == 1.0).all() and K[24, 25] == 1.0


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_offsets_cost_no_digits(offset):
    """Inputs of scale 1 near 1e8 keep the eight digits that doubles leave them."""
    near, far = room.Matern52(0.7).gram(ROWS), room.Matern52(0.7).gram(ROWS + offset)
    np.testing.assert_allclose(far, near, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: room.RBF([1.0, 2.0]).gram(ROWS), "2 length scales, but X has 3 columns"),
        (lambda: room.RBF().cross(ROWS, ROWS[:, :2]), "X has 3 columns and Z has 2"),
        (lambda: room.RBF().pullback(ROWS, np.eye(3)), r"W must have shape \(26, 26\)"),
        (lambda: room.RBF().fill(ROWS, np.empty((3, 3))), r"K must have shape \(26, 26\)"),
        (lambda: room.RBF().pullback(ROWS, np.eye(3), triangle=True), r"W must have shape \(26, 26\)"),
        (lambda: room.RBF().pullback_inputs(ROWS, np.eye(3)), r"W must have shape \(26, 26\)"),
        (lambda: room.RBF().pullback_cross(ROWS, ROWS[:4], np.ones((4, 26))), r"W must have shape \(26, 4\)"),
        (lambda: room.RBF().pullback_cross(ROWS, ROWS[:, :2], WEIGHTS), "X has 3 columns and Z has 2"),
        (lambda: room.RBF().pullback_diagonal(ROWS, np.ones(4)), r"w must have shape \(26,\)"),
        (lambda: room.RBF(-1.0), "must be positive"),
        (lambda: room.RBF().gram([[np.nan]]), "NaN"),
        (lambda: room.RBF().on(5).gram(ROWS), "columns \\[5\\], but X has only 3"),
        (lambda: room.Polynomial(0), "degree must be an integer"),
        (lambda: -2.0 * room.RBF(), "must be positive"),
        (lambda: room.from_function(lambda x, z: -float(x @ z)).gram(ROWS), "not positive semidefinite"),
        (lambda: room.from_function(lambda x, z: np.nan).gram(ROWS), "returned nan for rows 0 and 0"),
        (lambda: room.RBF().sample(ROWS, method="svd"), 'method must be "cholesky" or "eigh"'),
    ],
)
def test_errors_in_words(call, message):
    with pytest.raises((ValueError, np.linalg.LinAlgError), match=message):
        call()


def test_what_is_no_kernel_is_said_so():
    lopsided = check_kernel(lambda x, z: float(x[0] - z[0]), ROWS)
    assert not lopsided and not lopsided.symmetric and "not symmetric" in lopsided.message
    indefinite = check_kernel(lambda x, z: -float(np.abs(x - z).sum()), ROWS)
    assert not indefinite and indefinite.symmetric and indefinite.worst_eigenvalue < -1


@each
def test_files_carry_it(kernel, tmp_path):
    if isinstance(kernel, Function):
        with pytest.raises(ModelFileError, match="function"):
            credo.save(GPRegressor(kernel), tmp_path / "k.credo")
        return
    credo.save(GPRegressor(kernel), tmp_path / "k.credo")
    back = credo.load(tmp_path / "k.credo").kernel
    assert back == kernel and repr(back) == repr(kernel)
    np.testing.assert_array_equal(back.gram(rows_for(kernel)), kernel.gram(rows_for(kernel)))


def test_a_number_times_a_kernel_scales_the_kernel():
    X = np.random.default_rng(0).normal(size=(5, 2))
    for kernel in (RBF(0.7, variance=0.5).exp(), RBF(0.7, variance=0.5).exp().on([0]), Linear(), Periodic().on([1])):
        np.testing.assert_allclose((3.0 * kernel).gram(X), 3.0 * kernel.gram(X), rtol=1e-12)
