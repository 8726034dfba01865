"""The order of levels: numbered ones, ranges, and words such as low, medium and high."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Words of one scale, in order; words of equal rank stand side by side. A column matches if all its levels are there.
_SCALES = (
    "none/lowest/very low/low/lower/below average/medium low/medium/mid/middle/moderate/average/normal/medium high"
    "/above average/high/higher/very high/highest",
    "extra small/very small/tiny/small/medium/moderate/medium sized/large/big/very large/very big/extra large/huge",
    "xxs/xs/s/m/l/xl/xxl/2xl/xxxl/3xl",
    "never/almost never/very rarely/rarely/seldom/occasionally/sometimes/often/frequently/usually/very often"
    "/very frequently/almost always/always",
    "never/yearly/annually/quarterly/monthly/weekly/daily/hourly",
    "terrible/very poor/very bad/poor/bad/below average/fair/average/ok/okay/acceptable/satisfactory/good/very good"
    "/premium/excellent/ideal/outstanding/perfect",
    "strongly disagree/disagree/somewhat disagree/slightly disagree/neutral/undecided/neither agree nor disagree"
    "/slightly agree/somewhat agree/agree/strongly agree",
    "very dissatisfied/very unsatisfied/dissatisfied/unsatisfied/somewhat dissatisfied/neutral/somewhat satisfied"
    "/satisfied/very satisfied",
    "very unlikely/unlikely/neutral/likely/very likely",
    "not at all/a little/a little bit/slightly/somewhat/moderately/quite/quite a bit/very/very much/extremely",
    "none/minimal/mild/moderate/severe/very severe/critical",
    "beginner/novice/intermediate/advanced/expert",
    "infant/baby/child/teen/teenager/young/young adult/adult/middle aged/old/senior/elderly",
    "no school/primary/primary school/elementary/elementary school/middle school/< hs grad/less than high school"
    "/some high school/secondary/secondary school/high school/hs grad/high school grad/high school graduate"
    "/some college/associate/associate degree/college/college grad/college graduate/bachelor/bachelors/graduate"
    "/master/masters/advanced degree/phd/doctorate",
    "very cold/cold/cool/mild/warm/hot/very hot",
    "very short/short/medium/average/tall/long/very tall/very long",
    "very slow/slow/medium/moderate/fast/very fast",
    "very light/light/medium/heavy/very heavy",
    "bronze/silver/gold/platinum",
    "i3/i2/i1/si2/si1/vs2/vs1/vvs2/vvs1/if",
    "first/second/third/fourth/fifth/sixth/seventh/eighth/ninth/tenth",
    "monday/tuesday/wednesday/thursday/friday/saturday/sunday",
    "mon/tue/wed/thu/fri/sat/sun",
    "january/february/march/april/may/june/july/august/september/october/november/december",
    "jan/feb/mar/apr/may/jun/jul/aug/sep/sept/oct/nov/dec",
)
_RANKS = tuple({word: rank for rank, word in enumerate(scale.split("/"))} for scale in _SCALES)
# M and S alone are as likely married and single as sizes.
_LETTERS = {"s", "m", "l"}

_NUMBER = r"[$€£]?\s*(-?\d[\d,]*(?:\.\d+)?)\s*([kKmM%]?)"
_UNIT = r"\s*(?P<unit>[^\W\d]*)"
_BETWEEN = re.compile(rf"[\[(]?\s*{_NUMBER}\s*(?:-|–|—|,|to|\.\.)\s*{_NUMBER}\s*[\])]?{_UNIT}")
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than)\s*{_NUMBER}{_UNIT}", re.IGNORECASE)
_AT_LEAST = re.compile(
    rf"{_NUMBER}(?:\s*[^\W\d]+)??\s*(?:\+|(?:and|or) (?:over|more|above|older|up)){_UNIT}", re.IGNORECASE
)
_FACTORS = {"k": 1e3, "m": 1e6}

_NUMBERED = re.compile(r"[(\[]?(\d{1,3})\s*[.):\]-]\s*([^\d\s].*)")
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th)\b.*", re.IGNORECASE)
_COUNTED = re.compile(r"(.*?[^\d\s.-])[\s_-]*(\d{1,4})")
_COUNTING_WORDS = {
    "day", "grade", "level", "month", "phase", "q", "quarter", "rank", "stage", "step", "tier", "week", "year",
}  # fmt: skip
_LONGEST = 100
_COMPARES = re.compile(r"[<>≤≥]|\b(less|more|under|over|above|below)\b", re.IGNORECASE)


def in_order(levels: Iterable[str], dtype: Any = None) -> tuple[list[str], bool]:
    """The levels in their order, and whether that order is a scale; without one they are in alphabetical order.

    Numbered levels keep their numbers' order even where it need not be a scale, as in 1. North, 2. South.

    Parameters
    ----------
    levels : iterable of str
    dtype : dtype of the column; that of an ordered pandas Categorical has the order

    Examples
    --------
    >>> in_order(["Good", "Ideal", "Fair", "Very Good"])
    (['Fair', 'Good', 'Very Good', 'Ideal'], True)
    >>> in_order(["10-19", "0-9", "20+"])
    (['0-9', '10-19', '20+'], True)
    >>> in_order(["2. Black", "10. Other", "1. White"])
    (['1. White', '2. Black', '10. Other'], False)
    """
    words = sorted(levels)
    if getattr(dtype, "ordered", None):
        rank = {str(value).strip(): place for place, value in enumerate(dtype.categories)}
        if rank.keys() >= set(words):
            return sorted(words, key=rank.__getitem__), True
    # No level of a scale is longer; the patterns below try all splits of a run of blanks or digits.
    if any(len(word) > _LONGEST for word in words):
        return words, False
    for keys, is_scale in ((_scale(words), True), (_ranges(words), True), _numbers(words)):
        if keys is not None:
            return [word for _, word in sorted(zip(keys, words, strict=True))], is_scale
    return words, False


def _scale(words: list[str]) -> list[float] | None:
    plain = [re.sub(r"[\s_\-]+", " ", word.casefold()).strip(" .") for word in words]
    if len(set(plain)) < max(len(plain), 2) or (set(plain) < _LETTERS):
        return None
    return next(([float(rank[word]) for word in plain] for rank in _RANKS if rank.keys() >= set(plain)), None)


def _ranges(words: list[str]) -> list[tuple[float, float]] | None:
    found = [_range(word) for word in words]
    keys = [key for key, _ in found if key is not None]
    # Months and years can't be compared by their numbers.
    units = {unit.casefold().rstrip("s") for _, unit in found if unit}
    return keys if len(keys) == len(words) > 1 and len(units) <= 1 else None


def _range(word: str) -> tuple[tuple[float, float] | None, str]:
    """The ends of a range, or None, and its unit."""
    if match := _BETWEEN.fullmatch(word):
        low, high = _value(match[1], match[2] or match[4]), _value(match[3], match[4])
        return (low, high) if low <= high else None, match["unit"]
    if match := _BELOW.fullmatch(word):
        return (-math.inf, _value(match[1], match[2])), match["unit"]
    if match := _ABOVE.fullmatch(word) or _AT_LEAST.fullmatch(word):
        return (_value(match[1], match[2]), math.inf), match["unit"]
    return None, ""


def _value(digits: str, factor: str) -> float:
    return float(digits.replace(",", "")) * _FACTORS.get(factor.casefold(), 1.0)


def _numbers(words: list[str]) -> tuple[list[float] | None, bool]:
    """The numbers of levels that are numbers or have one in front or behind, and whether they are a scale."""
    try:
        return [float(word) for word in words], False
    except ValueError:
        pass
    if all(matches := [_ORDINAL.fullmatch(word) for word in words]):
        return [float(match[1]) for match in matches if match], True
    if all(matches := [_NUMBERED.fullmatch(word) for word in words]):
        names = [match[2] for match in matches if match]
        keys = [float(match[1]) for match in matches if match]
        named: Sequence[Any] | None = _scale(names) or _ranges(names)
        compared = any(_COMPARES.search(name) for name in names)
        return keys, compared or (
            named is not None and sorted(named) == [k for _, k in sorted(zip(keys, named, strict=True))]
        )
    if all(matches := [_COUNTED.fullmatch(word) for word in words]):
        prefixes = {match[1].strip().casefold() for match in matches if match}
        if len(prefixes) == 1:
            return [float(match[2]) for match in matches if match], prefixes <= _COUNTING_WORDS
    return None, False
