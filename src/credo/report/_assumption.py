"""What a model over subsets of the inputs held of them before it saw the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.subsets import ModelPrior

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Assumption:
    """The prior over subsets, and by it the probability that each input is in."""

    law: ModelPrior
    shares: Vector


def assumption(inclusion: Any, origins: Sequence[str]) -> Assumption:
    """From the setting `prior_inclusion` of a model, and the input that each prepared column was made of.

    The law of k out of d columns is of the same kind with k for d: an input of k columns is out if all of them are.

    >>> assumption("beta-binomial", ["soil", "soil", "wind"]).shares.round(4)
    array([0.6667, 0.5   ])
    """
    law = ModelPrior.of(inclusion, len(origins))
    out = [float(ModelPrior(k, law.inclusion).log_prob(0)) for k in Counter(origins).values()]
    return Assumption(law, -np.expm1(out))
