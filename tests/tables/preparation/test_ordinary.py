"""Columns that need no care are prepared all at once, and as if each had been looked at."""

from copy import deepcopy

import numpy as np
import pytest

from credo.tables import Form, Preparation, kinds
from credo.tables.encoders import Numbers
from credo.tables.kinds import profile

pd = pytest.importorskip("pandas")


def wide():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(41, 30)) * 10.0 ** rng.integers(-8, 9, 30)).add_prefix("g")
    return frame.assign(count=rng.integers(0, 9, 41), small=rng.integers(0, 4, 41).astype(np.int8))


def test_ordinary_columns_give_what_a_look_at_each_one_gives():
    frame = wide()
    # Nullable columns hold the same numbers and are looked at one by one.
    for standardize in (False, True):
        fast, slow = (Preparation(standardize=standardize).fit(table) for table in (frame, frame.convert_dtypes()))
        assert fast.columns_ == slow.columns_ and fast.forms_ == slow.forms_ and fast.notes_ == slow.notes_
        assert [(e.name, e.fill, e.names()) for e in fast.encoders_] == [
            (e.name, e.fill, e.names()) for e in slow.encoders_
        ]
        np.testing.assert_allclose(fast.transform(frame), slow.transform(frame.convert_dtypes()), rtol=1e-13)
        assert fast.transform(frame).flags["C_CONTIGUOUS"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(1.0, 31.0), "identifier"),
        (np.full(30, 2.5), "constant"),
        (np.where(np.arange(30) == 3, np.inf, np.arange(30) / 7), "numeric"),
        (np.where(np.arange(30) == 3, np.nan, np.arange(30) / 7), "numeric"),
        (2**60 + np.arange(30) ** 2, "numeric"),
    ],
)
def test_columns_that_need_care_get_it_beside_ordinary_ones(values, kind):
    frame = pd.DataFrame({"plain": np.sin(np.arange(30.0)), "odd": values})
    together = Preparation().fit(frame)
    assert [column.kind for column in together.columns_] == ["numeric", kind]
    assert together.notes_
    assert all("'odd'" in note for note in together.notes_)


def test_ordinary_columns_are_not_touched_one_by_one(monkeypatch):
    """A look at a column costs a tenth of a millisecond, and a wide table has thousands in every fold."""
    looked = []
    monkeypatch.setattr(kinds, "profile", lambda name, column: looked.append(name) or profile(name, column))
    monkeypatch.setattr(Numbers, "matrix", lambda self, column: looked.append(self.name))
    frame = wide()
    preparation = Preparation(standardize=True).fit(frame)
    preparation.transform(frame)
    Preparation(kinds=preparation.forms_).fit(frame)
    assert looked == []


def test_copying_a_form_costs_nothing():
    form = Form("date", style="iso")
    assert deepcopy({"a": form})["a"] is form
