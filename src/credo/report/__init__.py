"""One self-contained HTML page about a comparison of models: no network, no script, printable.

    write(path, comparison, models, …) -> one HTML file

Contract: every sentence is computed from this data and claims no more than a test of it shows; every figure
has a question, an answer and words for those who can't see it; every name from the table is escaped; the same
input gives the same bytes, in any thread; what fails costs its part of the page; the file appears whole or not at all.

Members: `write` and `render` (the page as text). Inside: results as numbers (`_facts` of held-out rows, `_effects` of
coefficients, `_inclusions` of inputs in models, `_inputs` that move the predictions, `_curves` along one input),
sentences about them (`_sentences`, `_input_sentences`, `_inclusion_sentences`), and the parts of the page (`_answer`,
`_leaderboard`, `_figures`, `_inclusion_figure`, `_time`, `_surprises`, `_glance` at the columns, `_page`, the
template with its style sheet). Regression and classification are in `_regression` and `_classification`; facts,
sentences and figures of classes are in `_class_facts`, `_class_sentences` and `_class_figures`. Drawing itself
belongs to `plots`, scores to `metrics`, folds to `selection`.
"""

from importlib.util import find_spec

if find_spec("jinja2") is None:
    raise ImportError("credo.report needs Jinja2, which is not installed: pip install 'credo[report]'")

from credo.report._page import render
from credo.report._write import write

__all__ = ["render", "write"]
