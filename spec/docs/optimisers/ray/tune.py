"""Stands in for Ray Tune: a function of a config that returns its figures, several at once."""
import concurrent.futures
import math
import random
from types import SimpleNamespace

_random = random.Random(2)


def loguniform(lower, upper):
    assert 0 < lower < upper
    return lambda: math.exp(_random.uniform(math.log(lower), math.log(upper)))


class TuneConfig:
    def __init__(self, *, metric, mode, num_samples):
        assert mode in ("min", "max")
        self.metric, self.mode, self.num_samples = metric, mode, num_samples


class Tuner:
    def __init__(self, trainable, *, param_space, tune_config):
        self.trainable, self.space, self.config = trainable, param_space, tune_config

    def fit(self):
        configs = [{name: draw() for name, draw in self.space.items()}
                   for _ in range(self.config.num_samples)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            metrics = list(pool.map(self.trainable, configs))
        results = [SimpleNamespace(config=config, metrics=one)
                   for config, one in zip(configs, metrics)]
        best = min if self.config.mode == "min" else max
        return SimpleNamespace(get_best_result=lambda: best(
            results, key=lambda one: one.metrics[self.config.metric]))
