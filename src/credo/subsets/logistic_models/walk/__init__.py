"""A walk over logistic models: informed proposals, and inclusion probabilities that don't wait for visits.

From the mode of one model, score tests tell about what every column would change (`odds`). Flips are proposed in
proportion to p(flipped | the others, y) by these (a locally balanced proposal: Zanella 2020), swaps by the odds of what
could enter, and Laplace's evidence of the proposed model decides (Metropolis & Hastings).

Inclusion probabilities are means of p(γ_j = 1 | the others, y) over the steps (Rao-Blackwell). Score tests know these
only about; where a flip was proposed, Laplace's evidence is known on both sides, and the error of the test, over the
chance of the proposal, makes up for it: with J ~ q the column proposed,

    E[p̃_j + 1{J = j} (p_j − p̃_j)/q_j] = E[p_j] = p(γ_j = 1 | y).

What several chains say together is the business of `credo.subsets.walk`.
"""

from credo.subsets.logistic_models.walk._chain import walk_classes

__all__ = ["walk_classes"]
