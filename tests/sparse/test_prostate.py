"""Stamey's prostate cancer table (97 men), and what The Elements of Statistical Learning says of it in table 3.3."""

import io

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from credo.linear import LinearRegression, Ridge
from credo.sparse import Lasso, LassoCV, SpikeSlabRegressor, lasso_path

# lcavol, lweight, age, lbph, svi, lcp, gleason, pgg45, lpsa, train
ROWS = """
-0.579818495,2.769459,50,-1.38629436,0,-1.38629436,6,0,-0.4307829,1
-0.994252273,3.319626,58,-1.38629436,0,-1.38629436,6,0,-0.1625189,1
-0.510825624,2.691243,74,-1.38629436,0,-1.38629436,7,20,-0.1625189,1
-1.203972804,3.282789,58,-1.38629436,0,-1.38629436,6,0,-0.1625189,1
0.751416089,3.432373,62,-1.38629436,0,-1.38629436,6,0,0.3715636,1
-1.049822124,3.228826,50,-1.38629436,0,-1.38629436,6,0,0.7654678,1
0.737164066,3.473518,64,0.61518564,0,-1.38629436,6,0,0.7654678,0
0.693147181,3.539509,58,1.53686722,0,-1.38629436,6,0,0.8544153,1
-0.776528789,3.539509,47,-1.38629436,0,-1.38629436,6,0,1.047319,0
0.223143551,3.244544,63,-1.38629436,0,-1.38629436,6,0,1.047319,0
0.254642218,3.604138,65,-1.38629436,0,-1.38629436,6,0,1.2669476,1
-1.347073648,3.598681,63,1.2669476,0,-1.38629436,6,0,1.2669476,1
1.613429934,3.022861,63,-1.38629436,0,-0.597837,7,30,1.2669476,1
1.477048724,2.998229,67,-1.38629436,0,-1.38629436,7,5,1.3480731,1
1.205970807,3.442019,57,-1.38629436,0,-0.43078292,7,5,1.3987169,0
1.541159072,3.061052,66,-1.38629436,0,-1.38629436,6,0,1.446919,1
-0.415515444,3.516013,70,1.24415459,0,-0.597837,7,30,1.4701758,1
2.288486169,3.649359,66,-1.38629436,0,0.37156356,6,0,1.4929041,1
-0.562118918,3.267666,41,-1.38629436,0,-1.38629436,6,0,1.5581446,1
0.182321557,3.825375,70,1.65822808,0,-1.38629436,6,0,1.5993876,1
1.147402453,3.419365,59,-1.38629436,0,-1.38629436,6,0,1.6389967,1
2.059238834,3.501043,60,1.47476301,0,1.34807315,7,20,1.6582281,0
-0.544727175,3.37588,59,-0.7985077,0,-1.38629436,6,0,1.6956156,1
1.781709133,3.451574,63,0.43825493,0,1.178655,7,60,1.7137979,1
0.385262401,3.6674,69,1.59938758,0,-1.38629436,6,0,1.7316555,0
1.446918983,3.124565,68,0.30010459,0,-1.38629436,6,0,1.7664417,0
0.512823626,3.719651,65,-1.38629436,0,-0.7985077,7,70,1.8000583,1
-0.400477567,3.865979,67,1.81645208,0,-1.38629436,7,20,1.8164521,0
1.040276712,3.128951,67,0.22314355,0,0.04879016,7,80,1.8484548,1
2.409644165,3.37588,65,-1.38629436,0,1.61938824,6,0,1.8946169,1
0.285178942,4.090169,65,1.96290773,0,-0.7985077,6,0,1.9242487,1
0.182321557,3.8044377947482086,65,1.70474809,0,-1.38629436,6,0,2.008214,0
1.2753628,3.037354,71,1.2669476,0,-1.38629436,6,0,2.008214,1
0.009950331,3.267666,54,-1.38629436,0,-1.38629436,6,0,2.0215476,0
-0.010050336,3.216874,63,-1.38629436,0,-0.7985077,6,0,2.0476928,1
1.30833282,4.11985,64,2.17133681,0,-1.38629436,7,5,2.0856721,0
1.423108334,3.657131,73,-0.5798185,0,1.65822808,8,15,2.1575593,1
0.457424847,2.374906,64,-1.38629436,0,-1.38629436,7,15,2.1916535,1
2.660958594,4.085136,68,1.37371558,1,1.83258146,7,35,2.2137539,1
0.797507196,3.013081,56,0.93609336,0,-0.16251893,7,5,2.2772673,1
0.620576488,3.141995,60,-1.38629436,0,-1.38629436,9,80,2.2975726,1
1.442201993,3.68261,68,-1.38629436,0,-1.38629436,7,10,2.3075726,0
0.58221562,3.865979,62,1.71379793,0,-0.43078292,6,0,2.3272777,1
1.771556762,3.896909,61,-1.38629436,0,0.81093022,7,6,2.3749058,0
1.486139696,3.409496,66,1.74919985,0,-0.43078292,7,20,2.5217206,1
1.663926098,3.392829,61,0.61518564,0,-1.38629436,7,15,2.5533438,1
2.727852828,3.995445,79,1.87946505,1,2.65675691,9,100,2.5687881,1
1.16315081,4.035125,68,1.71379793,0,-0.43078292,7,40,2.5687881,0
1.745715531,3.498022,43,-1.38629436,0,-1.38629436,6,0,2.5915164,0
1.220829921,3.568123,70,1.37371558,0,-0.7985077,6,0,2.5915164,0
1.091923301,3.993603,68,-1.38629436,0,-1.38629436,7,50,2.6567569,1
1.660131027,4.234831,64,2.07317193,0,-1.38629436,6,0,2.677591,1
0.512823626,3.633631,64,1.4929041,0,0.04879016,7,70,2.6844403,0
2.12704052,4.121473,68,1.76644166,0,1.44691898,7,40,2.6912431,0
3.153590358,3.516013,59,-1.38629436,0,-1.38629436,7,5,2.7047113,0
1.266947603,4.280132,66,2.12226154,0,-1.38629436,7,15,2.7180005,1
0.97455964,2.865054,47,-1.38629436,0,0.50077529,7,4,2.7880929,0
0.463734016,3.764682,49,1.42310833,0,-1.38629436,6,0,2.7942279,1
0.542324291,4.178226,70,0.43825493,0,-1.38629436,7,20,2.8063861,1
1.061256502,3.851211,61,1.29472717,0,-1.38629436,7,40,2.8124102,1
0.457424847,4.524502,73,2.32630162,0,-1.38629436,6,0,2.8419982,1
1.997417706,3.719651,63,1.61938824,1,1.9095425,7,40,2.8535925,0
2.77570885,3.524889,72,-1.38629436,0,1.55814462,9,95,2.8535925,1
2.034705648,3.917011,66,2.00821403,1,2.1102132,7,60,2.8820035,0
2.073171929,3.623007,64,-1.38629436,0,-1.38629436,6,0,2.8820035,0
1.458615023,3.836221,61,1.32175584,0,-0.43078292,7,20,2.8875901,0
2.02287119,3.878466,68,1.78339122,0,1.32175584,7,70,2.9204698,1
2.198335072,4.050915,72,2.30757263,0,-0.43078292,7,10,2.9626924,1
-0.446287103,4.408547,69,-1.38629436,0,-1.38629436,6,0,2.9626924,1
1.193922468,4.780383,72,2.32630162,0,-0.7985077,7,5,2.9729753,1
1.864080131,3.593194,60,-1.38629436,1,1.32175584,7,60,3.0130809,1
1.160020917,3.341093,77,1.74919985,0,-1.38629436,7,25,3.0373539,1
1.214912744,3.825375,69,-1.38629436,1,0.22314355,7,20,3.0563569,0
1.838961071,3.236716,60,0.43825493,1,1.178655,9,90,3.0750055,0
2.999226163,3.849083,69,-1.38629436,1,1.9095425,7,20,3.2752562,1
3.141130476,3.263849,68,-0.05129329,1,2.42036813,7,50,3.3375474,1
2.010894999,4.433789,72,2.12226154,0,0.50077529,7,60,3.3928291,1
2.537657215,4.354784,78,2.32630162,0,-1.38629436,7,10,3.4355988,1
2.648300197,3.582129,69,-1.38629436,1,2.58399755,7,70,3.4578927,1
2.779440197,3.823192,63,-1.38629436,0,0.37156356,7,50,3.5130369,0
1.467874348,3.070376,66,0.55961579,0,0.22314355,7,40,3.5160131,1
2.513656063,3.473518,57,0.43825493,0,2.32727771,7,60,3.5307626,1
2.613006652,3.888754,77,-0.52763274,1,0.55961579,7,30,3.5652984,1
2.677590994,3.838376,65,1.11514159,0,1.74919985,9,70,3.5709402,0
1.562346305,3.709907,60,1.69561561,0,0.81093022,7,30,3.5876769,1
3.302849259,3.51898,64,-1.38629436,1,2.32727771,7,60,3.6309855,1
2.024193067,3.731699,58,1.63899671,0,-1.38629436,6,0,3.6800909,1
1.731655545,3.369018,62,-1.38629436,1,0.30010459,7,30,3.7123518,1
2.807593831,4.718052,65,-1.38629436,1,2.46385324,7,60,3.9843437,1
1.562346305,3.69511,76,0.93609336,1,0.81093022,7,75,3.993603,1
3.246490992,4.101817,68,-1.38629436,0,-1.38629436,6,0,4.029806,1
2.532902848,3.677566,61,1.34807315,1,-1.38629436,7,15,4.1295508,1
2.830267834,3.876396,68,-1.38629436,1,1.32175584,7,60,4.3851468,1
3.821003607,3.896909,44,-1.38629436,1,2.1690537,7,40,4.6844434,1
2.907447359,3.396185,52,-1.38629436,1,2.46385324,7,10,5.1431245,0
2.882563575,3.77391,68,1.55814462,1,1.55814462,7,80,5.477509,1
3.471966453,3.974998,68,0.43825493,1,2.90416508,7,20,5.5829322,0
"""


def table():
    """Columns standardised over all rows (ddof=1), as in the book; the targets, and which rows are for training."""
    values = np.genfromtxt(io.StringIO(ROWS), delimiter=",")
    X = values[:, :8]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), values[:, 8], values[:, 9] == 1


def test_least_squares_is_the_book_s():
    X, y, train = table()
    model = LinearRegression().fit(X[train], y[train])
    expected = [0.680, 0.263, -0.141, 0.210, 0.305, -0.288, -0.021, 0.267]
    np.testing.assert_allclose(model.coef_, expected, atol=6e-4)
    assert model.intercept_ == pytest.approx(2.465, abs=6e-4)
    assert np.mean((model.predict(X[~train]) - y[~train]) ** 2) == pytest.approx(0.521, abs=6e-4)


def test_the_best_subset_column_is_the_book_s():
    """Two columns, by enumeration: lcavol and lweight, and least squares on them."""
    X, y, train = table()
    subset = list(SpikeSlabRegressor().fit(X[train], y[train]).best_subsets_[2])
    assert subset == [0, 1]
    model = LinearRegression().fit(X[train][:, subset], y[train])
    np.testing.assert_allclose([model.intercept_, *model.coef_], [2.477, 0.740, 0.316], atol=6e-4)
    assert np.mean((model.predict(X[~train][:, subset]) - y[~train]) ** 2) == pytest.approx(0.492, abs=6e-4)


def test_the_ridge_column_is_the_book_s():
    """Five effective degrees of freedom, Σ v/(v + λ) = 5 over the eigenvalues v of XᵀX, say which penalty. The book
    leaves the columns centred over all rows, and takes the mean of the training rows for the intercept."""
    X, y, train = table()
    values, mean = np.linalg.eigvalsh(X[train].T @ X[train]), y[train].mean()
    alpha = brentq(lambda alpha: np.sum(values / (values + alpha)) - 5.0, 1.0, 100.0)
    model = Ridge(alpha, fit_intercept=False).fit(X[train], y[train] - mean)
    expected = [0.420, 0.238, -0.046, 0.162, 0.227, 0.000, 0.040, 0.133]
    np.testing.assert_allclose(model.coef_, expected, atol=6e-4)
    assert mean == pytest.approx(2.452, abs=6e-4)
    assert np.mean((model.predict(X[~train]) + mean - y[~train]) ** 2) == pytest.approx(0.492, abs=6e-4)


def test_the_principal_components_column_is_the_book_s():
    """Seven components in a pipeline, of columns centred over all rows."""
    X, y, train = table()
    model = make_pipeline(TruncatedSVD(7, algorithm="arpack"), LinearRegression()).fit(X[train], y[train])
    expected = [0.543, 0.289, -0.152, 0.214, 0.315, -0.051, 0.232, -0.056]
    np.testing.assert_allclose(model[-1].coef_ @ model[0].components_, expected, atol=6e-4)
    assert model[-1].intercept_ == pytest.approx(2.497, abs=6e-4)
    assert np.mean((model.predict(X[~train]) - y[~train]) ** 2) == pytest.approx(0.449, abs=6e-4)


def test_the_partial_least_squares_column_is_the_book_s():
    """Least squares on two directions (the book's algorithm 3.3), of columns and target centred as for ridge."""
    X, y, train = table()
    mean, rest, directions = y[train].mean(), X[train].copy(), []
    for _ in range(2):
        z = rest @ (rest.T @ (y[train] - mean))
        directions.append(z)
        rest -= np.outer(z, z @ rest) / (z @ z)
    model = LinearRegression(fit_intercept=False).fit(np.column_stack(directions), y[train] - mean)
    # What is fitted is a function of the columns, since the directions are.
    weights = np.linalg.lstsq(X[train], model.predict(np.column_stack(directions)))[0]
    np.testing.assert_allclose(weights, [0.419, 0.344, -0.026, 0.220, 0.243, 0.079, 0.011, 0.084], atol=6e-4)
    assert np.mean((X[~train] @ weights + mean - y[~train]) ** 2) == pytest.approx(0.528, abs=6e-4)


def test_the_lasso_column_is_the_book_s():
    """The book penalises columns of unit variance on the training rows; one number, lcavol's weight, says where."""
    X, y, train = table()
    scale = X[train].std(axis=0)

    def at(alpha):
        return Lasso(alpha, tol=1e-10).fit(X[train] / scale, y[train])

    model = at(brentq(lambda alpha: at(alpha).coef_[0] / scale[0] - 0.533, 0.05, 0.4))
    np.testing.assert_allclose(model.coef_ / scale, [0.533, 0.169, 0, 0.002, 0.094, 0, 0, 0], atol=1.1e-3)
    assert model.intercept_ == pytest.approx(2.468, abs=6e-4)
    assert np.mean((model.predict(X[~train] / scale) - y[~train]) ** 2) == pytest.approx(0.479, abs=1.1e-3)


def test_columns_enter_the_path_in_the_book_s_order():
    """Figure 3.10: lcavol, then svi and lweight, before the rest."""
    X, y, train = table()
    path = lasso_path(X[train] / X[train].std(axis=0), y[train])
    first = [int(np.flatnonzero(row)[0]) if row.any() else len(path.alphas) for row in path.coefs]
    assert set(np.argsort(first, kind="stable")[:3]) == {0, 1, 4} and np.argmin(first) == 0


def test_one_standard_error_is_a_sparser_model():
    X, y, train = table()
    least, sparser = (LassoCV(cv=10, rule=rule).fit(X[train], y[train]) for rule in ("min", "one-standard-error"))
    assert sparser.alpha_ > least.alpha_ and (sparser.coef_ != 0).sum() < (least.coef_ != 0).sum()
    assert sparser.coef_[0] == pytest.approx(0.533, abs=0.03)
