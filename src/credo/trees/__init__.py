"""Decision trees that say how sure they are.

    leaf of classes    p(k | leaf) = (w_k + a π_k) / (w + a),    Dirichlet prior
    leaf of numbers    y | leaf ~ Student-t,    normal–inverse-gamma prior
    pruning            argmin Σ risk of the leaves + α · number of leaves
    boosted trees      f(x) = b + Σ_t (value of x's leaf in tree t)

scikit-learn's builder grows the trees, on the ranks of the columns; the nodes are then copied into a `Tree` of plain
arrays, which is what predicts and what a model file contains. Only the stump is grown here, because boosting needs it
a hundred times and more. The prior in the leaves and the penalty α are chosen by held-out log score, or by evidence.

Members: `DecisionTreeClassifier`, `DecisionTreeRegressor`, `DecisionStump`; `BoostedTreesRegressor` and
`BoostedTreesClassifier`, gradient boosting. `Tree`, `BoostedTrees`, `NormalPrior`, `DirichletPrior` and `Stumps` are
attributes of fitted models: their names are part of the file format.

Not here: what combines trees (`credo.ensemble`).
"""

from credo.trees._tree import DirichletPrior as DirichletPrior
from credo.trees._tree import NormalPrior as NormalPrior
from credo.trees._tree import Tree as Tree
from credo.trees.boosting import BoostedTrees as BoostedTrees
from credo.trees.boosting import BoostedTreesClassifier, BoostedTreesRegressor
from credo.trees.stump import DecisionStump
from credo.trees.stump import Stumps as Stumps
from credo.trees.trees import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "BoostedTreesClassifier", "BoostedTreesRegressor", "DecisionStump", "DecisionTreeClassifier",
    "DecisionTreeRegressor",
]  # fmt: skip
