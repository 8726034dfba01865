"""The rule that says which models a table of some size allows, and its sentences."""

import re

import pytest
from credo.cli._models import REGRESSORS, estimators
from credo.cli._sizes import Size, duration, impossible, left_out, patience, seconds

from credo.cli import _sizes as sizes

KERNELS = ("nadaraya-watson", "kernel-ridge", "gp", "gp-matern")
SIMPLE = ("linear", "ridge", "bayes", "polynomial", "lms")


@pytest.fixture
def memory(monkeypatch):
    """A machine of 16 GB."""
    monkeypatch.setattr(sizes, "memory", lambda: 16 * 10**9)


@pytest.mark.parametrize(("shape", "wide"), [((1000, 43), False), ((1000, 44), True), ((10**6, 10), True)])
def test_the_limit_of_polynomials_counts_features_and_cells(shape, wide):
    assert (impossible("polynomial", Size(*shape)) is not None) == wide


@pytest.mark.parametrize("rows", [10, 300, 1030])
def test_tables_of_up_to_a_thousand_rows_get_every_model(rows, memory):
    assert left_out(REGRESSORS, Size(rows, 8)) == (set(), [])


def test_a_table_of_thousands_of_rows_goes_without_kernels_and_says_how_to_insist(memory):
    absent, notes = left_out(REGRESSORS, Size(8192, 8))
    assert absent == set(KERNELS)
    (note,) = notes
    assert re.fullmatch(
        r"nadaraya-watson \(about .*?\), kernel-ridge \(about .*?\), gp \(about .*?\) and gp-matern \(about .*?\) were "
        r"left out, for the time that 6 fits each would take on 8,192 rows; choose with --models "
        r"nadaraya-watson,kernel-ridge,gp,gp-matern to insist\.",
        note,
    )
    # Each has its own time, which is that of its own fits.
    for name in KERNELS:
        assert f"{name} ({duration(seconds(name, Size(8192, 8)))})" in note


def test_what_was_left_out_can_be_insisted_on_with_a_word_about_the_time(memory):
    chosen, notes = estimators(("gp", "linear"), Size(8192, 8))
    assert list(chosen) == ["linear", "gp"]
    assert len(notes) == 1
    assert re.fullmatch(r"For 6 fits on 8,192 rows: gp about \d+ minutes\.", notes[0])
    assert estimators(("gp", "linear"), Size(500, 8))[1] == []


def test_what_memory_does_not_hold_is_refused_in_words(memory):
    with pytest.raises(ValueError, match="the model 'gp' can't be used here") as caught:
        estimators(("gp",), Size(60_000, 8))
    # Three matrices of 60 000² numbers of 8 bytes: 86.4 GB.
    assert "3 matrices of 60,000 × 60,000 numbers need 86 GB, and this machine has 16 GB of memory" in str(caught.value)
    assert str(caught.value).endswith("; leave it out of --models")
    absent, notes = left_out(REGRESSORS, Size(60_000, 8))
    assert set(KERNELS) <= absent
    assert not any("--models" in note and "gp" in note for note in notes)


def test_where_the_memory_is_not_known_none_is_missed(monkeypatch):
    monkeypatch.setattr(sizes, "memory", lambda: None)
    assert impossible("gp", Size(60_000, 8)) is None


def test_tables_too_wide_to_be_dense_are_refused(memory):
    assert "too many to hold as one dense table" in impossible("gp", Size(4000, 30_000))
    assert impossible("linear", Size(4000, 30_000)) is None


@pytest.mark.parametrize("name", KERNELS)
def test_time_grows_with_rows_columns_and_folds(name):
    time = seconds(name, Size(1500, 8))
    assert time < seconds(name, Size(1800, 8))
    assert time < seconds(name, Size(1500, 40))
    assert time < seconds(name, Size(1500, 8, folds=10))


@pytest.mark.parametrize(
    ("name", "rows", "columns", "classes", "measured"),
    [
        ("gp", 500, 8, 2, 2.1),
        ("gp", 1000, 8, 2, 5.2),
        ("gp", 2000, 8, 2, 22.0),
        ("gp", 600, 4, 3, 5.3),
        ("neighbours", 1000, 8, 2, 0.83),
        ("neighbours", 2000, 1000, 2, 95.0),
        ("discriminant", 5574, 1000, 2, 5.1),
        ("bayes-logistic", 2000, 1000, 2, 17.0),
        ("bayes-logistic", 5000, 300, 2, 2.0),
        ("bayes-logistic", 2000, 50, 4, 0.5),
        ("sparse-logistic", 500, 30, 2, 0.74),
        ("sparse-logistic", 500, 500, 2, 2.6),
        ("spike-slab", 200, 8, 2, 0.038),
        ("spike-slab", 500, 12, 2, 0.59),
        ("spike-slab", 62, 2000, 2, 4.5),
        ("spike-slab", 500, 30, 2, 1.0),
        ("spike-slab", 2000, 30, 2, 1.9),
    ],
)
def test_times_of_classifiers_are_near_what_a_clock_said(name, rows, columns, classes, measured):
    """Seconds of one fit on one core of an ordinary machine: the estimate may be off by a factor of two."""
    size = Size(rows, columns, classes=classes)
    assert 0.5 < sizes._class_seconds(name, rows, size) / measured < 2.0


def test_folds_count_against_the_limit(memory):
    few, _ = left_out(REGRESSORS, Size(2000, 8, folds=2))
    many, _ = left_out(REGRESSORS, Size(2000, 8, folds=50))
    assert "gp" not in few
    assert "gp" in many


def test_linear_models_are_never_too_slow(memory):
    absent, _ = left_out(REGRESSORS, Size(10**6, 5))
    assert absent.isdisjoint({"linear", "ridge", "bayes", "lms"})
    assert patience(SIMPLE, Size(10**6, 5)) == []


@pytest.mark.parametrize(
    ("time", "words"),
    [(3.0, "about 10 seconds"), (89.0, "about 90 seconds"), (95.0, "about 2 minutes"), (86400.0 * 30, "about 30 days")],
)
def test_durations(time, words):
    assert duration(time) == words


@pytest.mark.parametrize(
    ("rows", "columns", "own"), [(300, 50, True), (300, 51, False), (30, 10, True), (30, 11, False)]
)
def test_length_scales_need_rows_to_tell_them_apart(rows, columns, own):
    assert Size(rows, columns).has_lengthscales == own


@pytest.mark.parametrize(
    ("name", "rows", "columns", "measured"),
    [
        ("lasso", 442, 10, 0.3),
        ("lasso", 2000, 1000, 9.0),
        ("spike-slab", 500, 20, 0.8),
        ("spike-slab", 500, 100, 0.5),
        ("spike-slab", 2000, 1000, 2.5),
        ("spike-slab", 100, 3000, 6.0),
    ],
)
def test_times_of_sparse_models_are_near_what_a_clock_said(name, rows, columns, measured):
    assert 0.4 < sizes._seconds_of_one(name, rows, columns) / measured < 2.5


def test_the_scores_of_mixtures_are_counted():
    """A thousand rows took 0.4 s, and a hundred thousand with their report 40 s."""
    assert sizes._scoring(Size(1000, 10)) == pytest.approx(0.4, rel=1.0)
    assert sizes._scoring(Size(100_000, 10)) == pytest.approx(40.0, rel=0.5)
    absent, notes = left_out(("lasso", "spike-slab"), Size(200_000, 10))
    assert absent == {"spike-slab"} and "choose with --models spike-slab to insist" in notes[0]
