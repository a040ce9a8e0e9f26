"""run, compare and list beside the client, for those who know another simulator's Python interface;
and how a search by ask and tell, or by chance, uses it. Standard library only.

    python3 share/blis_python.py random 40      # a random search over three weights
    python3 share/blis_python.py ask-tell 40    # the same through an object with ask and tell
"""
import json
import random
import sys

from blis_client import Blis, BlisError

ALL = ["objectives", "constraints", "per_seed", "feedback", "trace", "metrics"]


def as_program(algorithm):
    """A policy's name, or Lua text."""
    if isinstance(algorithm, dict):
        return algorithm
    return {"lua" if "return" in algorithm else "name": algorithm}


class Result:
    """Read-only figures of a run; `custom_metrics` are what was asked for beside them."""

    def __init__(self, algorithm, result):
        self.__dict__.update(result["metrics"], algorithm=algorithm, hash=result["digest"],
                             feedback=result.get("feedback", ""), custom_metrics={},
                             per_seed=result.get("per_seed", []))

    def __setattr__(self, name, _):
        raise AttributeError("results are read-only: " + name)


def run(config, algorithm, blis, **more):
    """One algorithm on a scenario (its id, or an object with cluster and workload)."""
    result = blis.evaluate(as_program(algorithm), scenario=config, want=ALL, **more)
    return Result(algorithm, result)


def compare(config, algorithms, blis, **more):
    """Several algorithms on the same requests, side by side; a failure is raised."""
    futures = [blis.call("evaluate", program=as_program(one), scenario=config, want=ALL, **more)
               for one in algorithms]
    return [Result(one, future.result()) for one, future in zip(algorithms, futures)]


def list_algorithms(blis):
    """Names of the built-in policies."""
    return blis.call("describe").result()["programs"]


class Study:
    """Ask and tell as Optuna has them: with it installed, this class is optuna's study, `ask` its
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


def search(blis, space, scenario, count, batch=8, objective="ttft_p99_ms", seeds=(1, 2, 3)):
    """Asks for a batch, evaluates it side by side, tells all: seeds stay, so trials are paired."""
    study = Study(space)
    while len(study.trials) < count:
        asked = [study.ask() for _ in range(min(batch, count - len(study.trials)))]
        futures = [blis.call("evaluate", params=params, scenario=scenario, seeds=list(seeds),
                             objectives=[objective]) for params in asked]
        for params, future in zip(asked, futures):
            try:
                study.tell(params, future.result()["objectives"][objective])
            except BlisError:
                study.tell(params, None)
    return study


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    space = {"prefix": (0.01, 10.0), "queue": (0.01, 10.0), "kv": (0.01, 10.0)}
    with Blis(*sys.argv[3:]) as blis:
        study = search(blis, space, "chat-steady", count, batch=8 if kind == "random" else 1)
        value, params = study.best
        print(json.dumps({"best": value, "params": params, "trials": len(study.trials)}))


if __name__ == "__main__":
    main()
