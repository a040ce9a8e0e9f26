"""Loops that keep the contracts of the frameworks, without a model: stub_loops.py NAME FOLDER BLIS.

Each calls the adapter in FOLDER as the framework does, with a good candidate and bad ones, and ends
with an error where an answer is not what the framework can use."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import types

GOOD = 'return { "weighted", scorers = "prefix-affinity:1,queue-depth:2" }\n'
BAD = {
    "syntax": "return function(",
    "nan": "return require('blis').scorer { name = 'x', score = function() return 0 / 0 end }",
    "loop": "return function() while true do end end",
    "text": "local s = ('x'):rep(1 << 30) return s",
    "memory": "local t = {} for i = 1, 1e9 do t[i] = { i, i, i, i, i, i, i, i } end",
    "late": "local n = 0 return function() n = n + 1 if n > 55 then error('late') end return 1 end",
    "late stage": "return require('blis').scorer { name = 'x', score = function(request, one) "
                  "if request.tenant == 'two' then error('late') end "
                  "return one.prefix_hit / 2 + 0.5 / (1 + one.in_flight) end }",
    "fence": "```lua\nreturn 'random'\n```",
}
FILTERS = [re.compile(r"[A-Za-z0-9]{32,}"), re.compile(r"token[:=]\S*", re.I),
           re.compile(r"password\S*", re.I), re.compile(r"\x1b\[[0-9;]*m")]


def check(holds, *what):
    if not holds:
        raise SystemExit("stub loop: %s" % (what,))


def check_text(text, is_good):
    check(isinstance(text, str) and len(text) <= 4000, "feedback", text)
    for pattern in FILTERS:
        check(not pattern.search(text), "a filter would take", pattern.search(text))
    check(("score" in text[:500]) and ("INVALID" in text[:500]) != is_good, "verdict", text)


def check_metrics(metrics, is_good):
    for name, value in metrics.items():
        check(type(value) is float and value == value, "metric", name, value)
    score = metrics["combined_score"]
    check(score > 0 if is_good else score == 0, "score", score)
    check(metrics["validity"] == (1 if is_good else -1), "validity")


def candidates(folder, suffix):
    for name, text in [("good", GOOD), *BAD.items()]:
        path = os.path.join(folder, name.replace(" ", "_") + suffix)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield name, path, text


def load(path):
    spec = importlib.util.spec_from_file_location("evaluator", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fake_framework(package):
    """A package with a class EvaluationResult, imported as the framework would have."""
    class EvaluationResult:
        def __init__(self, metrics, artifacts):
            self.metrics, self.artifacts = metrics, artifacts
    module = types.ModuleType(package + ".evaluation_result")
    module.EvaluationResult = EvaluationResult
    sys.modules[package], sys.modules[module.__name__] = types.ModuleType(package), module
    return EvaluationResult


def in_thread(function, *arguments):
    """With a time-out that stops nothing, as the frameworks have it."""
    box = []
    thread = threading.Thread(target=lambda: box.append(function(*arguments)))
    thread.start()
    thread.join(120)
    check(box, "time-out or exception in", arguments)
    return box[0]


def cascade(folder, package, stages, thresholds):
    kind = fake_framework(package)
    for name, path, _ in candidates(folder, ".lua"):
        module = load(os.path.join(folder, "evaluator.py"))
        merged, artifacts = {}, {}
        for i in range(stages):
            result = in_thread(getattr(module, "evaluate_stage%d" % (i + 1)), path)
            check(isinstance(result, kind), "class", result)
            merged.update(result.metrics)
            artifacts.update(result.artifacts)
            if i < len(thresholds) and merged["combined_score"] < thresholds[i]:
                break
        check_metrics(merged, name == "good")
        check_text(artifacts["feedback"], name == "good")
        check(("error" in artifacts) == (name != "good"), "error", artifacts)
        check(all(isinstance(value, str) for value in artifacts.values()), "artifacts")
        if name in ("good", "late"):
            check(isinstance(in_thread(module.evaluate, path), kind), "evaluate")


def openevolve(folder):
    cascade(folder, "openevolve", 3, [0.5, 0.5])


def skydiscover(folder):
    cascade(folder, "skydiscover", 2, [0.3])
    os.environ["BLIS_FLAT"] = "1"
    module = load(os.path.join(folder, "evaluator.py"))
    for name, path, _ in candidates(folder, ".py"):  # its GEPA path writes .py
        if name not in ("good", "loop"):
            continue
        flat = module.evaluate(path)
        check(isinstance(flat, dict) and isinstance(flat.pop("feedback"), str), "flat")
        check_metrics(flat, name == "good")
    shinka(folder, ["good", "syntax"])


def shinka(folder, names=("good", *BAD)):
    for name, path, _ in candidates(folder, ".lua"):
        if name not in names:
            continue
        results = os.path.join(folder, "gen_" + name.replace(" ", "_"), "results")
        os.makedirs(results)
        done = subprocess.run([sys.executable, os.path.join(folder, "evaluator.py"),
                               "--program_path", path, "--results_dir", results],
                              capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 and done.stderr == "", "shinka", done.stderr)
        with open(os.path.join(results, "metrics.json"), encoding="utf-8") as file:
            metrics = json.load(file)
        with open(os.path.join(results, "correct.json"), encoding="utf-8") as file:
            correct = json.load(file)
        check(correct["correct"] == (name == "good"), "correct", correct)
        check((correct["error"] is None) == (name == "good"), "error", correct)
        check((metrics["combined_score"] > 0) == (name == "good"), "score", metrics)
        check_text(metrics["text_feedback"], name == "good")
        check("public" in metrics and "private" in metrics, "parts", metrics)


def skydiscover_container(folder):
    subprocess.run(["sh", os.path.join(folder, "evaluator.py"), folder], check=True)
    check(os.path.exists(os.path.join(folder, "Dockerfile")), "Dockerfile")
    for name, path, _ in candidates(folder, ".lua"):
        for mode in ("train", "test") if name in ("good", "nan") else ("train",):
            done = subprocess.run([os.path.join(folder, "evaluate.sh"), path, mode],
                                  capture_output=True, text=True, timeout=120)
            check(done.returncode == 0 and done.stderr == "", "container", done.stderr)
            check(done.stdout.count("\n") == 1, "one line")
            result = json.loads(done.stdout)
            check((result["status"] == "success") == (name == "good"), "status", result)
            check((result["combined_score"] > 0) == (name == "good"), "score")


def gepa(folder):
    module = load(os.path.join(folder, "evaluator.py"))
    pairs = [(text, module.DATASET[-1]) for _, _, text in candidates(folder, ".lua")]
    pairs.append(({"code": GOOD}, module.VALSET[0]))
    results = module.batch_evaluator(pairs, opt_states=None)
    check(len(results) == len(pairs), "length")
    for (candidate, _), (score, info) in zip(pairs, results):
        is_good = candidate in (GOOD, {"code": GOOD})
        check((score > 0) == is_good, "score", score, info)
        check_text(info["Feedback"], is_good)
        check(("Error" in info) == (not is_good), "Error")
    score, info = module.evaluator(GOOD, module.DATASET[-1])
    check(score == results[0][0], "the same alone and in a batch", score, results[0][0])
    check(isinstance(info["scores"], dict), "scores")


def processes_of(folder):
    """Processes, but this one, that were started with BLIS_STUB = folder."""
    mark, found = ("BLIS_STUB=" + folder).encode(), []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % number, "rb") as file:
                if int(number) != os.getpid() and mark in file.read().split(b"\0"):
                    found.append(number)
        except OSError:
            pass
    return found


if __name__ == "__main__":
    os.environ["BLIS"], os.environ["BLIS_STUB"] = sys.argv[3], sys.argv[2]
    globals()[sys.argv[1].replace("-", "_")](sys.argv[2])
    check(not processes_of(sys.argv[2]), "processes are left behind", processes_of(sys.argv[2]))
    print("kept")
