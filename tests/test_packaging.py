"""What is written down for installers, registries and robots agrees with pyproject.toml."""

import json
import re
import runpy
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.oldest import PROJECT, constraints

import credo
from credo._version import versions

ROOT = Path(__file__).parents[1]
PUBLISH = runpy.run_path(str(ROOT / "docs" / "publish.py"))


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    for path, pattern in {
        "CITATION.cff": r"^version: (\S+)",
        "conda/recipe.yaml": r"^  version: (\S+)",
        "CHANGELOG.md": r"^## .*?(\d+\.\d+\.\d+)",
    }.items():
        assert re.search(pattern, text(path), re.MULTILINE)[1] == credo.__version__, path


def test_conda_needs_what_pip_needs():
    extras = PROJECT["optional-dependencies"]
    wanted = {*PROJECT["dependencies"], *extras["cli"], *extras["plots"], "jinja2>=3.1"}
    assert "jinja2>=3.1" in extras["report"]
    run = text("conda/recipe.yaml").split("  run:\n")[1].split("\ntests:")[0]
    found = {f"{name}>={bound}" for name, bound in re.findall(r"- (\S+) >=(\S+)", run)}
    assert {each.replace("matplotlib-base", "matplotlib") for each in found} == wanted | {
        f"python{PROJECT['requires-python']}"
    }


def test_every_promised_python_is_tested():
    promised = [line.split(":: ")[-1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    matrix = re.search(r"python: \[(.+)\]", text(".github/workflows/test.yml"))[1]
    assert json.loads(f"[{matrix}]") == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_every_lower_bound_is_a_constraint():
    """Packages of an upper bound or of several extras would be left out in silence."""
    extras = PROJECT["optional-dependencies"]
    used = extras["all"][0].removeprefix("credo[").removesuffix("]").split(",")
    wanted = [*PROJECT["dependencies"], *(each for extra in (*used, "test") for each in extras[extra])]
    names = {re.match(r"[\w-]+", each)[0] for each in wanted} - {"credo"}
    assert names == set(constraints())
    assert constraints()["numpy"] == re.search(r"'numpy>=(.+?)'", str(PROJECT["dependencies"]))[1]


def test_versions_are_those_of_the_installed_packages(capsys):
    assert versions()["numpy"] == version("numpy")
    credo.show_versions()
    shown = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert versions().items() <= shown.items()
    assert shown["BLAS"] and int(shown["cores"]) > 0


@pytest.mark.parametrize(("tag", "found"), [("v0.1.2", ["0.1", "stable"]), ("v0.2.0rc1", ["dev"]), ("dev", ["dev"])])
def test_pages_go_into_the_folder_of_their_version(tag, found):
    assert PUBLISH["folders"](tag) == found


def test_the_site_keeps_older_versions_and_lists_the_newest_first(tmp_path):
    html, site = tmp_path / "html", tmp_path / "site"
    html.mkdir()
    for tag in ("dev", "v0.9.0", "v0.10.0"):
        (html / "index.html").write_text(tag)
        PUBLISH["publish"](html, site, tag, "https://example.org/credo")
    menu = json.loads((site / "switcher.json").read_text())
    assert [item["version"] for item in menu] == ["0.10", "0.9", "dev"]
    assert menu[0]["url"] == "https://example.org/credo/0.10/"
    assert [(site / name / "index.html").read_text() for name in ("0.9", "0.10", "stable")] == [
        "v0.9.0",
        "v0.10.0",
        "v0.10.0",
    ]
    assert "url=stable/" in (site / "index.html").read_text()
