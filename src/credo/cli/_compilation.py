"""Whether numba has to compile before the first fit."""

from importlib import import_module
from pathlib import Path


def compiles(module: str) -> bool:
    """True when no compiled code of a module of loops lies in numba's cache; False when that can't be told."""
    try:
        jit = import_module(module)
    except ImportError:
        return False
    functions = [value for value in vars(jit).values() if hasattr(value, "stats")]
    folders = [getattr(function.stats, "cache_path", None) for function in functions]
    if not functions or not all(folders):
        return False
    return not any(
        any(Path(str(folder)).glob(f"*{function.__name__}-*.nbi"))
        for folder, function in zip(folders, functions, strict=True)
    )
