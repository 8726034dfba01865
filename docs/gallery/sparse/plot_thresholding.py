"""
Soft and hard thresholding
==========================

With orthonormal columns the lasso moves each least-squares coefficient towards zero by δ and sets small ones to zero
(soft thresholding). Selecting columns keeps large ones as they are (hard thresholding).
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

a = np.linspace(-3, 3, 301)
soft, hard = credo.soft_threshold(a, 1.0), credo.hard_threshold(a, 1.0)

# %%
# Both are minima; compared with a search on a grid, and soft thresholding with the lasso on orthonormal columns:

w = np.linspace(-4, 4, 8001)
least = w[np.argmin(0.5 * (w - a[:, None]) ** 2 + np.abs(w), axis=1)]
assert np.allclose(soft, least, atol=1e-3)
Q = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 5)))[0]
y = Q @ [3.0, -2.0, 1.2, 0.5, -0.3]
lasso = credo.Lasso(alpha=1.0 / 50, fit_intercept=False).fit(Q, y)
print("least squares:", (Q.T @ y).round(2), " lasso:", lasso.coef_.round(2))
assert np.allclose(lasso.coef_, credo.soft_threshold(Q.T @ y, 1.0), atol=1e-4)

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.plot(a, a, ":", color="0.5", label="least squares")
ax.plot(a, soft, label="soft: lasso")
ax.plot(a, np.where(np.abs(np.abs(a) - 1) < 0.011, np.nan, hard), label="hard: subset selection")
ax.plot(a, a / 2, "--", color="C2", label="ridge (α = 1)")
ax.set(xlabel="least-squares coefficient", ylabel="estimate")
ax.legend()

# %%
# **What to see.** Both set coefficients below the threshold of 1 to zero. Soft thresholding is continuous and shrinks
# all others by 1; hard thresholding jumps and leaves them as they are. Ridge shrinks in proportion and sets none to
# zero.
