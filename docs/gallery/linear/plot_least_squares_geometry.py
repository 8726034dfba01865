r"""
Least-squares geometry: hat matrix and residual orthogonality
=============================================================

Least squares projects the vector of targets onto the space that the columns span: :math:`\hat y = Hy` with the hat
matrix :math:`H = X(X^\top X)^{-1}X^\top`. What is left, the residuals, is orthogonal to every column.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 30))
x[-1] = 16.0
y = 1.0 + 0.5 * x + rng.normal(size=30)
model = credo.LinearRegression().fit(x[:, None], y)

H = model.hat_matrix()
residuals = y - model.predict(x[:, None])
print(f"H is a projection: largest entry of HH − H is {np.abs(H @ H - H).max():.1e}")
print(f"its trace is the number of parameters: {np.trace(H):.6f}")
print(f"residuals · 1 = {residuals.sum():.1e}, residuals · x = {residuals @ x:.1e}")
assert np.allclose(H @ y, model.predict(x[:, None])) and np.allclose(H @ H, H)

# %%
# The diagonal of the hat matrix is the leverage of each row: how much a fitted value moves with its own target.

leverage = model.leverage()
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.scatter(x, y, c=leverage, cmap="viridis_r", zorder=3)
left.plot(x, H @ y, color="C0")
left.vlines(x, y, H @ y, color="0.6", linewidth=0.8)
left.set(xlabel="x", ylabel="y", title="residuals")
image = right.imshow(H, cmap="RdBu_r", vmin=-0.4, vmax=0.4)
right.set(title="hat matrix", xlabel="row of y", ylabel="fitted value")
figure.colorbar(image, ax=right)
print(f"leverage of the last row: {leverage[-1]:.2f}; average: {leverage.mean():.2f}")
assert leverage.argmax() == 29 and leverage[-1] > 4 * leverage.mean()

# %%
# **What to see.** Each fitted value is a weighted sum of the targets; its weights are a row of the hat matrix. The
# last row of the data lies far from the others: it has the largest leverage, more than four times the average of 2/30,
# and pulls the line towards itself.

# %%
# With three rows and two columns the geometry can be drawn: a table's columns and its targets are vectors in a space
# with one axis for each row.

columns, target = np.array([[1.0, 0.2], [0.3, 1.0], [0.2, 0.3]]), np.array([0.8, 0.9, 1.4])
small = credo.LinearRegression(fit_intercept=False).fit(columns, target)
fitted = small.predict(columns)
print("residual · columns:", (columns.T @ (target - fitted)).round(12))
assert np.allclose(columns.T @ (target - fitted), 0)
figure = plt.figure(figsize=(6, 5), layout="constrained")
ax = figure.add_subplot(projection="3d")
origin, corner = np.zeros(3), 1.3 * columns
sheet = np.array([[origin, corner[:, 0]], [corner[:, 1], corner.sum(axis=1)]])
ax.plot_surface(*np.moveaxis(sheet, 2, 0), alpha=0.2, color="C0")
for vector, color, label in (
    (columns[:, 0], "C0", "x₁"), (columns[:, 1], "C0", "x₂"), (target, "k", "y"), (fitted, "C3", "ŷ")
):  # fmt: skip
    ax.quiver(*origin, *vector, color=color, arrow_length_ratio=0.08)
    ax.text(*(1.06 * vector), label, color=color, size=13)
ax.plot(*np.column_stack([fitted, target]), "--", color="0.4")
ax.set(xlabel="row 1", ylabel="row 2", zlabel="row 3", box_aspect=(1, 1, 1))
ax.set(xlim=(0, 1.6), ylim=(0, 1.6), zlim=(0, 1.6))
ax.view_init(18, -55)

# %%
# **What to see.** Whatever the coefficients, predictions are in the plane that the columns span. The fitted ŷ is the
# foot of the perpendicular from y: the residual (dashed) is orthogonal to both columns.
