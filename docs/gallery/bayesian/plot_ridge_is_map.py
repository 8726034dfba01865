r"""
Ridge = MAP
===========

Under the prior :math:`w \sim N(0, \alpha^{-1}I)` and noise of precision β, the log posterior is, up to a constant,
:math:`-\frac{\beta}{2}\|y - Xw\|^2 - \frac{\alpha}{2}\|w\|^2`. Its maximum (MAP) is the ridge estimate with the
penalty α/β.
"""

import numpy as np

import credo

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2)) @ [[1.0, 0.9], [0.0, 0.4]]
y = X @ [1.0, -0.5] + rng.normal(size=20)

alpha, beta = 5.0, 1.0
ridge = credo.Ridge(alpha=alpha / beta).fit(X, y)
bayes = credo.BayesianLinearRegression(prior_precision=alpha, noise_precision=beta).fit(X, y)
print("ridge:", ridge.coef_, " posterior mean:", bayes.coef_)
assert np.allclose(ridge.coef_, bayes.coef_)

# %%
path = np.array([credo.Ridge(alpha=a).fit(X, y).coef_ for a in np.logspace(-3, 4, 60)])
Xc, yc = X - X.mean(axis=0), y - y.mean()


def log_posterior(w):
    return -beta / 2 * ((yc - w @ Xc.T) ** 2).sum(axis=1) - alpha / 2 * (w**2).sum(axis=1)


ax = credo.plots.weight_posterior(bayes, log_posterior=log_posterior, names=["x₁", "x₂"])
ax.plot(*path.T, color="C1", linewidth=1.5, zorder=3)
ax.plot(*path[0], "s", color="C1", label="least squares")
ax.set(xlim=(-0.8, 2), ylim=(-1.2, 1.2))
ax.legend()
assert np.abs(path[-1]).max() < 0.01

# %%
# **What to see.** The ellipses are the posterior of the two coefficients. As the penalty grows, the ridge estimate
# moves along the orange path from least squares to zero; at α/β = 5 it is at the posterior's maximum.
