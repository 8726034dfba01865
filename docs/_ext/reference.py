"""The API reference: a page for each public package and each public name, from ``__all__`` and the docstrings."""

from __future__ import annotations

import inspect
import re
import shutil
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from jinja2 import FileSystemBytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

import credo

# What users call, and what those call who add a model.
FOR_USERS = (
    "study", "linear", "sparse", "additive", "gp", "kernels", "kernel_machines", "features", "trees", "ensemble",
    "mixtures", "distributions", "metrics", "selection", "tables", "plots",
)  # fmt: skip
FOR_DEVELOPERS = (
    "core.estimator", "core.inference", "likelihoods", "core.learning", "core.params", "core.linalg", "core.parts",
)  # fmt: skip
# Their members have pages, or are commands that docs/start describes.
OTHERS = ("app", "core")
FOLDER = "reference"


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _table(package: str, names: list[str]) -> str:
    rows = "".join(f"   {name}\n" for name in names)
    return f".. autosummary::\n   :toctree: {package}\n   :nosignatures:\n\n{rows}\n"


def _kinds(package: str) -> dict[str, list[str]]:
    module = import_module(f"credo.{package}")
    kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": [], "From other packages": []}
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        kind = "Classes" if inspect.isclass(value) else "Functions" if callable(value) else "Constants"
        home = _home(name, value)
        kinds[kind if home in {package, None} else "From other packages"].append(name)
    return kinds


def _home(name: str, value: Any) -> str | None:
    """The first of the packages that exports the object, which has its page."""
    exports = (
        package for package in (*FOR_USERS, *FOR_DEVELOPERS) if name in import_module(f"credo.{package}").__all__
    )
    return next((package for package in exports if getattr(import_module(f"credo.{package}"), name) is value), None)


def _package_page(package: str) -> str:
    text = _heading(f"credo.{package}")
    text += f".. automodule:: credo.{package}\n   :no-members:\n\n.. currentmodule:: credo.{package}\n\n"
    kinds = _kinds(package)
    for kind in ("Classes", "Functions"):
        if kinds[kind]:
            text += _heading(kind, "-") + _table(package, kinds[kind])
    for name in kinds["From other packages"]:
        home = _home(name, getattr(import_module(f"credo.{package}"), name))
        text += f"`{name} <credo.{home}.{name}>` is described in :doc:`credo.{home} <{home}>`.\n\n"
    if kinds["Constants"]:
        text += _heading("Constants", "-") + ", ".join(f"``{name}``" for name in kinds["Constants"]) + "\n"
    return text


def _index() -> str:
    text = _heading("API reference")
    text += (
        "Every public name, with an example. All arguments after the first are keyword-only, logarithms are\n"
        "natural, and most names can be imported from ``credo`` directly.\n\n"
    )
    for title, packages in (("For users", FOR_USERS), ("For contributors", FOR_DEVELOPERS)):
        text += _heading(title, "-")
        text += ".. toctree::\n   :maxdepth: 1\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in packages) + "\n"
        text += ".. list-table::\n   :widths: 25 75\n\n"
        for name in packages:
            summary = (import_module(f"credo.{name}").__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
            text += f"   * - :doc:`credo.{name} <{name}>`\n     - {summary}\n"
        text += "\n"
    return text


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages that autosummary completes; unchanged ones keep their date, so that they aren't built again."""
    missing = set(credo._PACKAGES) - {*FOR_USERS, *FOR_DEVELOPERS, *OTHERS}
    if missing:
        raise ExtensionError(f"the API reference has no page for {sorted(missing)}: list them in {Path(__file__).name}")
    folder = Path(app.srcdir) / FOLDER
    pages = {package: _package_page(package) for package in (*FOR_USERS, *FOR_DEVELOPERS)} | {"index": _index()}
    for old in folder.iterdir() if folder.exists() else ():
        if old.stem not in pages:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    config.autosummary_generate = [f"{FOLDER}/{package}.rst" for package in (*FOR_USERS, *FOR_DEVELOPERS)]


SECTION = re.compile(r"^-{3,}$")


def keep_formulas(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Show the indented formulas at the start of a docstring as they are written, line by line."""
    end = next((i for i, line in enumerate(lines) if SECTION.match(line.strip())), len(lines))
    for i in range(end - 1, 0, -1):
        starts = lines[i].startswith("    ") and not lines[i - 1].strip()
        before = next((line for line in reversed(lines[:i]) if line.strip()), "")
        if starts and not before.startswith("    ") and not before.rstrip().endswith("::") and before.strip():
            lines[i:i] = ["::", ""]


def skip_inherited(app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives every estimator."""
    inherited = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None) or ""
    return True if inherited.startswith("sklearn") or name.endswith("_request") else None


def setup(app: Sphinx) -> dict[str, Any]:
    # numpydoc compiles its template for every docstring, which takes seconds; a cache keeps the compiled one.
    docscrape_sphinx.SandboxedEnvironment = partial(SandboxedEnvironment, bytecode_cache=FileSystemBytecodeCache())
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", keep_formulas, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
