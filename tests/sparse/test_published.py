"""Real tables: what R's BMS prints for them, and the sampler beside all subsets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.sparse.tables import ATTITUDE_NAMES, attitude, hald, uscrime

from credo.sparse import SpikeSlabRegressor

# BMS 0.3.5 (Zeugner & Feldkircher 2015), `bms(attitude, g="UIP", mprior=…)`: inclusion, mean and sd of coefficients.
BMS = {
    0.5: {
        "complaints": (0.9996351399, 0.684449093556, 0.13038428870),
        "learning": (0.4056391502, 0.096481512813, 0.15135419121),
        "advance": (0.2129325050, -0.026686161235, 0.09133893505),
        "privileges": (0.1737658089, -0.011854182794, 0.06143387019),
        "raises": (0.1665852977, 0.010567022453, 0.08355243800),
        "critical": (0.1535886284, 0.001034562911, 0.05465096586),
    },
    "beta-binomial": {
        "complaints": (0.9996880336, 0.698890382641, 0.12420307325),
        "learning": (0.2742502634, 0.065846898175, 0.13349926099),
        "advance": (0.1481785739, -0.019416904492, 0.07913690427),
        "privileges": (0.1239070517, -0.008398339055, 0.05192894201),
        "raises": (0.1198402688, 0.007932254319, 0.07163804415),
        "critical": (0.1114158019, 0.001207886994, 0.04675149369),
    },
}
TABLES = {"attitude": attitude, "hald": hald, "uscrime": uscrime}
SLABS = {
    "bic": {},
    "g": {},
    "g-max": {"slab": "g", "g": "max"},
    "g-empirical": {"slab": "g", "g": "empirical"},
    "zellner-siow": {},
    "normal": {},
}


@pytest.mark.parametrize("prior", BMS, ids=str)
def test_coefficients_of_attitude_are_those_of_bms(prior):
    model = SpikeSlabRegressor(prior, slab="g").fit(*attitude())
    expected = np.array([BMS[prior][name] for name in ATTITUDE_NAMES])
    assert_allclose(model.inclusion_probabilities_, expected[:, 0], atol=1e-9)
    assert_allclose(model.coef_, expected[:, 1], rtol=1e-8)
    assert_allclose(model.coef_std_, expected[:, 2], rtol=1e-8)


@pytest.mark.parametrize(
    ("table", "slab"),
    [
        *(("attitude", slab) for slab in SLABS),
        ("hald", "g"),
        ("uscrime", "bic"),
        pytest.param("uscrime", "normal", marks=pytest.mark.slow),
    ],
)
def test_the_sampler_agrees_with_all_subsets(table, slab):
    """Within four of its standard errors, and a thousandth where these are smaller than a batch can tell."""
    X, y = TABLES[table]()
    arguments = {"prior_inclusion": "beta-binomial", "slab": slab, **SLABS[slab]}
    exact = SpikeSlabRegressor(**arguments, search="enumerate").fit(X, y)
    n_draws = None if table == "uscrime" else 1000
    sampled = SpikeSlabRegressor(**arguments, search="gibbs", n_draws=n_draws, random_state=0).fit(X, y)
    error = sampled.posterior_.diagnostics["inclusion_error"]
    gap = np.abs(sampled.inclusion_probabilities_ - exact.inclusion_probabilities_)
    assert (gap <= 4 * error + 1e-3).all() and error.max() < 0.05
    told = sampled.log_evidence_error_
    assert sampled.log_evidence_ == pytest.approx(exact.log_evidence_, abs=4 * told) and told < 0.05
    assert sampled.map_model_ == exact.map_model_
