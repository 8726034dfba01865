"""What the evidence of a process conditions on."""

from __future__ import annotations

from collections.abc import Sequence

from credo.estimator import FLAT, MAXIMISED, SCALED, evidence_base
from credo.kernels import Columns, Exp, Kernel, Product, Sum
from credo.params import Parameter


def process_base(
    kernel: Kernel,
    *,
    mean: str,
    slopes: Sequence[str],
    standardize: bool,
    optimized: bool,
    noise_known: bool,
    several: bool,
) -> str:
    """The base of a process's evidence.

    Standardised targets take part of the model from y: a zero mean is then the mean of y, and a variance that isn't
    learned is a share of the variance of y. So is the kernel of several targets, each in units of its own.

    Parameters
    ----------
    slopes : names of the columns whose slopes are flat, in units of their standard deviations.
    optimized, noise_known : whether the hyperparameters were learned, and whether the noise was given.
    several : whether y has several columns.
    """
    frozen = several or not optimized or not is_scalable(kernel)
    learns_kernel = optimized and bool(kernel.names)
    noise = "" if noise_known else MAXIMISED if optimized else SCALED if standardize else ""
    return evidence_base(
        intercept=FLAT if mean != "zero" else "mean of y" if standardize else "",
        slopes=f"{FLAT} ({', '.join(slopes)}, standardised)" if slopes else "",
        noise=noise,
        kernel=SCALED if standardize and frozen else "",
        hyperparameters=MAXIMISED if learns_kernel else "",
    )


def is_scalable(kernel: Kernel) -> bool:
    """Whether the kernel's free parameters can multiply it by any factor."""
    if isinstance(kernel, Sum):
        return all(map(is_scalable, kernel.terms))
    if isinstance(kernel, Product):
        return any(map(is_scalable, kernel.terms))
    if isinstance(kernel, Columns):
        return is_scalable(kernel.kernel)
    if isinstance(kernel, Exp):
        # The variance in its tree is that of the exponent.
        return False
    leaves = (kernel.tree[path] for path in ("variance", "value") if path in kernel.tree)
    return any(isinstance(leaf, Parameter) and not leaf.fixed for leaf in leaves)
