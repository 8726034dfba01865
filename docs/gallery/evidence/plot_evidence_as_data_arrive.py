r"""
Evidence of a line and of a quadratic as data arrive
====================================================

The evidence is a product of one-step predictions, :math:`p(y) = \prod_n p(y_n \mid y_1 \ldots y_{n-1})`. So one can
watch it while rows arrive: a model gains on another one with every row that it predicts better.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(5)
x = rng.uniform(-1, 1, size=(60, 1))
truths = {"the truth is a line": 0.0, "the truth is a quadratic": 0.7}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained", height_ratios=(1.2, 1))
final = {}
for (top, bottom), (name, curvature) in zip(axes.T, truths.items(), strict=True):
    y = 0.3 + 0.8 * x[:, 0] + curvature * (2 * x[:, 0] ** 2 - 0.7) + 0.4 * rng.normal(size=60)
    evidence, grid = {}, np.linspace(-1, 1, 100)[:, None]
    top.plot(x, y, "o", color="0.4", markersize=3)
    for degree, label, color in ((1, "line", "C0"), (2, "quadratic", "C1")):
        Phi = credo.Polynomial(degree, scale=False, include_constant=True).fit(x)
        model = credo.BayesianLinearRegression(prior_precision=1.0, noise_precision=1 / 0.4**2, fit_intercept=False)
        steps = []
        for n in range(60):
            row = Phi.transform(x[n : n + 1])
            before = model.predict_dist(row).log_prob(y[n])[0] if n else None
            model.partial_fit(row, y[n : n + 1])
            steps.append(model.log_evidence_ if before is None else before)
        evidence[label] = np.cumsum(steps)
        assert np.isclose(evidence[label][-1], model.log_evidence_)
        top.plot(grid, model.predict(Phi.transform(grid)), color=color, label=label)
    share = 1 / (1 + np.exp(evidence["quadratic"] - evidence["line"]))
    final[name] = float(share[-1])
    bottom.plot(np.arange(1, 61), share, color="C0", label="line")
    bottom.plot(np.arange(1, 61), 1 - share, color="C1", label="quadratic")
    bottom.set(xlabel="rows seen", ylabel="probability of the model", ylim=(-0.05, 1.05))
    top.set(title=name, xlabel="x", ylabel="y")
axes[0, 0].legend()
print("probability of the line after 60 rows:", {name: round(p, 3) for name, p in final.items()})
assert final["the truth is a line"] > 0.6 and final["the truth is a quadratic"] < 1e-3

# %%
# **What to see.** If the truth bends, a few rows rule out the line. If it is straight, the quadratic fits as well and
# loses only because it spread its predictions over curves that didn't occur; so the preference for the line grows
# slowly. The last value of each sum is the log evidence of the fit to all rows at once.
