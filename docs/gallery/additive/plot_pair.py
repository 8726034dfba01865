"""
A pair of columns as a surface
==============================

A sum of curves can't say that one column matters only at high values of another. ``pair`` adds what two columns do
together beyond their own curves: products of two small bases, with one learned variance. By default the model looks for
pairs in the residuals and keeps those that raise the evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import credo
from credo.additive import AdditiveRegressor

rng = np.random.default_rng(3)
table = pd.DataFrame(rng.uniform(0, 1, size=(600, 4)), columns=["heat", "time", "dose", "age"])


def truth(table):
    return np.sin(3 * table["heat"]) + 2 * table["heat"] * np.exp(-((table["time"] - 0.5) ** 2) / 0.05) + table["dose"]


y = truth(table) + 0.3 * rng.normal(size=600)
sums = AdditiveRegressor(family="gaussian", pairs=0).fit(table, y)
model = AdditiveRegressor(family="gaussian").fit(table, y)
print(model.terms_)
new = pd.DataFrame(rng.uniform(0, 1, size=(2000, 4)), columns=list(table))
error = [credo.rmse(truth(new), each.predict(new)) for each in (sums, model)]
print(f"RMSE of the mean on new rows: {error[0]:.2f} as a sum of curves, {error[1]:.2f} with the pair")
assert error[1] < 0.5 * error[0]

# %%
side = np.linspace(0, 1, 60)
heat, time = np.meshgrid(side, side)
rows = pd.DataFrame({"heat": heat.ravel(), "time": time.ravel(), "dose": 0.5, "age": 0.5})
surfaces = (truth(rows).to_numpy(), sums.predict(rows), model.predict(rows))
figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), sharey=True, layout="constrained")
titles = ("truth", f"curves only, RMSE {error[0]:.2f}", f"with the pair, RMSE {error[1]:.2f}")
levels = np.linspace(min(map(np.min, surfaces)), max(map(np.max, surfaces)), 15)
for ax, values, title in zip(axes, surfaces, titles, strict=True):
    shown = ax.contourf(side, side, values.reshape(60, 60), levels=levels, cmap="viridis")
    ax.set(title=title, xlabel="heat")
axes[0].set_ylabel("time")
figure.colorbar(shown, ax=axes, label="mean of y")

# %%
# All terms of the model, each with its share of the explained variance:

credo.plots.terms(model)

# %%
# **What to see.** The ridge at time 0.5 rises with the heat. Curves alone can only move the ridge up and down as a
# whole, so it is there at low heat too, and too low at high heat. With the pair the surface is right, and of the six
# possible pairs no other was added. In the panels of the terms, the pair is what its two columns do together beyond
# their own curves, and the column that doesn't matter is gray.
