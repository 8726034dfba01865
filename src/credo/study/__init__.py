"""The analysis of a table from end to end: understand the columns, fit models, select one.

    analyze(data, target) -> Study      Study: leaderboard, selected, predict, explain, influence, report, save
    audit(model, data) -> Audit         predictions compared with the outcomes of new rows
    look(data) -> Profile               the kinds of columns, gaps, groups, time order and leaks of a table

A table has possible values of its target (`distributions.Support`), units whose rows are held out together
(`tables.Groups`), weights and an order in time; `Dataset` finds them out or takes them as given.

Contract: everything that `credo fit` decides and computes is here, so that the command line, the lab and a notebook
give the same answer. A study keeps to its time budget: models are fitted in the order of what they gain in a second,
those that would take too long are named in the notes, and when the time is up, or on Ctrl-C, the finished models are
compared and reported. Notes are values; nothing is printed except progress on stderr, and there is no global state.

Members: `analyze`, `Study`; `Dataset` and `dataset` (a table with its target and folds), `ModelSpec` and `MODELS` (the
models), `run` (the models on a data set), `write` (the files of a study), `Facts` (what is known about the selected
model), `look` and `Profile`, `explain` and `Explanation` (why a row is predicted as it is), `Note`.

Not here: parsing of arguments and printing (`credo.app.cli`), the page itself (`credo.study.report`).
"""

from typing import TYPE_CHECKING

from credo.core.lazy import lazy

if TYPE_CHECKING:
    from credo.study._audit import Audit, audit
    from credo.study._explain import Explanation, explain
    from credo.study._look import Profile, look
    from credo.study.analysis import analyze, run
    from credo.study.catalogue import MODELS, ModelSpec
    from credo.study.data import Dataset, Note, dataset
    from credo.study.facts import Facts
    from credo.study.study import Study, write

__all__ = [
    "MODELS", "Audit", "Dataset", "Explanation", "Facts", "ModelSpec", "Note", "Profile", "Study", "analyze", "audit",
    "dataset", "explain", "look", "run", "write",
]  # fmt: skip

# The command line asks for the names of the models before it needs anything else.
__getattr__ = lazy(
    __name__,
    {
        "analysis": ("analyze", "run"),
        "_audit": ("Audit", "audit"),
        "catalogue": ("MODELS", "ModelSpec"),
        "data": ("Dataset", "Note", "dataset"),
        "_explain": ("Explanation", "explain"),
        "_look": ("Profile", "look"),
        "facts": ("Facts",),
        "study": ("Study", "write"),
    },
)
