"""Anderson mixing: acceleration of fixed-point iterations z = g(z) by the last few steps.

With residuals r = g(z) − z and their differences ΔR over the last steps, the next point is the one whose residual would
vanish were g affine (Walker & Ni, 2011): z + βr − (ΔZ + βΔR)γ with γ = argmin ‖r − ΔRγ‖.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_DEPTH = 6
# After a growth of the residual by more than this factor, the history is discarded.
_GROWTH = 1.5
_SHORTEST, _SHORTER, _LONGER = 0.1, 0.6, 1.2


class Mixing:
    """The history of one iteration: steps are damped by β, and more so when residuals grow.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.inference import Mixing
    >>> z, mixing = np.ones(1), Mixing(damping=1.0)
    >>> for _ in range(6):
    ...     z = mixing.step(z, np.cos(z) - z)
    >>> bool(np.abs(np.cos(z) - z).max() < 1e-8)  # z = cos z after six steps
    True
    """

    def __init__(self, damping: float) -> None:
        self.damping = self._largest = damping
        self._points: deque[Array] = deque(maxlen=_DEPTH)
        self._residuals: deque[Array] = deque(maxlen=_DEPTH)
        self._last = np.inf

    def step(self, z: Array, residual: Array) -> Array:
        """The next point."""
        size = float(np.linalg.norm(residual))
        if size > _GROWTH * self._last:
            self.forget()
            self.damping = max(_SHORTEST, _SHORTER * self.damping)
        else:
            self.damping = min(self._largest, _LONGER * self.damping)
        self._last = size
        self._points.append(z)
        self._residuals.append(residual)
        plain = z + self.damping * residual
        if len(self._points) < 2:
            return plain
        dR = np.diff(np.stack(self._residuals), axis=0).T
        dZ = np.diff(np.stack(self._points), axis=0).T
        mix = np.linalg.lstsq(dR, residual, rcond=1e-10)[0]
        return plain - (dZ + self.damping * dR) @ mix

    def forget(self) -> None:
        """Forget the previous steps."""
        self._points.clear()
        self._residuals.clear()
