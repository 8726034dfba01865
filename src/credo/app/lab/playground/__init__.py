"""The playground: fits a model to the points of a page and returns everything that is drawn.

    router      GET /catalogue, GET /dataset/{id}, POST /answer        warm_up() compiles what answers need

An answer depends only on its request. Every number in a request is bounded and checked against the controls of its
model; an invalid request is answered by a sentence (422). If a model can't be fitted to the points, the answer is a
note, not an error.

Members: `_requests` (checks), `_catalogue` (models, data sets, limits), `_answer` (what is drawn), `_model` (what a
model provides), `_learning` (requests to learn settings), `_equations` (plain notation to
MathML), and a module for each family of models, which turns settings into an estimator of Credo and its equation.

Not here: estimators (`credo` has them all), the page itself (`static`).
"""

from credo.app.lab.playground._router import router, warm_up

__all__ = ["router", "warm_up"]
