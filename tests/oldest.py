"""The oldest versions that pyproject.toml allows, as a constraints file for pip: `python -m tests.oldest`."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("cli", "plots", "report", "parquet", "excel", "dask", "mcmc", "lab", "test")


def constraints() -> dict[str, str]:
    """The lowest version of each package that Credo or its tests need."""
    wanted = [*PROJECT["dependencies"], *(each for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra])]
    bounds = (re.fullmatch(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", each) for each in wanted)
    return {found[1]: found[2] for found in bounds if found}


if __name__ == "__main__":
    for name, version in sorted(constraints().items()):
        print(f"{name}=={version}")
