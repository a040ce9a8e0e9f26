"""Searches for weights of a router: by chance, or by ask and tell. Standard library only.

    python3 share/python/search.py random 40      # a batch of trials at a time
    python3 share/python/search.py ask-tell 40    # one after another
"""
import json
import random
import sys

import blis


class Study:
    """Ask and tell as Optuna has them: with it installed, this is optuna.create_study(), `ask` its
    study.ask with trial.suggest_float, and a failed trial is told with state=TrialState.FAIL."""

    def __init__(self, space, seed=1):
        self.space, self.random, self.trials = space, random.Random(seed), []

    def ask(self):
        return {name: self.random.uniform(low, high) for name, (low, high) in self.space.items()}

    def tell(self, params, value):
        self.trials.append((value, params))

    @property
    def best(self):
        return min((t for t in self.trials if t[0] is not None), key=lambda t: t[0])


def search(server, space, scenario, count, batch=8, objective="ttft_p99_ms", seeds=(1, 2, 3)):
    """Asks for a batch, evaluates it side by side, tells all: seeds stay, so trials are paired."""
    study = Study(space)
    while len(study.trials) < count:
        asked = [study.ask() for _ in range(min(batch, count - len(study.trials)))]
        futures = [server.call("evaluate", {"params": params, "scenario": scenario,
                                            "seeds": list(seeds), "objectives": [objective]})
                   for params in asked]
        for params, future in zip(asked, futures):
            try:
                study.tell(params, future.result()["objectives"][objective])
            except blis.BlisError:
                study.tell(params, None)
    return study


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    space = {"prefix": (0.01, 10.0), "queue": (0.01, 10.0), "kv": (0.01, 10.0)}
    with blis.Server(*sys.argv[3:]) as server:
        study = search(server, space, "chat-steady", count, batch=8 if kind == "random" else 1)
        value, params = study.best
        print(json.dumps({"best": value, "params": params, "trials": len(study.trials)}))


if __name__ == "__main__":
    main()
