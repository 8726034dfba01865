"""Basis expansions: y = wᵀφ(x) + noise is linear in w whatever φ is (Bishop 3.1).

    fit(X) learns what φ needs (centers, periods, a vocabulary);  transform(X) = Φ, one column for each φⱼ

Every member is a scikit-learn transformer that has feature names, accepts frames and composes with
`Pipeline`, `FeatureUnion` and `ColumnTransformer`. A row of Φ depends on its own row of X and on what was
learned in `fit`, never on the other rows given to `transform`. No member adds a constant column unless asked
to: the models have an intercept.

A Credo model directly after a member in a pipeline uses its feature names, for sparse columns too. A step between the
two, such as a scaler, returns arrays without names: `set_output(transform="pandas")` on the pipeline keeps those of
dense columns.

Members: `Polynomial` (powers and products), `Radial` (Gaussians around centers), `Sigmoid` (smooth
steps), `Fourier` (cosines and sines), `Step` (indicators 1{x<a}), `Words` (text to 0/1 indicators, sparse), `Custom`
(any function).

What doesn't belong here: kernels (`credo.kernels`), and the cleaning of raw tables (`credo.tables`).
"""

from credo.features.functions import Custom, Fourier, Radial, Sigmoid, Step
from credo.features.polynomial import Polynomial
from credo.features.words import Words

__all__ = ["Custom", "Fourier", "Polynomial", "Radial", "Sigmoid", "Step", "Words"]
