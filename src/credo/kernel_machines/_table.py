"""The parameters of a kernel as lines of a summary."""

from collections.abc import Sequence

import numpy as np

from credo.kernels import Kernel


def kernel_parameters(kernel: Kernel, columns: Sequence[str]) -> list[tuple[str, float]]:
    """Name and value of every parameter; those that come one for each column of the table carry its name."""
    lines = []
    for path, value in kernel.params.items():
        if not np.ndim(value):
            lines.append((path, float(value)))
            continue
        tails = (
            [f" of {name}" for name in columns] if len(value) == len(columns) else [f"[{i}]" for i in range(len(value))]
        )
        lines += [(path + tail, float(entry)) for tail, entry in zip(tails, value, strict=True)]
    return lines
