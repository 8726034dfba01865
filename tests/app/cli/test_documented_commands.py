"""Every command on the README and the start pages runs as it is typed, one after the other in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from credo.app.cli._group import credo

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "start").glob("*.md"))]


def commands():
    """The lines of the pages' plain blocks that begin with `credo`, by page."""
    for page in PAGES:
        for block in re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                if line.startswith("credo "):
                    yield page.stem, shlex.split(line, comments=True)[1:]


def test_commands_run_in_the_order_of_the_pages(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("credo.app.cli._demo.MODELS", ("linear",))
    monkeypatch.setattr("credo.study.study.find_spec", lambda name: None)
    seen = set()
    for page, (name, *arguments) in commands():
        seen.add(name)
        if name in {"lab", "serve"}:
            # These run until they are stopped; here their arguments are checked, such as that the model is there.
            credo.get_command(None, name).make_context(name, arguments).close()
            continue
        result = run(name, *arguments, *(("--models", "linear") if name == "fit" else ()))
        assert result.exit_code == 0, f"{page}: credo {name} {shlex.join(arguments)}: {result.stderr}"
    assert {"demo", "fit", "predict", "explain", "lab", "serve"} <= seen


@pytest.mark.parametrize("name", ["held_out.csv", "model.credo", "bayes.credo"])
def test_a_folder_in_the_way_of_an_output_is_found_before_the_run(run, data, tmp_path, monkeypatch, name):
    monkeypatch.setattr("credo.study.run", lambda *args, **options: pytest.fail("the run must not begin"))
    (tmp_path / "out" / name).mkdir(parents=True)
    result = run("fit", data, "--target", "price", "--models", "bayes", "--keep", "all", "--out", tmp_path / "out")
    assert result.exit_code != 0 and f"{name} is a folder" in result.stderr
