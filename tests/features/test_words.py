"""Word indicators: scikit-learn's count vectors, every container of strings, and refusals in words."""

import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from credo.features import Words

TEXTS = ["Free money NOW, free!", "see you now", "", "don't be free — naïve Ωmega 漢字"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_indicators_are_those_of_count_vectorizer(lowercase):
    pattern = r"(?u)\b\w\w+\b"
    theirs = CountVectorizer(binary=True, lowercase=lowercase).fit(TEXTS)
    ours = Words(token_pattern=pattern, lowercase=lowercase).fit(TEXTS)
    assert ours.vocabulary_ == sorted(theirs.vocabulary_)
    np.testing.assert_array_equal(ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray())


@given(st.lists(st.text(alphabet="ab cd\né", max_size=12), min_size=1, max_size=6), st.integers(1, 3))
def test_vocabulary_counts_texts_not_occurrences(texts, least):
    words = {w for t in texts for w in t.split()}
    expected = sorted(w for w in words if sum(w in t.split() for t in texts) >= least)
    if expected:
        assert Words(min_count=least, token_pattern=r"\S+").fit(texts).vocabulary_ == expected
    else:
        with pytest.raises(ValueError, match="the vocabulary is empty"):
            Words(min_count=least, token_pattern=r"\S+").fit(texts)


def test_output_is_a_csr_of_floats_with_sorted_indices():
    Phi = Words().fit_transform(TEXTS)
    assert issparse(Phi)
    assert Phi.format == "csr"
    assert Phi.dtype == np.float64
    assert Phi.has_canonical_format
    np.testing.assert_array_equal(Words(sparse_output=False).fit_transform(TEXTS), Phi.toarray())


def test_most_frequent_words_are_kept_with_ties_in_alphabetical_order():
    texts = ["b a c", "b c", "b a", "d"]
    assert Words(max_words=2).fit(texts).vocabulary_ == ["a", "b"]
    assert Words(max_words=99).fit(texts).vocabulary_ == ["a", "b", "c", "d"]


def test_one_letter_and_apostrophes_are_words():
    assert Words().fit(["I don't, rock'n'roll 'quoted'"]).vocabulary_ == [
        "don't",
        "i",
        "quoted",
        "rock'n'roll",
    ]


def test_two_ways_to_write_an_accent_are_one_word():
    composed, decomposed = "café", unicodedata.normalize("NFD", "café")
    assert composed != decomposed
    assert Words().fit([composed]).transform([decomposed]).toarray().tolist() == [[1.0]]


def test_unseen_words_are_ignored():
    assert Words().fit(["a b"]).transform(["c d"]).toarray().tolist() == [[0.0, 0.0]]


def test_a_group_in_the_pattern_is_the_word():
    assert Words(token_pattern=r"#(\w+)").fit(["see #this and #that"]).vocabulary_ == ["that", "this"]


@pytest.mark.parametrize(
    "held",
    [list(TEXTS), tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), np.array(TEXTS)[:, None],
     pd.Series(TEXTS), pd.Series(TEXTS, dtype=object, index=[9, 8, 7, 6]), pd.DataFrame({"t": TEXTS}),
     pl.Series(TEXTS), pl.DataFrame({"t": TEXTS})],
    ids=lambda held: type(held).__module__ + "." + type(held).__name__,
)  # fmt: skip
def test_every_holder_of_strings_is_read(held):
    np.testing.assert_array_equal(Words().fit_transform(held).toarray(), Words().fit_transform(TEXTS).toarray())


def test_names_and_frames_out():
    words = Words(sparse_output=False).set_output(transform="pandas")
    # Before 1.8, scikit-learn keeps the index of frames only.
    out = words.fit_transform(pd.DataFrame({"text": ["free now", "now"]}, index=[5, 6]))
    assert list(out.columns) == ["word=free", "word=now"]
    assert list(out.index) == [5, 6]


def test_words_stand_in_pipelines_and_column_transformers():
    frame = pd.DataFrame({"text": ["good", "bad", "good film", "bad film"], "year": [1.0, 2.0, 3.0, 4.0]})
    y = [1.0, -1.0, 1.0, -1.0]
    spread = ColumnTransformer([("text", Words(), "text"), ("rest", "passthrough", ["year"])])
    model = make_pipeline(spread, LinearRegression()).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-6)
    assert list(spread.fit(frame).get_feature_names_out())[:2] == ["text__word=bad", "text__word=film"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [("one text", "Words needs a list of texts.*got one str"),
     ({"a": "b"}, "Words needs a list of texts.*got one dict"),
     (7, "Words needs a list of texts; got int"),
     ([], "there are no texts: X has 0 rows"),
     (["fine", None], "row 1 holds None .NoneType., not text; use '' for a missing text"),
     (["fine", float("nan")], "row 1 holds nan .float., not text"),
     (pd.Series(["fine", None]), "row 1 holds"),
     ([b"bytes"], "row 0 holds b'bytes' .bytes., not text"),
     (np.ones((3, 2)), r"one column of text; got an array of shape \(3, 2\)"),
     (pd.DataFrame({"a": ["x"], "b": ["y"]}), "one column of text; got 2: a, b"),
     (["", " ... "], "the vocabulary is empty: 2 texts have 0 different words")],
)  # fmt: skip
def test_what_is_not_text_is_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        Words().fit(texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"min_count": 0}, "min_count must be a whole number of at least 1; got 0"),
     ({"max_words": 0}, "max_words must be a whole number of at least 1; got 0"),
     ({"min_count": 5}, "min_count=5"),
     ({"lowercase": 1}, "lowercase must be one of True, False; got 1"),
     ({"token_pattern": "("}, "token_pattern must be a regular expression"),
     ({"token_pattern": None}, "token_pattern must be a regular expression"),
     ({"token_pattern": r"(a)(b)"}, "at most one group")],
)  # fmt: skip
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Words(**arguments).fit(TEXTS)
