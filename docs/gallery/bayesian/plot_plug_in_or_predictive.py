"""
Plug-in against posterior predictive, draws of lines and of quadratics
======================================================================

A plug-in prediction takes the best coefficients as if they were known. The posterior predictive averages over all
coefficients that the data allow, so it is wider where there are no data.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(4)
x = np.concatenate([rng.uniform(-2, -0.5, 6), rng.uniform(0.2, 0.6, 3)])[:, None]
y = 0.5 * x[:, 0] + 0.3 * rng.normal(size=9)
grid = np.linspace(-4, 4, 200)[:, None]

figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True, sharey="row", layout="constrained")
for row, degree in zip(axes, (1, 2), strict=True):
    features = credo.Polynomial(degree).fit(x)
    Phi, Phi_grid = features.transform(x), features.transform(grid)
    model = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=1 / 0.3**2).fit(Phi, y)
    predictive, plug_in = model.predict_dist(Phi_grid), model.plugin_dist(Phi_grid)
    for dist, color, label in ((predictive, "C0", "posterior predictive"), (plug_in, "C1", "plug-in")):
        lower, upper = dist.interval(0.95)
        row[0].fill_between(grid[:, 0], lower, upper, color=color, alpha=0.3, label=label)
    row[1].plot(grid, model.sample_functions(Phi_grid, 15, random_state=0).T, color="C0", linewidth=0.7)
    row[0].plot(grid, predictive.mean, color="C0")
    for ax in row:
        ax.plot(x, y, "o", color="k", markersize=4)
    inside = np.abs(grid[:, 0] + 1).argmin()
    print(f"degree {degree}: std at x = −1: {predictive.std[inside]:.2f}; at x = 4: {predictive.std[-1]:.2f};"
          f" plug-in everywhere {plug_in.std[0]:.2f}")  # fmt: skip
    assert np.allclose(plug_in.std, 0.3) and predictive.std[-1] > 1.5 * predictive.std[inside]
axes[0, 0].set(title="95 % intervals of a straight line", ylabel="y")
axes[1, 0].set(title="95 % intervals of a quadratic", ylabel="y", xlabel="x")
axes[0, 1].set(title="lines from the posterior")
axes[1, 1].set(title="quadratics from the posterior", xlabel="x")
axes[0, 0].legend(loc="upper left")

# %%
# **What to see.** Near the data both intervals have about the width of the noise. Away from them the plug-in interval
# keeps it, although the drawn lines, and more so the drawn quadratics, spread far apart. The predictive interval
# contains this spread.
