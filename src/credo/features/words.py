"""Word indicators from raw text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from typing import Annotated, Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.core.estimator import FittedState, choice, named_by, positive_integer
from credo.core.fields import NotEmpty, Where


class Words(FittedState, TransformerMixin, BaseEstimator):
    """Which words a text contains.

        φ_w(text) = 1{w occurs in text}  for each word w of the vocabulary

    The vocabulary is learned in `fit` and sorted; words it doesn't know are ignored. Texts are normalized to Unicode
    NFC first. Equivalent to scikit-learn's `CountVectorizer(binary=True)` apart from the token pattern, which here
    keeps words of one letter and words such as "don't".

    Parameters
    ----------
    min_count : int, default 1
        Keep words that occur in at least this many texts.
    max_words : int, optional
        Keep the words that occur in the most texts, ties in alphabetical order.
    lowercase : bool, default True
    token_pattern : str, default r"\\w+(?:['’]\\w+)*"
        Regular expression of a word; if it has a group, the group is the word.
    sparse_output : bool, default True
        A CSR array, or a dense one (which `set_output(transform="pandas")` needs).

    Attributes
    ----------
    vocabulary_ : list of str
        The words, sorted; column j is word j.

    Examples
    --------
    >>> from credo.features import Words
    >>> words = Words().fit(["Free money now", "see you now"])
    >>> words.vocabulary_
    ['free', 'money', 'now', 'see', 'you']
    >>> words.transform(["money, money!"]).toarray()
    array([[0., 1., 0., 0., 0.]])
    >>> words.get_feature_names_out()[0]
    'word=free'
    """

    vocabulary_: Annotated[list[str], NotEmpty]
    token_pattern: Annotated[str, Where(_compiled, "a pattern")]

    def __init__(
        self,
        *,
        min_count: int = 1,
        max_words: int | None = None,
        lowercase: bool = True,
        token_pattern: str = r"\w+(?:['’]\w+)*",
        sparse_output: bool = True,
    ) -> None:
        self.min_count = min_count
        self.max_words = max_words
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.sparse_output = sparse_output

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary of the texts.

        Parameters
        ----------
        X : list, array, series or one-column frame of strings
        y : ignored
        """
        min_count = positive_integer("min_count", self.min_count)
        most = None if self.max_words is None else positive_integer("max_words", self.max_words)
        for name in ("lowercase", "sparse_output"):
            choice(name, getattr(self, name), (True, False))
        n_texts, counts = 0, Counter[str]()
        for found in self._tokens(X):
            n_texts += 1
            counts.update(found)
        ranked = sorted((w for w, n in counts.items() if n >= min_count), key=lambda w: (-counts[w], w))
        if not ranked:
            raise ValueError(
                f"the vocabulary is empty: {n_texts} texts have {len(counts)} different words, none of them left with "
                f"min_count={min_count} and token_pattern={self.token_pattern!r}"
            )
        self.vocabulary_ = sorted(ranked[:most])
        return self

    def transform(self, X: Any) -> Any:
        """0/1 indicators of shape (n_texts, n_words), as a CSR array unless `sparse_output` is False."""
        check_is_fitted(self)
        column_of = {word: j for j, word in enumerate(self.vocabulary_)}
        columns: list[int] = []
        ends = [0]
        for found in self._tokens(X):
            columns.extend(sorted(column_of[word] for word in found if word in column_of))
            ends.append(len(columns))
        index = np.int32 if len(columns) < np.iinfo(np.int32).max else np.int64
        Phi = csr_array(
            (np.ones(len(columns)), np.asarray(columns, dtype=index), np.asarray(ends, dtype=index)),
            shape=(len(ends) - 1, len(self.vocabulary_)),
        )
        return named_by(Phi if self.sparse_output else Phi.toarray(), self)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each column: "word=free" for the word free."""
        check_is_fitted(self)
        return np.asarray([f"word={word}" for word in self.vocabulary_], dtype=object)

    def _tokens(self, X: Any) -> Iterator[set[str]]:
        """The set of words of each text."""
        pattern = _compiled(self.token_pattern)
        for text in _texts(X):
            normal = unicodedata.normalize("NFC", text)
            found = set(pattern.findall(normal.lower() if self.lowercase else normal))
            found.discard("")
            yield found


def _compiled(pattern: Any) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(f"token_pattern must be a regular expression; {pattern!r} is invalid: {error}") from error
    if not isinstance(compiled.pattern, str) or compiled.groups > 1:
        raise ValueError(f"token_pattern must be text with at most one group; got {pattern!r}")
    return compiled


def _texts(X: Any) -> list[str]:
    """The texts as a list, from whatever holds one column of strings."""
    if isinstance(X, str | bytes | Mapping | Set):
        raise ValueError(f"Words needs a list of texts, as in [text]; got one {type(X).__name__}")
    values = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(values, nw.DataFrame):
        if values.shape[1] != 1:
            raise ValueError(f"Words needs one column of text; got {values.shape[1]}: {', '.join(values.columns)}")
        values = values.get_column(values.columns[0])
    if isinstance(values, nw.Series):
        texts = values.to_list()
    elif isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        texts = values[:, 0].tolist()
    elif isinstance(values, np.ndarray) and values.ndim != 1:
        raise ValueError(f"Words needs one column of text; got an array of shape {values.shape}")
    else:
        try:
            texts = list(values)
        except TypeError as error:
            raise ValueError(f"Words needs a list of texts; got {type(X).__name__}") from error
    if not texts:
        raise ValueError("there are no texts: X has 0 rows")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"row {row} holds {text!r} ({type(text).__name__}), not text; use '' for a missing text and "
                "str() for numbers"
            )
    return texts
