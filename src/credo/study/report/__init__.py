"""One self-contained HTML page about a study: no network, no script, printable.

    write(path, study) -> one HTML file

Contract: every sentence is computed from this data and claims no more than a test of it shows; every figure has a
question, an answer and a text alternative; every name from the table is escaped; the same input gives the same bytes,
in any thread; a part that fails is replaced by a note; the file is written completely or not at all.

Members: `write` and `render` (the page as text). How well the selected model predicts is worded in `study.facts`, which
the terminal and the lab read too. Inside, each subject has its numbers, sentences and figures together:
`_held_out` predictions of numbers, `_classes`, `_inputs` (coefficients, and influences on the predictions),
`_inclusions` (which inputs matter), `_curves` (along one input, or terms of an additive model, which `_pieces` tells in
words), `_leaderboard`, `_surprises` (rows with large errors). `_figure` has the picture with its question. `_results`
makes the parts of the page, and `_page` fills the template. What the page says about a model it reads from
`model.describe()`. Drawing belongs to `plots`, scores to `metrics`, folds to `selection`.
"""

from importlib.util import find_spec

if find_spec("jinja2") is None:
    raise ImportError("credo.study.report needs Jinja2, which is not installed: pip install 'credo[report]'")

from credo.study.report._page import render, write

__all__ = ["render", "write"]
