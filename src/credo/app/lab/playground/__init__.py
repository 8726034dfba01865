"""The playground: points and a model in, everything that is drawn of it out.

    router      GET /catalogue, GET /dataset/{id}, POST /answer        warm_up() compiles what answers need

Contract: an answer depends on its request only. Every number that comes in is
bounded and checked against the controls of its model, and what is refused is answered by a sentence (422). Points that
a model can't be fitted to are answered by a note, never by an error.

Members: `_requests` (checks), `_catalogue` (models, data sets, limits), `_answer` (what is drawn), `_model` (what a
model provides), `_learning` (requests to learn settings), `_equations` (plain notation to
MathML), and a module for each family of models, which turns settings into an estimator of Credo and its equation.

Not here: estimators (`credo` has them all), the page itself (`static`).
"""

from credo.app.lab.playground._router import router, warm_up

__all__ = ["router", "warm_up"]
