"""
Words as features
=================

``Words`` turns each text into indicators, one column for each word. A linear classifier then has a weight for each
word.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

import credo

rng = np.random.default_rng(0)
common = ["the", "a", "you", "we", "for", "to", "now", "today", "please", "see", "send", "meeting"]
typical = {
    "spam": ["free", "money", "winner", "offer", "click"],
    "letter": ["report", "lunch", "family", "project", "thanks"],
}


def write(kind):
    return " ".join([*rng.choice(common, size=8), *rng.choice(typical[kind], size=rng.integers(0, 3))])


labels = rng.choice(["spam", "letter"], size=200)
texts = [write(kind) for kind in labels]
print(labels[0], "—", texts[0])
model = make_pipeline(credo.features.Words(), credo.BayesianLogisticRegression())
model.fit(texts, labels)
words = np.array(model[0].vocabulary_)
weights, errors = model[-1].coef_[0], model[-1].coef_std_[0]

# %%
# The probability of a text with words that were never seen together, and of one without any typical word:

for text in ("free lunch for you", "the winner: click now", "see you today"):
    print(f"{text!r}: probability of spam {model.predict_proba([text])[0, 1]:.2f}")

order = np.argsort(weights)
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
colors = ["C3" if w in typical["spam"] else "C0" if w in typical["letter"] else "0.6" for w in words[order]]
ax.barh(words[order], weights[order], xerr=2 * errors[order], color=colors, ecolor="0.3")
ax.axvline(0, color="k", linewidth=0.8)
ax.set(xlabel="weight (log odds of spam), ± 2 standard deviations")
signs = [weights[words == w][0] > 0 for w in typical["spam"]] + [weights[words == w][0] < 0 for w in typical["letter"]]
clear = [bool(abs(weights[words == w][0]) > 2 * errors[words == w][0]) for w in common]
print(f"typical words with the right sign: {sum(signs)} of 10; common words with a clear weight: {sum(clear)} of 12")
assert all(signs) and sum(clear) == 0

# %%
# **What to see.** Words typical of spam (red) have positive weights and those typical of letters (blue) negative ones.
# The intervals of the common words (gray) contain zero.
