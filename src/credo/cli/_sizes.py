"""Which models the size of a table allows: the one rule, and the sentences that go with it.

A Gaussian process or kernel ridge factors matrices of n × n numbers, once for each fold and once on all rows: time
grows like n³ and memory like n². Quadratic features grow like the square of the columns.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

# Of the models that nobody asked for by name, each may take about this many seconds in all on an idle machine.
PATIENCE = 45.0
# Of a model that was asked for, the time is told from here on.
WORTH_A_WORD = 60.0

# The square map turns p columns into p (p + 3) / 2 features, and the fit costs their square times the rows.
MAX_POLYNOMIAL_FEATURES = 1_000
MAX_POLYNOMIAL_CELLS = 20_000_000

# More length scales than this, or fewer rows for each, and the evidence has too many of them to tell apart.
MAX_LENGTHSCALES = 50
ROWS_PER_LENGTHSCALE = 3
# A label says less than a number does.
LABELS_PER_LENGTHSCALE = 30

# Every subset of up to so many columns is visited, of more they are sampled.
ENUMERATED = 20

# Subsets times rows: a classifier that looks at more of them takes a walk, which is shorter than its default.
_VISITED_ROWS = 3e6

# Matrices of n × n numbers that a fit holds at its peak.
_MATRICES = {"gp": 3, "gp-matern": 3, "kernel-ridge": 4}
# A process of classes keeps a matrix for each of them, and a few more.
_CLASS_MATRICES = 4
# The most numbers in the table of prepared columns: these models take no sparse rows.
_MAX_CELLS = 10**8


@dataclass(frozen=True)
class Size:
    """Rows and prepared columns of a table, and the folds it is cut into.

    `steady` says that every fold has the same prepared columns: no level or value is so rare that one may lack it.
    `classes` is the number of classes, and 0 where the target is a number.
    """

    rows: int
    columns: int
    folds: int = 5
    steady: bool = True
    classes: int = 0

    @property
    def task(self) -> str:
        """What is predicted: regression or classification."""
        return "classification" if self.classes else "regression"

    @property
    def fits(self) -> int:
        """How often each model is fitted."""
        return min(self.folds, self.rows) + 1

    @property
    def has_lengthscales(self) -> bool:
        """Whether a process may have a length scale for each column."""
        each = LABELS_PER_LENGTHSCALE if self.classes else ROWS_PER_LENGTHSCALE
        return self.columns <= min(MAX_LENGTHSCALES, self.rows / each)


def left_out(names: Sequence[str], size: Size) -> tuple[set[str], list[str]]:
    """Which of these models a table of this size does without unless it is asked for, and the sentences that say so."""
    reasons = {name: reason for name in names if (reason := impossible(name, size)) is not None}
    notes = [f"{listing(same)} left out: {reason}." for reason, same in _by_reason(reasons).items()]
    slow = [name for name in names if name not in reasons and seconds(name, size) > PATIENCE]
    if slow:
        times = [f"{name} ({duration(seconds(name, size))})" for name in slow]
        each = "" if len(slow) == 1 else " each"
        notes.append(
            f"{listing(times)} left out, for the time that {size.fits} fits{each} would take on "
            f"{size.rows:,} rows; choose with --models {','.join(slow)} to insist."
        )
    return {*reasons, *slow}, notes


def impossible(name: str, size: Size) -> str | None:
    """Why a model can't be fitted to a table of this size at all, or None."""
    if name == "polynomial":
        return _too_wide(size)
    if name == "gp" and size.classes:
        return _too_large(_CLASS_MATRICES + (size.classes if size.classes > 2 else 0), size)
    if name in _MATRICES:
        return _too_large(_MATRICES[name], size)
    if name == "spike-slab" and size.classes > 2:
        return f"it tells two classes apart, and there are {size.classes:,}"
    if name in ("discriminant", "neighbours", "spike-slab"):
        return _too_many_cells(size)
    return None


def enumerates(size: Size) -> bool:
    """Whether a classifier over subsets of the columns visits all of them."""
    return 2.0 ** min(size.columns, 60) * size.rows <= _VISITED_ROWS


def class_draws(size: Size) -> int:
    """Steps of a classifier's walk: over more columns than rows it has farther to go, and finds smaller models."""
    return 4000 if size.columns > size.rows else 1000


def patience(names: Sequence[str], size: Size) -> list[str]:
    """A word of warning for models that were asked for and will take their time."""
    slow = [name for name in names if seconds(name, size) > WORTH_A_WORD]
    if not slow:
        return []
    times = [f"{name} {duration(seconds(name, size))}" for name in slow]
    return [f"For {size.fits} fits on {size.rows:,} rows: {', '.join(times)}."]


def seconds(name: str, size: Size) -> float:
    """Roughly how long all fits of a model take together on two cores.

    One fit on all n rows, and one for each of k folds on n (1 − 1/k) of them.
    """
    k = size.fits - 1
    part = size.rows * (1 - 1 / k)
    if size.classes:
        return _class_seconds(name, size.rows, size) + k * _class_seconds(name, part, size)
    fits = _seconds_of_one(name, size.rows, size.columns) + k * _seconds_of_one(name, part, size.columns)
    return fits + (_scoring(size) if name == "spike-slab" else 0.0)


def _scoring(size: Size) -> float:
    """The scores and quantiles of held-out rows, whose distributions are mixtures of some thirty."""
    return 0.3 + 4e-4 * size.rows


def _class_seconds(name: str, n: float, size: Size) -> float:
    """One fit of a classifier, measured on one idle core."""
    columns, many = size.columns, size.classes
    if name == "gp":
        # Each evaluation is a whole inference: expectation propagation for two classes, and Laplace's rule for more,
        # with a latent function for each of them.
        each = 1.0 if many == 2 else 1.5 * many
        scales = columns if size.has_lengthscales else 1
        return each * (0.6 + 1.2e-6 * n**2 + 5e-10 * n**3) * (1 + scales / 8) + 1e-9 * n**2 * columns
    if name == "neighbours":
        return 6.8e-7 * n * min(n, 2000.0) * (1 + columns / 35)
    if name == "discriminant":
        rank = min(n, columns)
        return 4e-9 * rank**3 + 2e-10 * n * columns * rank
    if name in ("bayes-logistic", "polynomial"):
        # Newton's method at some thirty strengths of the prior, each step with the curvature of all classes' weights.
        width = columns if name == "bayes-logistic" else columns * (columns + 3) / 2
        weights = min(n, width) * (many - 1)
        return 1.3e-6 * n * weights + 1.5e-8 * weights**3
    if name == "sparse-logistic":
        # A hundred penalties for each of five folds inside; words are zero nearly everywhere, and cost less.
        return (many - 1) * (0.5 + min(8e-6 * n * columns, 2.0 + 8e-4 * n))
    if name == "spike-slab":
        # A mode for each subset that is visited, or for those that a walk looks at.
        return (8e-5 + 2e-7 * n) * 2.0**columns if enumerates(size) else 0.3 + 3e-5 * n * columns
    return 0.0


def _seconds_of_one(name: str, n: float, columns: int) -> float:
    # Measured on two cores; the search of a process starts on 400 rows, and climbs all of them a dozen times. Each
    # evaluation sums over pairs of rows for each column.
    if name in ("gp", "gp-matern"):
        rehearsal = min(1.0, (n / 400) ** 2) * (1 + columns / 20)
        time = rehearsal + 3e-10 * n**3 + 5e-9 * n**2 * columns
        return time if name == "gp" else 1.4 * time
    if name == "kernel-ridge":
        return 2.5e-10 * n**3 + 1e-9 * n**2 * columns
    if name == "nadaraya-watson":
        return 7e-7 * n * min(n, 2000.0) * (1 + columns / 50)
    if name == "lasso":
        return 0.2 + 4e-3 * columns + 2e-6 * n * columns
    if name == "spike-slab":
        return 0.02 + 1e-6 * 2.0**columns if columns <= ENUMERATED else 0.2 + 2.5e-3 * columns
    return 0.0


def _too_wide(size: Size) -> str | None:
    features = size.columns * (size.columns + 3) // 2
    if features > MAX_POLYNOMIAL_FEATURES or features * size.rows > MAX_POLYNOMIAL_CELLS:
        return f"{size.columns:,} columns would make {features:,} quadratic features for {size.rows:,} rows"
    return None


def _too_large(matrices: int, size: Size) -> str | None:
    needed, there = 8 * matrices * size.rows**2, memory()
    if there is not None and needed > there:
        return (
            f"{matrices} matrices of {size.rows:,} × {size.rows:,} numbers need {needed / 1e9:.0f} GB, and this "
            f"machine has {there / 1e9:.0f} GB of memory"
        )
    return _too_many_cells(size)


def _too_many_cells(size: Size) -> str | None:
    if size.rows * size.columns > _MAX_CELLS:
        return f"{size.rows:,} rows of {size.columns:,} columns are too many to hold as one dense table"
    return None


def memory() -> int | None:
    """The memory of this machine in bytes; None where the system doesn't tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def duration(time: float) -> str:
    """A time in the unit that a person would use.

    >>> duration(44.0), duration(700.0), duration(9000.0)
    ('about 40 seconds', 'about 12 minutes', 'about 2.5 hours')
    """
    if time < 90:
        return f"about {10 * max(1, round(time / 10))} seconds"
    if time < 5400:
        return f"about {time / 60:.0f} minutes"
    hours = round(2 * time / 3600) / 2
    return f"about {hours:g} hours" if hours < 72 else f"about {math.ceil(hours / 24)} days"


def listing(names: Sequence[str], *, verb: str = "was") -> str:
    """Names as the subject of a sentence, with their verb.

    >>> listing(["gp"]), listing(["gp", "kernel-ridge"]), listing(["gp"], verb="take")
    ('gp was', 'gp and kernel-ridge were', 'gp takes')
    """
    one = len(names) == 1
    subject = names[0] if one else f"{', '.join(names[:-1])} and {names[-1]}"
    if verb == "was":
        return f"{subject} {'was' if one else 'were'}"
    return f"{subject} {verb}{'s' if one else ''}"


def _by_reason(reasons: dict[str, str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    return grouped
