r"""
E_COM = E_AV / M, if errors are uncorrelated
============================================

The squared error of an average of M models is :math:`E_{COM} \le E_{AV}`, the average of theirs, and
:math:`E_{AV}/M` if their errors have mean zero and are uncorrelated (Bishop 14.14). Real models share their mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

import credo
from credo.ensemble import Committee

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=(400, 1))
truth = np.sin(3 * x[:, 0])


def errors(members):
    """The errors of the members on average, and of their mean."""
    return np.mean((members - truth) ** 2), np.mean((members.mean(axis=0) - truth) ** 2)


def trees(n, m, shared):
    """m trees, each fitted to a data set of its own, or all to bootstrap samples of one."""
    draw = rng.uniform(-1, 1, size=(m, n, 1))
    target = np.sin(3 * draw[..., 0]) + 0.3 * rng.normal(size=(m, n))
    pick = [(0, rng.integers(0, n, n)) if shared else (k, slice(None)) for k in range(m)]
    return np.array([credo.DecisionTreeRegressor(pruning=0.0).fit(draw[p], target[p]).predict(x) for p in pick])


M = 20
cases = {
    "independent\nnoise": truth + 0.3 * rng.normal(size=(M, 400)),
    "trees, each with\ndata of its own": trees(60, M, shared=False),
    "bagged trees:\nsamples of one table": trees(60, M, shared=True),
}
found = {name: errors(members) for name, members in cases.items()}
for name, (average, committee) in found.items():
    text = name.replace("\n", " ")
    print(f"{text}: E_AV {average:.4f}, E_COM {committee:.4f}, ratio {average / committee:.1f} of {M}")
ratios = [average / committee for average, committee in found.values()]
assert ratios[0] > 0.85 * M and ratios[0] > ratios[1] > ratios[2] > 1

# %%
# ``diagnosis`` computes these numbers for any ensemble, on held-out rows:

y = truth + 0.3 * rng.normal(size=400)
models = [("line", credo.LinearRegression()), ("tree", credo.DecisionTreeRegressor()), ("process", credo.GPRegressor())]
report = Committee(models).fit(x[:200], y[:200]).diagnosis(x[200:], y[200:])
print(f"E_AV {report.member_error:.3f}, E_COM {report.committee_error:.3f}, E_AV/M {report.uncorrelated_error:.3f}")
assert report.uncorrelated_error < report.committee_error < report.member_error

figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
place = np.arange(3)
values = np.array(list(found.values()))
for k, (height, label) in enumerate(((values[:, 0], "E_AV"), (values[:, 1], "E_COM"), (values[:, 0] / M, "E_AV / M"))):
    bars = ax.bar(place + 0.27 * (k - 1), height, 0.25, label=label)
    ax.bar_label(bars, fmt="%.3f", fontsize="small")
ax.set(xticks=place, xticklabels=list(cases), ylabel="mean squared error")
ax.legend()

# %%
# **What to see.** Left: with independent errors the average of 20 members has about a twentieth of their error.
# Middle: trees from data sets of their own have the same bias, which averaging doesn't remove. Right: bootstrap
# samples of one table share most of their rows, so the errors are correlated and the gain is smaller still.
