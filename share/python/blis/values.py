"""From Python's values to those of the simulator, and back to columns."""
import csv
import io
import math
from typing import Any, Dict, Iterable, List, Mapping, Optional

Columns = Dict[str, List[Any]]

# What to write in place of a Python function, by where it was found.
_instead = {
    "routing": "return function(request, instances)\n"
               "  local best = 1\n"
               "  for i = 2, #instances do\n"
               "    if instances[i].queue_depth < instances[best].queue_depth then best = i end\n"
               "  end\n"
               "  return best\n"
               "end",
    "scorers": "local blis = require 'blis'\n"
               "return blis.scorer { name = 'mine', score = function(request, instance)\n"
               "  return 1 / (1 + instance.queue_depth)\n"
               "end }",
    "admission": "return function(request, state)\n"
                 "  return 'admit'  -- or 'reject', 'a reason'\n"
                 "end",
}


def _refuse_function(path: str) -> None:
    for name in ("scorers", "admission", "routing"):
        if name in path:
            break
    lines = _instead[name]
    raise TypeError(
        "%s: a Python function cannot be a policy: a policy decides inside the simulator, a million "
        "times a second and the same way every time, and Python is another process. Say it in Lua:"
        "\n\nblis.policy(\"\"\"\n%s\n\"\"\")" % (path or "experiment", lines))


def to_json(value: Any, path: str = "") -> Any:
    """A value as the server reads it. A tuple that ends with a dict is a name with options, as in
    ("gaussian", {"mean": 512}); { "gaussian", mean = 512 } in Lua."""
    if callable(value):
        _refuse_function(path)
    if isinstance(value, Mapping):
        return {str(key): to_json(item, "%s.%s" % (path, key) if path else str(key))
                for key, item in value.items()}
    if isinstance(value, tuple) and value and isinstance(value[-1], Mapping):
        named = {str(i + 1): to_json(item, path) for i, item in enumerate(value[:-1])}
        named.update(to_json(value[-1], path))
        return named
    if isinstance(value, (list, tuple)):
        return [to_json(item, "%s[%d]" % (path, i + 1)) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("%s: invalid value %r: expected a finite number"
                         % (path or "experiment", value))
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return to_json(value.tolist(), path)
    raise TypeError("%s: invalid value of type %s: expected a number, string, boolean, list, "
                    "tuple, or mapping" % (path or "experiment", type(value).__name__))


def flat(figures: Mapping[str, Any], prefix: str = "") -> Dict[str, Any]:
    """{"ttft_ms": {"p99": 3}} as {"ttft_ms.p99": 3}: numbers and texts, no lists."""
    found: Dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            found.update(flat(value, prefix + name + "."))
        elif not isinstance(value, list):
            found[prefix + name] = value
    return found


def columns(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Rows as columns of equal length; what a row does not have is None."""
    rows = list(rows)
    names: Dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return {name: [row.get(name) for row in rows] for name in names}


def _number(text: str) -> Any:
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def of_csv(text: str) -> Columns:
    """Columns of a table in CSV; what is empty is None."""
    rows: Iterable[Dict[Optional[str], Any]] = csv.DictReader(io.StringIO(text))
    return columns({name: _number(value) for name, value in row.items()} for row in rows)
