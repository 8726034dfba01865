"""
Linear against quadratic logistic regression by BIC, with description lengths
=============================================================================

A quadratic boundary has five features where a linear one has two. BIC charges ½ ln n for each of them; divided by ln 2
it is a length in bits: what it takes to write down the parameters, and then the labels with their help.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)


def draw(n, curvature):
    X = rng.normal(size=(n, 2))
    return X, rng.random(n) < 1 / (1 + np.exp(-3 * (X[:, 0] - X[:, 1] + curvature * (X[:, 0] ** 2 - 1))))


tables = {"linear truth": draw(150, 0.0), "quadratic truth": draw(150, 0.8)}
models = {d: make_pipeline(credo.Polynomial(d), credo.LogisticRegression()) for d in (1, 2)}
names = {1: "linear", 2: "quadratic"}

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
print(f"{'data':16} {'model':10} {'labels':>8} {'parameters':>11} {'total bits':>11} {'BIC':>8}")
for ax, (truth, (X, y)) in zip(axes, tables.items(), strict=True):
    total = {}
    for degree, model in models.items():
        last = model.fit(X, y)[-1]
        labels = -last.log_likelihood_ / np.log(2)
        total[degree] = credo.description_length(model)
        bits = total[degree] - labels
        print(f"{truth:16} {names[degree]:10} {labels:8.1f} {bits:11.1f} {total[degree]:11.1f} {credo.bic(model):8.1f}")
        assert np.isclose(bits, last.n_parameters_ / 2 * np.log2(150))
    best = min(total, key=total.get)
    assert names[best] in truth
    credo.plots.decision_regions(models[best].fit(X, y), X, y, ax=ax)
    ax.set(title=f"{truth}: {names[best]} model, {total[best]:.0f} bits against {total[3 - best]:.0f}")

# %%
# **What to see.** Where the truth is linear, the quadratic model describes the labels in slightly fewer bits, but its
# three further parameters cost more than that. Where the truth is quadratic, they pay. Each panel shows the model with
# the shorter description; labels sent one by one would take 150 bits.
