"""Which models a table of some size rules out, and how that is said."""

import numpy as np
import pytest

from credo.core.inference import choose
from credo.kernels import RBF
from credo.study import size as sizes
from credo.study.catalogue import CARDS, chosen_cards, names
from credo.study.size import EXACT_ROWS, Size


@pytest.fixture
def memory(monkeypatch):
    """A machine of 16 GB."""
    monkeypatch.setattr(sizes, "memory", lambda: 16 * 10**9)


def impossible(name, size):
    return next(card for card in CARDS[size.task] if card.name == name).limit(size)


@pytest.mark.parametrize(("shape", "wide"), [((1000, 43), False), ((1000, 44), True), ((10**6, 10), True)])
def test_the_limit_of_polynomials_counts_features_and_cells(shape, wide):
    assert (impossible("polynomial", Size(*shape)) is not None) == wide


def test_a_table_of_thousands_of_rows_rules_out_nothing(memory):
    cards, notes = chosen_cards(Size(8192, 8), None)
    assert {card.name for card in cards} == {"baseline", *names("regression")} - {
        "naive",
        "naive-season",
        "gp-time",
        "gp-heteroscedastic",
        "gp-matern",
        "lms",
    }
    assert notes == []


def test_memory_that_is_not_there_is_named(memory):
    with pytest.raises(ValueError, match="the model 'kernel-ridge' can't be used for this table") as caught:
        chosen_cards(Size(60_000, 8), ["kernel-ridge"])
    # Four matrices of 60 000² numbers of 8 bytes: 115.2 GB.
    assert "4 matrices of 60,000 × 60,000 numbers need 115 GB, and this machine has 16 GB" in str(caught.value)
    cards, notes = chosen_cards(Size(60_000, 8), None)
    assert "kernel-ridge" not in {card.name for card in cards}
    assert any(note.startswith("Not used") and "kernel-ridge" in note for note in notes)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_many_rows_of_a_process_need_no_matrix_of_all_covariances(memory, classes):
    cards, _ = chosen_cards(Size(60_000, 8, classes=classes), ["gp"])
    model = cards[-1].make(Size(60_000, 8, classes=classes))
    assert model.method == "inducing" and model.n_restarts == 0
    # One threshold for all: `method="auto"` is exact up to this size.
    assert choose("auto", np.zeros((EXACT_ROWS, 8)), RBF())[0] == "exact"
    assert choose("auto", np.zeros((EXACT_ROWS + 1, 8)), RBF())[0] == "inducing"
    assert cards[-1].make(Size(EXACT_ROWS, 8, classes=classes)).method == "auto"


def test_unknown_memory_rules_out_nothing(monkeypatch):
    monkeypatch.setattr(sizes, "memory", lambda: None)
    assert impossible("kernel-ridge", Size(60_000, 8)) is None


def test_tables_too_large_to_be_dense(memory):
    assert "too many for a dense table" in impossible("gp", Size(4000, 30_000))
    assert "too many for a dense table" in impossible("discriminant", Size(10**6, 1000, classes=2))
    assert impossible("linear", Size(4000, 30_000)) is None


def test_models_that_many_columns_would_take_minutes():
    wide = Size(50, 100_000)
    for name, size in (("lms", wide), ("nadaraya-watson", wide), ("bayes-logistic", Size(50, 100_000, classes=2))):
        assert impossible(name, size) == "100,000 columns would take it many minutes; keep at most 20,000"
        # Words of many texts are sparse, and no reason to leave a linear model out.
        assert impossible(name, Size(size.rows, 1000, classes=size.classes)) is None
    assert impossible("bayes-logistic", Size(10**6, 1000, classes=2)) is None
    assert impossible("linear", wide) is None
    _, notes = chosen_cards(wide, None)
    assert any("nadaraya-watson (100,000 columns" in note for note in notes)


@pytest.mark.parametrize(
    ("rows", "columns", "own"), [(300, 50, True), (300, 51, False), (30, 10, True), (30, 11, False)]
)
def test_length_scales_need_rows_to_tell_them_apart(rows, columns, own):
    assert Size(rows, columns).has_lengthscales == own


def test_the_levels_of_one_column_count_as_one_input():
    assert Size(300, 80, inputs=4).has_lengthscales
