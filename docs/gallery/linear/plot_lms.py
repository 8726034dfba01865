"""
LMS
===

The least-mean-squares rule w ← w + η (y − wᵀφ) φ takes one row at a time and keeps only the weights, so a stream of
any length can be fitted.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
w = np.array([1.0, -2.0])
X = rng.normal(size=(400, 2))
y = 0.5 + X @ w + 0.5 * rng.normal(size=400)
rules = {
    "step 0.01": credo.LMSRegression(step=0.01, random_state=0),
    "step 0.2": credo.LMSRegression(step=0.2, random_state=0),
    "automatic step, averaged": credo.LMSRegression(random_state=0),
}
paths = {name: [] for name in rules}
for row, target in zip(X, y, strict=True):
    for name, rule in rules.items():
        paths[name].append(rule.partial_fit(row[None], [target]).coef_)
paths = {name: np.array(path) for name, path in paths.items()}
least_squares = credo.LinearRegression().fit(X, y).coef_
last = {name: float(np.linalg.norm(path[-50:] - least_squares, axis=1).mean()) for name, path in paths.items()}
print("mean distance from least squares over the last 50 rows:", {name: round(d, 2) for name, d in last.items()})
assert min(last, key=last.get) == "automatic step, averaged"

# %%
# ``fit`` passes over the same rows several times and ends near least squares:

print(credo.LMSRegression(random_state=0).fit(X, y).coef_, least_squares)
assert np.allclose(credo.LMSRegression(random_state=0).fit(X, y).coef_, least_squares, atol=0.01)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, path in paths.items():
    left.plot(*path.T, linewidth=0.9, label=name)
    right.semilogy(np.linalg.norm(path - least_squares, axis=1), linewidth=0.9, label=name)
left.plot(*least_squares, "k*", markersize=12, label="least squares")
left.set(xlabel="w₁", ylabel="w₂")
right.set(xlabel="rows seen", ylabel="distance from least squares")
right.legend(fontsize="small")

# %%
# **What to see.** A small step is slow, a large one keeps moving about the solution with the noise. The automatic step
# is large at first and then falls, and the average of its iterates ends closest to least squares.
