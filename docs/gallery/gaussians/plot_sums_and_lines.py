r"""
Sums of Gaussians and y = Ax + b
================================

The sum of independent Gaussian vectors is Gaussian, with the sum of their means and of their covariances. A linear map
:math:`y = Ax + b` of a Gaussian vector is Gaussian, with mean :math:`A\mu + b` and covariance :math:`A\Sigma A^\top`.
Everything in linear regression and Gaussian processes follows from these two facts and conditioning.
"""

import matplotlib.pyplot as plt
import numpy as np

from credo import MultivariateNormal

first = MultivariateNormal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
second = MultivariateNormal([4.0, 0.0], [[0.3, -0.2], [-0.2, 0.8]])
A, b = np.array([[0.6, -1.2], [0.8, 0.6]]), np.array([4.0, 1.0])
total, image = first + second, first.affine(A, b)

# The formulas beside a hundred thousand draws:
draws = first.sample(100_000, random_state=0)
moved = draws @ A.T + b
summed = draws + second.sample(100_000, random_state=1)
for name, dist, sample in (("sum", total, summed), ("Ax + b", image, moved)):
    print(f"{name}: covariance {dist.cov.round(2).tolist()}, of draws {np.cov(sample.T).round(2).tolist()}")
    assert np.allclose(np.cov(sample.T), dist.cov, atol=0.03) and np.allclose(sample.mean(axis=0), dist.mean, atol=0.02)

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharex=True, sharey=True, layout="constrained")
turn = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(turn), np.sin(turn)])


def draw(ax, dist, sample, color, label):
    ellipse = dist.mean[:, None] + 2 * np.linalg.cholesky(dist.cov) @ circle
    ax.plot(*sample[:300].T, ".", color=color, markersize=2, alpha=0.5)
    ax.plot(*ellipse, color=color)
    top = ellipse[:, ellipse[1].argmax()]
    ax.annotate(label, top, xytext=(0, 6), textcoords="offset points", color=color, ha="center", weight="bold")


for ax in axes:
    draw(ax, first, draws, "C0", "x")
    ax.set(xlabel="first coordinate", aspect="equal", xlim=(-4, 8), ylim=(-4, 5))
draw(axes[0], second, summed - draws, "C2", "z")
draw(axes[0], total, summed, "C3", "x + z")
draw(axes[1], image, moved, "C3", "Ax + b")
axes[0].set(title="sum of independent vectors", ylabel="second coordinate")
axes[1].set(title="linear map")

# %%
# **What to see.** Ellipses contain 86 % of the probability (two standard deviations in every direction), dots are
# draws. Left: the sum is wider than either of its terms. Right: A turns and stretches the ellipse, b moves it.
