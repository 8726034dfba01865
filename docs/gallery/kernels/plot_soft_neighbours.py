"""
Soft k-NN and Nadaraya–Watson
=============================

Nearest neighbors vote with equal weights; a kernel lets near rows count more. For numbers the weighted mean is the
Nadaraya–Watson estimate, for classes the votes are soft k-NN. The bandwidth minimizes the exact leave-one-out error.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 80))[:, None]
y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=80)
grid = np.linspace(0, 10, 300)[:, None]
fits = {b: credo.NadarayaWatson(bandwidth=b).fit(x, y) for b in (0.05, "loo", 2.0)}
truth = np.sin(grid[:, 0])
for name, model in fits.items():
    error = credo.rmse(truth, model.predict(grid))
    print(f"Nadaraya–Watson, bandwidth {model.bandwidth_:.2f} ({name}): error of the function {error:.2f}")
errors = [credo.rmse(truth, model.predict(grid)) for model in fits.values()]
assert np.argmin(errors) == 1

# %%
Z = rng.normal(size=(150, 2))
label = np.where(Z[:, 1] + 0.4 * rng.normal(size=150) > np.sin(2 * Z[:, 0]), "above", "below")
votes = credo.SoftNeighborsClassifier().fit(Z, label)
print(f"soft k-NN: bandwidth {votes.bandwidth_:.2f}, leave-one-out log loss {votes.loo_losses_.min():.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(x, y, "o", color="0.5", markersize=3)
for (_, model), color in zip(fits.items(), ("C3", "C0", "C2"), strict=True):
    left.plot(grid, model.predict(grid), color=color, label=f"bandwidth {model.bandwidth_:.2f}")
left.plot(grid, truth, "--", color="k", linewidth=0.8, label="truth")
left.legend()
left.set(xlabel="x", ylabel="y", title="Nadaraya–Watson")
credo.plots.decision_regions(votes, Z, label, ax=right)
right.set(title="soft k-NN")

# %%
# **What to see.** Left: a small bandwidth follows the noise, a large one flattens the sinusoid, and the one by
# leave-one-out (blue) is closest to the truth. Right: the boundary of the soft votes follows the sine between the
# classes, and where both classes mix, the probabilities are near 1/2.
