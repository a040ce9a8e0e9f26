"""blis: a deterministic, scriptable simulator of LLM inference clusters, from Python.

    import blis

    least_prefill = blis.policy('''
        local blis = require "blis"
        return blis.scorer { name = "least-prefill", score = function(request, instance)
          local new_tokens = request.prompt_tokens - instance.cached_tokens
          return 1 / (1 + (instance.pending_prefill_tokens + new_tokens) / 1000)
        end }''')

    print(blis.compare({
        "cluster": {"model": "qwen/qwen3-14b", "hardware": "H100", "instances": 4},
        "workload": {"rate": 30, "requests": 5000, "prompt_tokens": 500, "output_tokens": 100},
        "routing": ["round-robin", ("weighted", {"scorers": [[least_prefill, 1]]})],
    })["text"])

Experiments are those of Lua, as dicts; `blis help` has every option. Results are dicts, and
columns that pandas, polars and DuckDB take as they are.
"""
import itertools
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .server import BlisError, Progress, Server, usual
from .values import Columns, columns, flat, of_csv, to_json

__all__ = ["BlisError", "Server", "compare", "evaluate", "policy", "run", "sweep",
           "to_json"]

Policy = Dict[str, Any]
Experiment = Mapping[str, Any]


def policy(lua_text: str, name: str = "policy.lua", **params: Any) -> Policy:
    """A policy in Lua: the text returns it. Errors call it by its name; the text gets params as
    its argument: local p = ..."""
    if callable(lua_text):
        to_json(lua_text, "routing")
    return {"lua": lua_text, "name": name, "params": params}


def _result(found: Dict[str, Any]) -> Dict[str, Any]:
    """Figures, and beside them text, requests, printed and notices."""
    result = found.pop("figures")
    result.update(found)
    return result


def _ask(method: str, params: Dict[str, Any], limits: Optional[Mapping[str, Any]],
         server: Optional[Server]) -> "Future[Any]":
    params["experiment"] = to_json(params["experiment"])
    if limits:
        params["limits"] = dict(limits)
    return (server or usual()).call(method, params)


def run(experiment: Experiment, *, requests: bool = False, series: bool = False,
        limits: Optional[Mapping[str, Any]] = None,
        server: Optional[Server] = None) -> Dict[str, Any]:
    """Runs an experiment: every figure by its name (result["ttft_ms"]["p99"]), result["text"] as
    a readable summary, result["hash"]. With requests, result["requests"] has a column for each
    field of the requests; with series, result["series"] has queues over time, as columns too."""
    want = [name for name, is_wanted in (("requests", requests), ("series", series)) if is_wanted]
    answer = _ask("run", {"experiment": experiment, "want": want}, limits, server).result()
    result = _result(answer["run"])
    result["notices"] = answer["notices"]
    if "series" in result:
        result["series"] = columns(result["series"])
    return result


def compare(experiment: Experiment, *, limits: Optional[Mapping[str, Any]] = None,
            server: Optional[Server] = None) -> Dict[str, Any]:
    """The same requests under each policy of the list in routing, or under each of variants.
    ["table"] has a row for each, ["text"] is readable. Without replications ["results"] has the
    figures of each run; with them ["against"] has the differences with their intervals."""
    answer = _ask("compare", {"experiment": experiment}, limits, server).result()
    found = answer["comparison"]
    found["notices"] = answer["notices"]
    if "csv" in found:
        found["table"] = of_csv(found.pop("csv"))
        found["against"] = columns(found["against"])
    else:
        found["results"] = [_result(one) for one in found["results"]]
        found["table"] = columns(
            flat({k: v for k, v in one.items() if k not in ("setup", "text")})
            for one in found["results"])
    return found


def evaluate(program: Optional[Union[str, Policy]] = None, *, progress: Optional[Progress] = None,
             server: Optional[Server] = None, **params: Any) -> Dict[str, Any]:
    """Scores a policy on a scenario, in a jail of its own: for searches, and for policies that
    others wrote. docs/serve.md has the parameters. program is a policy, or the name of one."""
    if isinstance(program, str):
        params["program"] = {"name": program}
    elif program is not None:
        params["program"] = {"lua": to_json(program, "routing")["lua"]}
        if program.get("params"):
            params.setdefault("params", program["params"])
    return (server or usual()).call("evaluate", to_json(params), progress).result()


def _points(parameters: Mapping[str, Sequence[Any]]) -> List[Dict[str, Any]]:
    return [dict(zip(parameters, values)) for values in itertools.product(*parameters.values())]


def sweep(trial: Callable[[Dict[str, Any]], Experiment],
          parameters: Mapping[str, Sequence[Any]], *, seeds: Sequence[int] = (42,),
          progress: Optional[Callable[[int, int], None]] = None,
          limits: Optional[Mapping[str, Any]] = None,
          server: Optional[Server] = None) -> Columns:
    """Runs trial(p), which returns an experiment, for every combination of parameters and every
    seed (p["seed"]), side by side. Columns: the parameters, seed, every figure ("ttft_ms.p99"),
    and error, which says why a trial has none. progress(done, all) is called after each."""
    points = [dict(point, seed=seed) for point in _points(parameters) for seed in seeds]
    server = server or usual()
    rows: List[Dict[str, Any]] = [{}] * len(points)
    open_runs: Dict["Future[Any]", int] = {}
    done, next_point = 0, 0
    try:
        while done < len(points):
            while next_point < len(points) and len(open_runs) < 4 * server.hello["workers"]:
                experiment = dict(trial(dict(points[next_point])))
                experiment.setdefault("seed", points[next_point]["seed"])
                open_runs[_ask("run", {"experiment": experiment}, limits, server)] = next_point
                next_point += 1
            for future in wait(open_runs, return_when=FIRST_COMPLETED).done:
                place = open_runs.pop(future)
                rows[place] = _row(points[place], future)
                done += 1
                if progress:
                    progress(done, len(points))
    finally:
        for future in open_runs:
            server.cancel(future)
    return columns(rows)


def _row(point: Dict[str, Any], future: "Future[Any]") -> Dict[str, Any]:
    shown = {name: value.get("name", "policy.lua") if isinstance(value, dict) else value
             for name, value in point.items()}
    try:
        figures = future.result()["run"]["figures"]
    except BlisError as error:
        return dict(shown, error=str(error))
    figures.pop("setup", None)
    return dict(shown, **flat(figures), error=None)
