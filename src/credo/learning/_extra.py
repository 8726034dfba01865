"""Optional libraries of this package, imported when first needed."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def extra(module: str, purpose: str) -> Any:
    """A module of an optional library; `purpose` is what can't be done without it."""
    try:
        # ArviZ announces its next version to everyone who imports it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        name = module.split(".")[0].replace("_", "-")
        raise ImportError(f"{purpose} needs {name}: pip install 'credo[mcmc]'") from None
