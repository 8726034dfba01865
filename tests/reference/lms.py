"""The least-mean-squares rule in plain NumPy, update by update, as the books write it."""

import numpy as np


def lms_pass(phi, y, repeats, w, *, step, period=1.0, decay=0.0, capped=False, t=0, mean_square=np.nan):
    """Bishop 3.23 over the rows in order, row i taken repeats[i] (whole) times in a row.

    Returns the last w, the average of the iterates with weights t(t+1), t counting from one, and the average of
    the squared one-step-ahead errors with the same weights, the first observation left out.
    """
    w = np.array(w, dtype=float)
    iterates, squares = [], []
    for row, target, count in zip(phi, y, repeats, strict=True):
        for _ in range(int(count)):
            error = target - w @ row
            eta = step * (1 + t / period) ** -decay
            if capped:
                eta = min(eta, 1 / (row @ row))
            w = w + eta * error * row
            if t > 0:
                squares.append(error**2)
            iterates.append(w)
            t += 1
    return w, _late_average(np.array(iterates)), _late_average(np.array(squares))


def _late_average(values):
    order = np.arange(1, len(values) + 1)
    return np.average(values, axis=0, weights=order * (order + 1)) if len(values) else np.nan


def correction_pass(phi, weight, order, gradient, step):
    """δ ← δ + η ω (g − (δᵀφ) φ) (Johnson & Zhang 2013, the update of SVRG for a quadratic)."""
    delta = np.zeros(phi.shape[1])
    for i in order:
        delta = delta + step * weight[i] * (gradient - (delta @ phi[i]) * phi[i])
    return delta
