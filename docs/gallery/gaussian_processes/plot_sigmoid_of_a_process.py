r"""
A process through a sigmoid
===========================

A classifier needs a function between 0 and 1. A Gaussian process f passed through the sigmoid, :math:`\sigma(f(x))`, is
a random function with this range (Bishop, figure 6.11); labels are drawn with it as their probability.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import credo
from credo.kernels import RBF

x = np.linspace(-1, 1, 200)[:, None]
kernel = RBF(0.25, variance=9.0)
f = kernel.sample(x, 3, random_state=5)
probability = expit(f)
rng = np.random.default_rng(0)
rows = np.sort(rng.choice(200, 80, replace=False))
label = rng.random(80) < probability[0, rows]
model = credo.GPClassifier(kernel, link="logit", inference="laplace", hyperparameters="fixed").fit(x[rows], label)
found = model.predict_proba(x)[:, 1]
error = np.sqrt(np.mean((found - probability[0]) ** 2))
constant = np.sqrt(np.mean((label.mean() - probability[0]) ** 2))
print(f"from 80 labels the probability is found to {error:.2f}; a constant is off by {constant:.2f}")
assert error < 0.6 * constant

# %%
figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
axes[0].plot(x, f.T)
axes[0].set(title="draws of f", xlabel="x")
axes[1].plot(x, probability.T)
axes[1].set(title="σ(f)", xlabel="x", ylim=(-0.05, 1.05))
axes[2].plot(x, probability[0], "--", color="C0", label="σ(f) that drew the labels")
axes[2].plot(x, found, color="C3", label="GPClassifier")
axes[2].plot(x[rows], label, "|", color="k", markersize=9)
axes[2].set(title="80 labels, and the probability learned from them", xlabel="x", ylim=(-0.05, 1.05))
axes[2].legend(loc="center right", fontsize="small")

# %%
# **What to see.** Where f is far from zero, the probability is flat at 0 or 1: there labels say only on which side f
# is. Right: from 80 labels (ticks) the classifier finds about the function that they were drawn with.
