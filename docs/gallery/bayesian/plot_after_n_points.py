"""
Bayesian regression after N = 1, 2, 4 and 25 points
===================================================

The posterior after N points is the prior for the next one. Nine Gaussian basis functions describe a sinusoid of
unknown shape; prior and noise precision are known.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(2)
x = rng.uniform(0, 1, size=(25, 1))
y = np.sin(2 * np.pi * x[:, 0]) + 0.2 * rng.normal(size=25)
grid = np.linspace(0, 1, 200)[:, None]
features = credo.Radial(centers=np.linspace(0, 1, 9)[:, None], width=0.125).fit(x)
Phi_grid = features.transform(grid)

model = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=25.0, fit_intercept=False)
figure, axes = plt.subplots(2, 4, figsize=(13, 6), sharex=True, sharey=True, layout="constrained")
seen, widths = 0, []
for (top, bottom), n in zip(axes.T, (1, 2, 4, 25), strict=True):
    model.partial_fit(features.transform(x[seen:n]), y[seen:n])
    seen = n
    latent = model.predict_dist(Phi_grid, latent=True)
    widths.append(latent.std.mean())
    credo.plots.band(grid, latent, data=(x[:n], y[:n]), ax=top)
    top.set(title=f"N = {n}", ylim=(-2.5, 2.5), xlabel="")
    top.get_legend().remove()
    bottom.plot(grid, model.sample_functions(Phi_grid, 6, random_state=1).T, color="C0", linewidth=0.8)
    bottom.plot(grid, np.sin(2 * np.pi * grid), "--", color="0.4")
    bottom.plot(x[:n], y[:n], "o", color="k", markersize=3)
    bottom.set(xlabel="x")
print("mean standard deviation of f:", np.round(widths, 2))
whole = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=25.0, fit_intercept=False)
assert np.allclose(whole.fit(features.transform(x), y).coef_, model.coef_) and np.all(np.diff(widths) < 0)

# %%
# **What to see.** Top: mean and 95 % band of f. Each point narrows the band around itself, and 25 narrow it
# everywhere. Bottom: functions drawn from the posterior; after one point they agree only there, after 25 all follow
# the sinusoid (dashed). Adding points one batch at a time gives the same coefficients as fitting all at once.
