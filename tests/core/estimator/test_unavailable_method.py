"""A method that isn't there says so to `hasattr`, and why to whoever calls it."""

import pytest

from credo.core.estimator import UnavailableMethod
from credo.kernel_machines import KernelPerceptron
from credo.linear import Perceptron


class Base:
    def speak(self):
        return "a word"


class Silent(Base):
    speak = UnavailableMethod("it has nothing to say")


def test_it_hides_what_the_base_has():
    assert hasattr(Base(), "speak") and not hasattr(Silent(), "speak") and not hasattr(Silent, "speak")
    with pytest.raises(AttributeError, match="it has nothing to say"):
        Silent().speak()


@pytest.mark.parametrize("model", [Perceptron(random_state=0), KernelPerceptron(random_state=0)])
@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba", "predict_dist"])
def test_perceptrons_have_no_probabilities_and_say_what_has(model, name):
    assert not hasattr(model, name) and hasattr(model, "decision_function")
    with pytest.raises(AttributeError, match=r"probabilities.*: use "):
        getattr(model, name)
