"""The version, in one place, and those of what Credo runs with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__", "show_versions", "versions"]

__version__ = "0.1.0"

_LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "numba", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "dask",
    "nutpie",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of Credo, Python and the libraries that are installed.

    Examples
    --------
    >>> from credo._version import versions
    >>> list(versions())[:3]
    ['credo', 'python', 'numpy']
    """
    found = {"credo": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show_versions() -> None:
    """Print what a bug report needs: versions, the machine, the BLAS and its threads.

    Examples
    --------
    >>> import credo
    >>> credo.show_versions()  # doctest: +ELLIPSIS
    credo         0.1.0
    python        3...
    """
    # NumPy's and SciPy's BLAS are known once they are loaded.
    import scipy.linalg  # noqa: F401, PLC0415
    from threadpoolctl import threadpool_info  # noqa: PLC0415

    pools = (
        f"{pool['internal_api']} {pool.get('version') or ''} ({pool['num_threads']} threads)"
        for pool in threadpool_info()
    )
    rows = versions() | {"platform": platform.platform(), "cores": str(os.cpu_count()), "BLAS": ", ".join(pools)}
    for name, value in rows.items():
        print(f"{name:13} {value}")
