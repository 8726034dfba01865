"""Learning the encoder of a column: medians, levels, vocabularies, and notes about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.deadlines import check
from credo.core.wording import not_numbers, plural, quoted, shown
from credo.features import Words
from credo.tables import kinds, time_order
from credo.tables.columns import (
    MAX_EXACT_INTEGER,
    SENTINELS,
    finite_columns,
    not_a_number,
    sentinel_note,
    sentinels,
    without,
)
from credo.tables.encoders import (
    CYCLES,
    FIRST_MONDAY,
    Days,
    Encoder,
    Levels,
    Numbers,
    Scale,
    Texts,
    answers,
    in_order,
)
from credo.tables.errors import ColumnError
from credo.tables.kinds import Column, Form, Profile, days_since

# With fewer missing values, an indicator would fit these rows exactly and determine the prediction of every new row
# with a missing value.
_MIN_MISSING = 5


@dataclass(eq=False)
class Learner:
    """Learns one column after another; columns with missing values in the same rows share one indicator.

    `weight` is the weight of each row, `signs` are those of the table's file. `values` are the numbers and days that
    were read, NaN where one is missing; `encoders` are those of the columns that are used; `gap_notes` are the notes
    about missing values. If `effects` has names of effects, the categories with many levels, `many`, have such columns,
    which are still zero.
    """

    max_levels: int
    max_words: int
    drop_reference: bool
    weight: NDArray[np.float64]
    signs: Mapping[str, str] | None
    columns: list[Column] = field(default_factory=list)
    encoders: list[Encoder] = field(default_factory=list)
    forms: dict[str, Form] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    gap_notes: dict[str, str] = field(default_factory=dict)
    gaps: dict[bytes, str] = field(default_factory=dict)
    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    keep_sentinels: bool = False
    effects: tuple[str, ...] = ()
    many: list[str] = field(default_factory=list)

    def learn_all(self, table: Any, forced: dict[str, Form]) -> None:
        """Learn every column of a table; `forced` are forms that are not to be detected."""
        names = table.columns.tolist()
        known = self._plain(table, [name for name in names if forced.get(name, kinds.NUMERIC) == kinds.NUMERIC])
        for name in names:
            check()
            encoder: Encoder | None
            if name in known:
                column, encoder = known[name]
                self.forms[name] = kinds.NUMERIC
            else:
                found, form = kinds.profile(name, table[name]), forced.get(name)
                detail = ""
                # A column without two values keeps its own kind.
                if form is None or not found.n_present or not (found.n_missing or found.n_distinct > 1):
                    kind, detail = kinds.kind_of(found)
                    self.notes += _mixed(found, kind)
                    form = Form(kind, absent=self._sentinels(found) if kind == "numeric" else ())
                encoder, form, detail = self.learn(found, form, detail)
                levels = (encoder.order, encoder.ordered) if isinstance(encoder, Levels) else ()
                if isinstance(encoder, Levels) and encoder.reference is not None:
                    detail = f"reference {encoder.reference}"
                known_values = self.values.get(name)
                n_missing = found.n_missing if known_values is None else int(np.isnan(known_values).sum())
                column = Column(name, form.kind, n_missing, found.n_distinct, detail, *levels)
                self.forms[name] = form
            self.columns.append(column)
            if encoder is not None and encoder.names():
                self.encoders.append(encoder)

    def _sign(self, name: str) -> str | None:
        return None if self.signs is None else self.signs.get(name, "")

    def _plain(self, table: Any, names: Collection[str]) -> dict[str, tuple[Column, Encoder]]:
        """The named columns that need no note: finite, neither constant nor identifiers; handled all at once."""
        # With weights the median isn't the middle value; such tables are handled column by column.
        if not (self.weight == self.weight[0]).all():
            return {}
        names, values = finite_columns(table, names)
        n, ordered = len(values), np.sort(values, axis=0)
        low, high = ordered[0], ordered[-1]
        n_distinct = 1 + np.count_nonzero(ordered[1:] != ordered[:-1], axis=0)
        # Halves are added because the sum of two large numbers may overflow.
        middle = ordered[(n - 1) // 2] / 2 + ordered[n // 2] / 2
        may_identify = (n_distinct == n) & (low >= 0) & (values == np.floor(values)).all(axis=0)
        may_be_dates = (low >= kinds.FIRST_DATE) & (high <= kinds.LAST_DATE)
        coded = np.isin(low, SENTINELS) | np.isin(high, SENTINELS)
        usable = (n_distinct > 1) & ~may_identify & ~may_be_dates & ~coded
        usable &= np.maximum(-low, high) <= MAX_EXACT_INTEGER
        learned: dict[str, tuple[Column, Encoder]] = {}
        parts = (part[usable].tolist() for part in (np.array(names, dtype=object), n_distinct, middle, low, high))
        for name, n_values, fill, least, most in zip(*parts, strict=True):
            encoder = Numbers(name=name, fill=fill, low=least, high=most, sign=self._sign(name))
            learned[name] = Column(name, "numeric", 0, n_values), encoder
        return learned

    def learn(self, found: Profile, form: Form, detail: str) -> tuple[Encoder | None, Form, str]:
        """The encoder of a column, or None if it is left out; the complete form; and a detail for display."""
        if form.kind == "numeric":
            return self._numbers(found, form)
        if form.kind == "date":
            return self._days(found, form)
        if form.kind == "categorical":
            return self._levels(found), form, ""
        if form.kind == "text":
            return self._texts(found, form)
        reasons = {"constant": "it has only one value", "empty": "it has no values"}
        reason = reasons.get(form.kind, "it identifies the rows") + (f" ({detail})" if detail else "")
        self.notes.append(f"Left out column {found.name!r}: {reason}.")
        return None, form, detail

    def _numbers(self, found: Profile, form: Form) -> tuple[Encoder, Form, str]:
        pair = form.pair or (None if found.is_typed_number else kinds.truth_pair(found.distinct))
        if pair is None:
            absent = self._absent(found, form)
            values = without(self._values(found), absent)
            sign = self._sign(found.name) if found.reading is None else found.reading.sign
            encoder = Numbers(**self._measured(found.name, values), absent=absent, sign=sign)
            return encoder, Form("numeric", absent=absent), ""
        if set(pair) != {"true", "false"}:
            self.notes.append(f"Column {found.name!r}: {pair[0]!r} is coded as 1 and {pair[1]!r} as 0.")
        encoder = Numbers(name=found.name, fill=0.0, words=kinds.truth_values(pair), sign=self._sign(found.name))
        encoder = replace(encoder, **self._measured(found.name, encoder.values(found.column)))
        return encoder, Form("numeric", pair=pair), f"{pair[0]} = 1, {pair[1]} = 0"

    def _absent(self, found: Profile, form: Form) -> tuple[str, ...]:
        """The words and numbers that are treated as missing: those of the form, and those that are found here."""
        slips = found.slips if len(found.odd) else ()
        if not kinds.is_number(found) and not set(slips) <= set(form.absent):
            raise ColumnError(f"{not_a_number(found.column, found.odd)}; so the column can't be numeric")
        return tuple(dict.fromkeys((*form.absent, *slips)))

    def _sentinels(self, found: Profile) -> tuple[str, ...]:
        """The numbers, as words, that code missing values of a column of numbers."""
        coded = [] if self.keep_sentinels or not kinds.is_number(found) else sentinels(found.values)
        if coded:
            self.notes.append(sentinel_note(found.name, found.values, coded))
        return tuple(f"{value:.15g}" for value in coded)

    def _values(self, found: Profile) -> NDArray[np.float64]:
        if found.reading is not None:
            self.notes += found.reading.notes
        elif len(found.odd):
            phrase = not_numbers(len(found.odd), found.slips, int(found.odd[0]) + 1)
            self.notes.append(f"Column {found.name!r}: {phrase} treated as missing.")
        infinite = np.isinf(found.values)
        if infinite.any():
            count = plural(int(infinite.sum()), "infinite value")
            self.notes.append(f"Column {found.name!r}: {count} treated as missing.")
        values = np.where(infinite, np.nan, found.values)
        if np.nanmax(np.abs(values), initial=0.0) > MAX_EXACT_INTEGER and found.column.dtype.kind != "f":
            self.notes.append(f"Column {found.name!r}: whole numbers beyond 2^53 were rounded to 16 digits.")
        return values

    def _days(self, found: Profile, form: Form) -> tuple[Encoder, Form, str]:
        style = form.style or found.date_format
        if style is None:
            reason = f"{found.distinct[0]!r} has no known date format"
            raise ColumnError(f"column {found.name!r} can't be read as dates: {reason}")
        encoder = Days(name=found.name, fill=0.0, style=style, origin="1970-01-01")
        stamps = encoder.timestamps(found.column)
        known = stamps[found.present].astype("datetime64[D]")
        if style != form.style and kinds.is_ambiguous(found.distinct, style):
            read = f"dates like {found.distinct[0]!r} were read with the month first"
            self.notes.append(f"Column {found.name!r}: {read}; write them as 2024-12-31 if that is wrong.")
        days = days_since(stamps, known.min().astype("datetime64[us]"))
        encoder = replace(encoder, **self._measured(found.name, days), origin=str(known.min()))
        if encoder.value and time_order.may_be_time(found.name, is_number=False):
            encoder = with_calendar(encoder, days)
        return encoder, Form("date", style=style), f"{encoder.origin} to {known.max()}"

    def _levels(self, found: Profile) -> Levels:
        counts: Counter[str] = Counter()
        for word, weight in zip(found.words[found.present], self.weight[found.present], strict=True):
            counts[word] += weight
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        pooled: list[str] = []
        if len(ranked) > self.max_levels and self.effects:
            return self._many_levels(found, {level: counts[level] for level in ranked})
        places, beside = answers(ranked, found.column.dtype) if len(ranked) <= self.max_levels else ([], [])
        if len(ranked) > self.max_levels:
            ranked, pooled = ranked[: self.max_levels - 1], ranked[self.max_levels - 1 :]
            columns = f"the {len(ranked)} most frequent have a column each, the others share '{found.name}=other'"
            self.notes.append(f"Column {found.name!r} has {len(counts):,} levels: {columns}.")
        reference = ranked[0] if self.drop_reference and not beside else None
        marked = self._many(~found.present) or (found.n_missing > 0 and len(counts) == 1)
        shared = self._shared(found.name, ~found.present) if marked else None
        if found.n_missing:
            role = "treated as a separate level" if shared is None else f"indicated by {shared!r}"
            role = role if marked else "too few for a separate level, coded by the frequencies of the others"
            self._note_gaps(found.name, f"missing in {plural(found.n_missing, 'row')}; {role}")
        order, ordered = ([*places, *beside], True) if beside else in_order(ranked, found.column.dtype)
        kept = tuple(level for level in order if level != reference)
        shares = [counts[level] for level in [*kept, *ranked[: bool(reference)]]]
        shares += [sum(counts[level] for level in pooled)] * bool(pooled)
        frequencies = tuple(float(share / sum(shares)) for share in shares)
        missing = marked and shared is None, bool(found.n_missing)
        fields = found.name, kept, reference, tuple(pooled), *missing, frequencies, tuple(order), ordered
        if not beside:
            return Levels(*fields)
        marks = f"{quoted(beside)} {'has a 0/1 column' if len(beside) == 1 else 'have 0/1 columns'} beside it"
        self.notes.append(f"Column {found.name!r} is a scale from {places[0]!r} to {places[-1]!r}; {marks}.")
        return Scale(*fields, beside=tuple(beside))

    def _many_levels(self, found: Profile, counts: Mapping[str, float]) -> Levels:
        names = tuple(f"{found.name} ({effect})" for effect in self.effects)
        columns = f"{quoted(names)} {'has' if len(names) == 1 else 'have'} the effect of each on the target"
        rare = "shrunken towards zero where rows are few"
        self.notes.append(f"Column {found.name!r} has {len(counts):,} levels: {columns}, {rare}.")
        if found.n_missing:
            rows = plural(found.n_missing, "row")
            self.notes.append(f"Column {found.name!r}: missing in {rows}; treated as a separate level.")
        self.many.append(found.name)
        shares, order = np.array([*counts.values()]) / sum(counts.values()), in_order(counts, found.column.dtype)
        effects = np.zeros((len(counts) + 1, len(names)))
        return Levels(
            found.name, tuple(counts), None, (), missing=False, had_missing=found.n_missing > 0,
            shares=tuple(shares.tolist()), order=tuple(order[0]), ordered=order[1], effect_names=names, effects=effects,
        )  # fmt: skip

    def _texts(self, found: Profile, form: Form) -> tuple[Encoder | None, Form, str]:
        texts = [word or "" for word in found.words]
        # A word that occurs once carries no information about other rows.
        for min_count in (2, 1):
            try:
                words = Words(min_count=min_count, max_words=self.max_words).fit(texts)
            except ValueError:
                continue
            # A word that occurs in every text would be a second intercept.
            occurs = np.asarray(words.transform(texts).sum(axis=0)).ravel()
            words.vocabulary_ = [word for word, n in zip(words.vocabulary_, occurs, strict=True) if n < len(texts)]
            if not words.vocabulary_:
                continue
            size = plural(len(words.vocabulary_), "word")
            self.notes.append(f"Column {found.name!r} is text: a 0/1 column for each of its {size}.")
            if found.n_missing:
                self.notes.append(f"Column {found.name!r}: {plural(found.n_missing, 'missing text')} treated as empty.")
            return Texts(found.name, words), form, size
        self.notes.append(f"Left out column {found.name!r}: it is text without any words.")
        return None, form, "no words"

    def _measured(self, name: str, values: NDArray[np.float64]) -> dict[str, Any]:
        """The fields of an encoder of numbers: range, replacement of missing values, and which columns exist."""
        missing = np.isnan(values)
        if missing.all():
            raise ColumnError(f"column {name!r} has no finite number in any row")
        self.values[name] = values
        known = values[~missing]
        fill = _median(known, self.weight[~missing])
        value = len(np.unique(known)) > 1 or not missing.any()
        n_missing = int(missing.sum())
        marked = self._many(missing) or not value
        shared = self._shared(name, missing) if marked else None
        if n_missing:
            indicator = f"'{name} is missing'" if shared is None else f"{shared!r} (the same rows)"
            count = f"{n_missing:,} of {plural(len(values), 'value')} {'is' if n_missing == 1 else 'are'} missing"
            replaced = f"replaced by the median {shown(fill)}" + (f", and marked in {indicator}" if marked else "")
            one_value = f"the others are all {shown(known[0])}, so only {indicator} is used"
            self._note_gaps(name, f"{count}; {replaced if value else one_value}")
        span = {"low": float(known.min()), "high": float(known.max())}
        columns = {"value": value, "indicator": marked and shared is None, "had_missing": n_missing > 0}
        return {"name": name, "fill": fill, **columns, **span}

    def _note_gaps(self, name: str, said: str) -> None:
        self.gap_notes[name] = f"Column {name!r}: {said}."
        self.notes.append(self.gap_notes[name])

    def _many(self, missing: NDArray[np.bool_]) -> bool:
        """Whether enough values are missing for an indicator; a row of weight 3 counts as three."""
        weight = self.weight[missing]
        return max(float(weight.sum()), int(np.count_nonzero(weight))) >= _MIN_MISSING

    def _shared(self, name: str, missing: NDArray[np.bool_]) -> str | None:
        """The indicator of another column that is missing in the same rows, if there is one."""
        key = np.packbits(missing).tobytes()
        if key in self.gaps:
            return self.gaps[key]
        self.gaps[key] = f"{name} is missing"
        return None


# Harmonics of a cycle, of which one more needs two more distinct times in it. On most of ten made and real tables a
# second one reduced the errors of linear models (by up to 11 %) and changed those of trees and Gaussian processes
# little; on monthly passengers and weekly CO2, whose seasons have sharp peaks, these grew by 11 to 26 %.
_MAX_HARMONICS = 2
_POSITIONS = {"hour": 24, "day of year": 12}


def with_calendar(encoder: Days, days: NDArray[np.float64]) -> Days:
    """The encoder with the parts of the calendar that dates can show.

    They cover a cycle at least twice, and have three steps in it.
    """
    known = np.unique(days[np.isfinite(days)])
    step, span = float(np.median(np.diff(known))), known[-1] - known[0]
    start = days_since(np.array([encoder.origin], "datetime64[us]"), FIRST_MONDAY)
    waves: list[str] = []
    for cycle, period in CYCLES.items():
        positions = np.round((known + start) / period % 1.0 * _POSITIONS[cycle]) % _POSITIONS[cycle]
        harmonics = min(_MAX_HARMONICS, (len(np.unique(positions)) - 1) // 2)
        if 3 * step <= period and 2 * period <= span:
            waves += [f"{cycle} {k + 1}" for k in range(harmonics)]
    weekday = (np.floor(known + start + 1e-9) % 7).astype(np.intp)
    counts = np.bincount(weekday, minlength=7)
    usable = 3 * step <= 7 and span >= 14
    weekdays = tuple(day for day in np.flatnonzero(counts).tolist() if usable and day != int(np.argmax(counts)))
    return replace(encoder, waves=tuple(waves), weekdays=weekdays)


def _median(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """The weighted median."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order])
    middle = share[-1] / 2
    lower, upper = (values[order[np.searchsorted(share, middle, side=side)]] for side in ("left", "right"))
    # Halves are added because the sum of two large numbers may overflow.
    return float(lower / 2 + upper / 2)


def _mixed(found: Profile, kind: str) -> list[str]:
    """A note about a column that isn't numeric because of a single word, and how this becomes a missing value."""
    if kind not in ("categorical", "identifier", "text") or found.is_typed_number:
        return []
    if len(found.slips) != 1 or len(found.odd) >= 0.5 * found.n_present:
        return []
    (word,), label = found.slips, found.column.index[found.odd[0]]
    place = f"row {label + 1}" if isinstance(label, int | np.integer) else f"row {label}"
    place += f" and {plural(len(found.odd) - 1, 'other row')}" * (len(found.odd) > 1)
    return [
        f"Column {found.name!r} is not numeric only because of {word!r} ({place}): correct it, or list it in na_words "
        f"(--na {word!r})."
    ]
