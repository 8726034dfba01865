"""The tails of Student's t: their digits at any degrees of freedom, and the table that many values are read from."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from credo.distributions import StudentT
from credo.distributions.student_t import MIN_TABLE_VALUES, two_sided


@pytest.mark.parametrize("df", [0.7, 3.0, 49.0, 51.0, 1e4, 3e6, 5e7, 1e9])
@pytest.mark.parametrize("z", [0.5, 0.999, 1.001, 3.0, 7.0, 12.0])
def test_tails_are_integrals_of_the_density(df: float, z: float) -> None:
    def kernel(x: float) -> float:
        return float(np.exp(-(df + 1) / 2 * np.log1p(x * x / df)))

    def integral(a: float, b: float) -> float:
        return quad(kernel, a, b, epsabs=0.0, epsrel=1e-13, limit=500)[0]

    inner, outer = integral(0, z), integral(z, 2 * z + 1) + integral(2 * z + 1, np.inf)
    np.testing.assert_allclose(two_sided(np.array([z]), np.array([df])), outer / (inner + outer), rtol=3e-12)


def test_two_and_four_degrees_of_freedom_have_a_closed_form() -> None:
    z = np.geomspace(1e-6, 1e4, 60)
    root = np.sqrt(2 + z * z)
    np.testing.assert_allclose(two_sided(z, np.array([2.0])), 2 / (root * (root + z)), rtol=1e-13)
    # With s = z/√(4+z²): P(|t| > z) = 1 − s(3 − s²)/2 = (1 − s)²(2 + s)/2.
    gap = 4 / (np.sqrt(4 + z * z) * (np.sqrt(4 + z * z) + z))
    np.testing.assert_allclose(two_sided(z, np.array([4.0])), gap**2 * (3 - gap) / 2, rtol=1e-13)


@pytest.mark.parametrize("df", [5.0, 6.5, 30.0, 200.0, 1e4, 1e7])
def test_a_table_is_read_as_the_function_is_computed(df: float) -> None:
    z = np.random.default_rng(0).normal(0, 5, 5 * MIN_TABLE_VALUES)
    many, few = StudentT(df).cdf(z), np.concatenate([StudentT(df).cdf(part) for part in np.split(z, 10)])
    np.testing.assert_allclose(many, few, rtol=2e-13)
    np.testing.assert_allclose(many, stats.t.cdf(z, df), rtol=1e-9)


@pytest.mark.parametrize("df", [8.0, 3000.0])
def test_a_table_ends_where_the_function_goes_on(df: float) -> None:
    z = np.append(np.full(MIN_TABLE_VALUES, 15.999), [16.0, 16.001, 30.0, 38.0, 45.0, 1e3, 1e200, np.inf])
    np.testing.assert_allclose(StudentT(df).cdf(-z)[-8:], [StudentT(df).cdf(-value) for value in z[-8:]], rtol=1e-13)
    assert StudentT(df).cdf(-z)[-1] == 0.0
