"""The perceptron in plain NumPy, mistake by mistake, as the books write it."""

import numpy as np


def perceptron_pass(phi, codes, repeats, W):
    """w ← w ± φ at each mistake (Bishop 4.55), over the rows in order, row i taken repeats[i] (whole) times in a row.

    One row of W scores code 1 against code 0; several score one code each, and a mistake moves the label's and that of
    its strongest rival. Returns the weights, and the row of each mistake.
    """
    W, mistakes = np.array(W, dtype=float), []
    for i, (row, code, count) in enumerate(zip(phi, codes, repeats, strict=True)):
        for _ in range(int(count)):
            scores = W @ row
            if len(W) == 1:
                sign = 2 * code - 1
                if sign * scores[0] > 0:
                    break
                W[0] += sign * row
            else:
                rival = int(np.argmax(np.where(np.arange(len(W)) == code, -np.inf, scores)))
                if scores[code] > scores[rival]:
                    break
                W[code] += row
                W[rival] -= row
            mistakes.append(i)
    return W, mistakes
