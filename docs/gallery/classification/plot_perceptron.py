"""
Perceptron and kernel perceptron
================================

The perceptron adds y φ(x) to its weights at every mistake, and stops if the classes are separable. Written with counts
of mistakes instead of weights, it needs only inner products, and so works with any kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.kernels import RBF

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-1.5, -1], 0.7, size=(30, 2)), rng.normal([1.5, 1], 0.7, size=(30, 2))])
y = np.repeat([0, 1], 30)
line = credo.Perceptron(random_state=0).fit(X, y)
phi = np.column_stack([X, np.ones(60)])
margin = ((2 * y - 1) * line.decision_function(X)).min() / np.linalg.norm([*line.coef_[0], line.intercept_[0]])
bound = (np.linalg.norm(phi, axis=1).max() / margin) ** 2
print(f"perceptron: mistakes in each pass {line.mistakes_.tolist()}, at most {bound:.0f} in all by Novikoff's theorem")
assert line.mistakes_[-1] == 0 and line.mistakes_.sum() <= bound

# %%
# Two rings can't be separated by a line. With an RBF kernel they can:

angle, radius = rng.uniform(0, 2 * np.pi, 120), np.repeat([1.0, 2.5], 60) + 0.2 * rng.normal(size=120)
rings, which = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.repeat(["inner", "outer"], 60)
curve = credo.KernelPerceptron(RBF(1.0), random_state=0).fit(rings, which)
print(f"kernel perceptron: {curve.result_.message}; {len(curve.support_)} of 120 rows have a coefficient")
assert curve.score(rings, which) == 1.0

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
credo.plots.decision_regions(line, X, y, ax=left)
credo.plots.decision_regions(curve, rings, which, ax=right)
right.scatter(*curve.support_vectors_.T, s=90, facecolor="none", edgecolor="k")
left.set(title="perceptron")
right.set(title="kernel perceptron")

# %%
# **What to see.** Left: any line without mistakes is a solution; the perceptron stops at the first that it finds, not
# at the one in the middle. Right: the boundary is a sum of kernels around the few rows on which a mistake was made
# (circled).
