r"""
Laplace's posterior, plug-in against Monte-Carlo predictive
===========================================================

Laplace's method approximates the posterior of the weights by a Gaussian at its mode, with the curvature :math:`S^{-1}
= \alpha I + \sum_i p_i(1 - p_i) x_i x_i^\top`. Credo's ``BayesianLogisticRegression`` takes the Gaussian that is
closest in the variational sense. Both average predictions over the weights, where the plug-in takes the mode.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(3)
X = np.vstack([rng.normal([-1, 0], 1.0, size=(8, 2)), rng.normal([1, 0.7], 1.0, size=(8, 2))])
y = np.repeat([-1, 1], 8)
alpha = 0.3

mode = credo.LogisticRegression(alpha=alpha, fit_intercept=False).fit(X, y).coef_[0]
p = 1 / (1 + np.exp(-X @ mode))
S = np.linalg.inv(alpha * np.eye(2) + (X.T * (p * (1 - p))) @ X)


def log_posterior(w):
    return -np.logaddexp(0, -(w @ X.T) * y).sum(axis=1) - alpha / 2 * (w**2).sum(axis=1)


bayes = credo.BayesianLogisticRegression(
    prior_precision=alpha, fit_intercept=False, predictive="monte_carlo", n_draws=4000, random_state=0
).fit(X, y)
plug_in = credo.BayesianLogisticRegression(prior_precision=alpha, fit_intercept=False, predictive="plugin").fit(X, y)
far = np.array([[-6.0, 5.0]])
draws = rng.multivariate_normal(mode, S, size=4000)
laplace = np.mean(1 / (1 + np.exp(-far @ draws.T)))
print(f"at {far[0]}: plug-in {plug_in.predict_proba(far)[0, 1]:.3f}, Monte Carlo {bayes.predict_proba(far)[0, 1]:.3f},"
      f" Laplace's posterior {laplace:.3f}")  # fmt: skip
grid = np.stack(np.meshgrid(np.linspace(-2, 9, 200), np.linspace(-3, 6, 200)), axis=-1).reshape(-1, 2)
density = np.exp(log_posterior(grid) - log_posterior(mode[None]))
mean = density @ grid / density.sum()
print(f"posterior mean: exact {mean.round(2)}, closest Gaussian {bayes.coef_[0].round(2)}, Laplace {mode.round(2)}")
assert np.linalg.norm(bayes.coef_[0] - mean) < 0.3 * np.linalg.norm(mode - mean)
assert abs(bayes.predict_proba(far)[0, 1] - 0.5) < abs(plug_in.predict_proba(far)[0, 1] - 0.5)

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
credo.plots.weight_posterior(bayes, log_posterior=log_posterior, ax=axes[0])
angle = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(angle), np.sin(angle)])
for level, style in ((0.5, "--"), (0.9, "--")):
    ring = mode[:, None] + np.linalg.cholesky(S) @ circle * np.sqrt(-2 * np.log(1 - level))
    axes[0].plot(*ring, style, color="C1", label="Laplace" if level == 0.5 else None)
axes[0].legend()
side = np.linspace(-7, 7, 120)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
for ax, model, title in ((axes[1], plug_in, "plug-in"), (axes[2], bayes, "Monte-Carlo predictive")):
    surface = model.predict_proba(plane)[:, 1].reshape(120, 120)
    shown = ax.contourf(side, side, surface, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    ax.contour(side, side, surface, levels=[0.1, 0.25, 0.5, 0.75, 0.9], colors="k", linewidths=0.7)
    ax.scatter(*X.T, c=np.where(y > 0, "tab:red", "tab:blue"), edgecolor="w", s=35)
    ax.set(title=title)
figure.colorbar(shown, ax=axes[2], label="probability")

# %%
# **What to see.** Left: the exact posterior (dashed) is skewed towards large weights. Laplace's ellipses (orange),
# centered at the mode, lie too close to zero; those of the closest Gaussian have nearly the right center. Middle: the
# plug-in's contours are parallel, however far from the data. Right: averaged over the weights they fan out, and
# between the classes probabilities stay moderate.
