r"""
Evidence against degree
=======================

The log evidence ln p(y | degree) integrates over all coefficients. It rises while a degree explains the data better,
and falls once further coefficients only spread the prior over data sets that were not observed: Occam's razor.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=(40, 1))
y = 1.0 + x[:, 0] - 2.5 * x[:, 0] ** 3 + 0.2 * rng.normal(size=40)

degrees = np.arange(1, 11)
models = []
for degree in degrees:
    Phi = credo.Polynomial(int(degree)).fit_transform(x)
    models.append(credo.BayesianLinearRegression(prior_precision=0.2, noise_precision="evidence").fit(Phi, y))
evidence = np.array([model.log_evidence_ for model in models])
least_squares = [credo.LinearRegression().fit(credo.Polynomial(int(d)).fit_transform(x), y) for d in degrees]
errors = [model.noise_std_ * np.sqrt(model.dof_ / 40) for model in least_squares]
probability = np.exp(evidence - evidence.max())
probability /= probability.sum()
best = degrees[evidence.argmax()]
print("log evidence:", np.round(evidence, 1))
print(f"degree {best} has probability {probability.max():.2f}; degree 10 has {probability[-1]:.1e}")
assert best == 3

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(degrees, evidence, "o-", color="C0")
left.set(xlabel="degree", ylabel="log evidence")
twin = left.twinx()
twin.plot(degrees, errors, "s--", color="C1", markersize=4)
twin.set_ylabel("training RMSE (least squares)", color="C1")
right.bar(degrees, probability)
right.set(xlabel="degree", ylabel="probability of the degree", xticks=degrees)

# %%
# **What to see.** The training error (dashed) falls with every degree. The evidence is largest at degree 3, with which
# the data were made, and needs no held-out rows. Right: the same as probabilities, all degrees being equally likely
# beforehand.
