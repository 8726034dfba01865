import numpy as np
import pytest
from matplotlib.figure import Figure

from credo.ensemble import AdaBoostClassifier
from credo.plots import tree
from credo.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

X = np.random.default_rng(0).normal(size=(200, 3))
Y = X[:, 0] + np.sign(X[:, 1])


def drawn(model, **options):
    ax = tree(model, ax=Figure(figsize=(9, 5)).subplots(), **options)
    return ax, [text.get_text() for text in ax.texts]


def test_every_node_is_drawn_with_its_condition_or_prediction():
    model = DecisionTreeRegressor(max_depth=3, pruning=0.0, random_state=0).fit(X, Y)
    _, texts = drawn(model)
    nodes = model.tree_
    assert texts[0] == f"x{nodes.feature[0]} ≤ {nodes.threshold[0]:.4g}"
    assert sum("rows" in text for text in texts) == nodes.is_leaf.sum()
    assert sum("≤" in text for text in texts) == (~nodes.is_leaf).sum()
    leaf = np.flatnonzero(nodes.is_leaf)[0]
    dist = model.predict_dist(X[model.apply(X) == leaf][:1])
    assert f"{dist.mean[0]:.4g} ± {dist.std[0]:.2g}\n{nodes.weight[leaf]:g} rows" in texts
    assert texts[-2:] == ["yes", "no"]


def test_children_are_below_their_parents_and_leaves_side_by_side():
    model = DecisionTreeClassifier(max_depth=3, pruning=0.0, random_state=0).fit(X, Y > 0)
    ax, texts = drawn(model)
    places = {i: text.get_position() for i, text in enumerate(ax.texts[: len(model.tree_.left)])}
    leaves = [x for i, (x, _) in places.items() if "rows" in texts[i]]
    assert sorted(leaves) == list(range(len(leaves)))
    assert places[0] == pytest.approx((np.mean(ax.lines[0].get_xdata()[:1]), 0.0))


def test_levels_below_the_depth_are_counted():
    model = DecisionTreeClassifier(pruning=0.0, random_state=0).fit(X, Y > 0)
    _, texts = drawn(model, max_depth=2)
    hidden = sum(int(text.split("… ")[1].split()[0]) if "…" in text else 1 for text in texts if "rows" in text)
    assert hidden == model.tree_.is_leaf.sum()


def test_missing_values_are_named_where_there_were_some():
    rows = X.copy()
    rows[Y > 1, 0] = np.nan
    model = DecisionTreeClassifier(max_depth=2, pruning=0.0, random_state=0).fit(rows, Y > 0)
    assert "missing" in "".join(drawn(model)[1]) + model.rules()
    assert "missing" not in "".join(drawn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y > 0))[1])


def test_a_root_alone_and_a_model_without_a_tree():
    assert drawn(DecisionStump().fit(np.ones((4, 1)), [0, 0, 0, 1]))[1][0].startswith("0\np = 0.75")
    with pytest.raises(ValueError, match="no tree to draw in a AdaBoostClassifier"):
        tree(AdaBoostClassifier(n_rounds=2, calibrate=False).fit(X, Y > 0))
