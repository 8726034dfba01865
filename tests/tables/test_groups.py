"""Intraclass correlation and the distribution of known groups, against dense normal formulas."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from credo.distributions import GivenGroup, Normal, Support
from credo.linear import LinearRegression
from credo.tables import ModelFileError, Preparation, TableModel, save
from credo.tables.groups import Groups, correlation, for_new, given_others, group_codes, normal_scores

RNG = np.random.default_rng(0)
CODES = np.repeat(np.arange(40), 5)


def test_the_correlation_is_found():
    for rho in (0.0, 0.3, 0.9):
        found = []
        for _ in range(20):
            z = np.sqrt(rho) * RNG.normal(size=40)[CODES] + np.sqrt(1 - rho) * RNG.normal(size=200)
            found.append(correlation(z, CODES))
        assert np.mean(found) == pytest.approx(rho, abs=0.04)


def test_known_groups_are_conditional_normals():
    rho, z = 0.6, RNG.normal(size=4)
    V = (1 - rho) * np.eye(5) + rho
    mean = V[4, :4] @ np.linalg.solve(V[:4, :4], z)
    var = V[4, 4] - V[4, :4] @ np.linalg.solve(V[:4, :4], V[:4, 4])
    base = Normal(np.zeros(5), 1.0)
    dist = given_others(base, rho, np.append(z, 0.3), np.zeros(5, dtype=np.intp))
    assert (dist.location[4], dist.scale[4] ** 2) == pytest.approx((mean, var), rel=1e-9)
    np.testing.assert_allclose(dist.mean[4], mean, atol=1e-8)
    # The product of the conditional densities is the joint one.
    parts = [stats.norm(*(a[0] for a in (d.location, d.scale))).logpdf(z[i]) for i, d in enumerate(_chain(rho, z))]
    joint = stats.multivariate_normal(np.zeros(4), V[:4, :4]).logpdf(z)
    assert sum(parts) == pytest.approx(joint, rel=1e-9)


def _chain(rho, z):
    for i in range(len(z)):
        yield given_others(Normal([0.0], 1.0)[[0] * (i + 1)], rho, np.append(z[:i], 0.0), np.zeros(i + 1, np.intp))[[i]]


def test_new_groups_are_left_as_they_are():
    z = RNG.normal(size=40)[CODES] + 0.1 * RNG.normal(size=200)
    found = Groups.of("unit", [f"u{k}" for k in CODES], z)
    base = Normal([1.0, 2.0], [1.0, 3.0])
    both = found.given(base, ["u3", "other"])
    assert isinstance(both, GivenGroup) and both.mean[1] == pytest.approx(2.0) and both.std[1] == pytest.approx(3.0)
    assert both.std[0] < 0.6 and found.given(base, ["x", "y"]) is base
    assert found.knows(["u3", "other"]).tolist() == [True, False]
    assert np.isfinite(normal_scores(np.array([0.0, 0.5, 1.0]))).all()


def test_a_group_has_the_same_name_in_every_table():
    z = RNG.normal(size=40)[CODES]
    numbers = pd.Series(CODES.astype(float)).where(CODES > 0)
    found = Groups.of("unit", numbers, z + 0.1 * RNG.normal(size=200))
    assert set(found.names) == {str(k) for k in range(1, 40)}
    for labels in ([12, 99], [12.0, None], ["12", "new"], pd.Series(["12 ", None])):
        assert found.knows(labels).tolist() == [True, False]
        assert found.given(Normal([0.0, 0.0], 1.0), labels).scale[1] == 1.0
    assert group_codes(pd.Series(["b", None, "a", None, "b"])).tolist() == [1, 2, 0, 3, 1]


def test_predictions_for_new_groups_are_found_below_the_possible_values():
    support, base = Support(0.0, np.inf, 1.0), Normal([1.0, 2.0], [1.0, 3.0])
    for limit in (support.limit, lambda dist: dist):
        new = for_new(limit(GivenGroup(base, [1.0, 0.0], [0.5, 1.0])))
        np.testing.assert_array_equal(new.interval(0.9), limit(base).interval(0.9))
        np.testing.assert_array_equal(for_new(limit(base)).mean, limit(base).mean)


@pytest.mark.parametrize(
    "change",
    [{"names": ("a",)}, {"location": np.array([0.0, np.nan])}, {"scale": np.array([1.0, 0.0])}, {"scale": np.ones(3)},
     {"correlation": np.nan}, {"correlation": -0.1}, {"column": 3}],
    ids=["names", "nan", "zero", "lengths", "correlation", "negative", "column"],
)  # fmt: skip
def test_forged_files_are_refused(tmp_path, change):
    frame = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0) ** 2})
    model = TableModel(Preparation(), LinearRegression(), "y").fit(frame)
    model.groups = replace(Groups("g", 0.5, ("a", "b"), np.zeros(2), np.ones(2)), **change)
    # A file is decoded and checked when it is written, too.
    with pytest.raises(ModelFileError, match=r"TableModel\.groups"):
        save(model, tmp_path / "forged.credo")
