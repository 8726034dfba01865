"""Numbers and lists in sentences."""

from credo.core import wording


def test_counts_have_their_nouns():
    assert [wording.plural(n, "row") for n in (1, 2, 1200)] == ["1 row", "2 rows", "1,200 rows"]
    assert wording.plural(2, "such entry") == "2 such entries"
    assert wording.plural(2, "model", spell=True) == "two models"


def test_lists_are_cut_after_a_few_names():
    assert wording.listing(["a", "b", "c"]) == "a, b and c"
    assert wording.listing(["a", "b", "c", "d"], at_most=2) == "a, b and 2 more"
    assert wording.quoted("abc", most=2) == "'a', 'b' and 1 more"
    assert wording.not_numbers(2, ["?", "none"], 7) == "2 values that aren't numbers ('?', 'none'; the first in row 7)"
    assert wording.not_numbers(1, ["?"], 7) == "1 value that isn't a number ('?' in row 7)"


def test_numbers_have_the_digits_that_a_reader_needs():
    assert [wording.number(x) for x in (-0.5, 54.6, 2.5e9)] == ["−0.500", "54.6", "2.5×10⁹"]
    assert [wording.datum(x) for x in (19.0, 25.66, 2007.0, 2007.25, 12345.0)] == [
        "19",
        "25.7",
        "2007",
        "2007",
        "12,345",
    ]
    assert [wording.shown(x) for x in (2007.0, 0.1234567, 1234567)] == ["2007", "0.123457", "1234567"]
    assert [wording.percent(x) for x in (0.25, 0.9486, 0.9996, 1.0)] == ["25 %", "94.9 %", "99.96 %", "100 %"]
    assert wording.whole_percent(0.4842) == "48 %"
    assert wording.aligned([54.321, 7.7, None]) == ["54.32", "7.70", "—"]
