"""Stands in for Optuna: the calls that docs/optimisers.md makes, with random values."""
import math
import random
from types import SimpleNamespace

_random = random.Random(1)


class TrialState:
    FAIL = "FAIL"


trial = SimpleNamespace(TrialState=TrialState)


class _Trial:
    def __init__(self, number):
        self.number, self.params = number, {}

    def suggest_float(self, name, low, high, *, step=None, log=False):
        assert low <= high and name not in self.params
        self.params[name] = (math.exp(_random.uniform(math.log(low), math.log(high))) if log
                             else _random.uniform(low, high))
        return self.params[name]


class _Study:
    def __init__(self):
        self.asked, self.told = [], {}

    def ask(self):
        self.asked.append(_Trial(len(self.asked)))
        return self.asked[-1]

    def tell(self, one, values=None, state=None):
        assert one in self.asked and one.number not in self.told
        assert (values is None) == (state == TrialState.FAIL)
        assert values is None or float(values) == values
        self.told[one.number] = values

    @property
    def best_trial(self):
        done = [one for one in self.asked if self.told.get(one.number) is not None]
        return min(done, key=lambda one: self.told[one.number])

    best_value = property(lambda self: self.told[self.best_trial.number])
    best_params = property(lambda self: self.best_trial.params)


def create_study(*, directions):
    assert directions == ["minimize"]
    return _Study()
