"""`credo fit`, `show` and `predict` with a Gaussian process, on a table whose columns have wild scales."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from credo.app.cli._group import credo
from credo.tables import load


@pytest.fixture(scope="module")
def curved():
    """A target that bends along one column, doesn't along the second, and hangs on three soils."""
    rng = np.random.default_rng(5)
    warmth, wind = rng.uniform(5, 35, size=90), rng.gamma(2.0, 3.0, size=90)
    soil = np.array(["sand", "clay", "peat"])[rng.integers(3, size=90)]
    crop = 30 * np.exp(-(((warmth - 22) / 7) ** 2)) - 6 * (soil == "peat") + rng.normal(0, 1, size=90)
    # Scales as far apart as units make them.
    return pd.DataFrame({"warmth": 1e8 + 1e6 * warmth, "wind": 1e-9 * wind, "soil": soil, "crop": 1e4 * crop})


@pytest.fixture(scope="module")
def grown(tmp_path_factory, curved):
    folder = tmp_path_factory.mktemp("grown")
    curved.to_csv(folder / "farm.csv", index=False)
    arguments = ("fit", folder / "farm.csv", "--target", "crop", "--models", "linear,gp", "--cv", "3", "--out", folder)
    result = CliRunner().invoke(credo, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.stderr
    return folder, result


def test_a_process_is_selected_where_the_target_bends(grown):
    _, result = grown
    assert "Selected: gp (Gaussian process, " in result.stdout
    first = re.search(r"^gp .*$", result.stdout, re.MULTILINE)[0].split()
    # The noise has a deviation of 10 000; 60 of the 90 rows are known to each fold.
    assert 9_000 < float(first[2]) < 18_000


def test_the_report_of_a_process_says_what_its_kernel_says(grown):
    page = (grown[0] / "report.html").read_text().replace("\u202f", " ")
    chosen = re.search(r"kernel chosen: (.*?), ahead of", load(grown[0] / "model.credo").estimator_.result_.message)[1]
    shown = chosen.replace("rbf", "RBF").replace("matern52", "Matérn 5/2")
    assert f"Gaussian process, {shown} kernel" in page
    assert "residual noise" in page
    assert "Most influential: warmth." in page
    assert page.index("Which inputs matter?") < page.index("Along which inputs is the function nonlinear?")
    assert "Most nonlinear along warmth" in page
    assert "Effect of each input" in page
    assert "highest at sand" in page or "highest at clay" in page


def test_a_process_comes_back_from_its_file(run, grown):
    folder, _ = grown
    shown = run("show", folder / "model.credo").stdout
    assert shown.startswith("model            Gaussian process, ")
    assert re.search(r"^noise sd         \d", shown, re.MULTILINE)
    lines = [line.split() for line in shown[shown.index("effect  nonlinearity  length scale") :].splitlines()[1:5]]
    # Sorted by how far an input moves the predictions, which for the bump of height 3·10⁵ is some 10⁵.
    effects = [float(line[1]) for line in lines]
    assert lines[0][0] == "warmth" and effects == sorted(effects, reverse=True)
    assert 3e4 < effects[0] < 3e5
    assert "relevance" not in shown
    predicted = run("predict", folder / "model.credo", folder / "farm.csv")
    assert predicted.exit_code == 0, predicted.stderr
    table = pd.read_csv(io.StringIO(predicted.stdout))
    truth = pd.read_csv(folder / "farm.csv")["crop"]
    assert ((table["lower"] <= truth) & (truth <= table["upper"])).mean() > 0.9


def test_length_scales_are_told_in_the_units_of_the_table(run, grown):
    folder, _ = grown
    record = json.loads(run("show", folder / "model.credo", "--json").stdout)
    model = load(folder / "model.credo")
    place = record["inputs"]["input"].index("warmth")
    kernel = model.estimator_.kernel_
    stationary = getattr(kernel, "terms", (kernel,))[0]
    scale = model.preparation_.scale_[0] * stationary.params["lengthscale"][0]
    assert record["inputs"]["length scale"][place] == pytest.approx(scale, rel=1e-6)
    # The bump's width is 7 degrees of 10⁶ each: exp(−(x/7)²) has a length scale of 7/√2.
    assert 2e6 < scale < 2e7
    assert record["noise_sd"] == pytest.approx(np.sqrt(model.estimator_.noise_variance_))
