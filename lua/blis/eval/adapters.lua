--- Evaluators in the words of the frameworks that search for programs: each insists on its own way
--- to call and to answer, so there is a file for each. None of them ever raises for a candidate.
local errors = require "blis.errors"

local adapters = {}

adapters.names = { "openevolve", "skydiscover", "skydiscover-container", "shinka", "gepa" }

-- What the ones in Python share. The class of results is the framework's own: it has imported it
-- already when it loads an evaluator.
local python_head = [==[
import json
import os
import subprocess
import sys

BLIS = os.environ.get("BLIS", "blis")
SUITE = os.environ.get("BLIS_SUITE", @SUITE@)
SECONDS = 240  # blis has its own limits, far below; this is for a machine that stands still


def failed(problem):
    text = "INVALID: score 0. the evaluator could not run: %s" % problem
    return {"status": "error", "combined_score": 0.0, "correct": False, "scenarios": [],
            "metrics": {"combined_score": 0.0, "validity": -1.0},
            "artifacts": {"feedback": text, "error": text}}


def blis_eval(*arguments, text=None):
    """The lines that `blis eval` prints, decoded; never raises."""
    try:
        done = subprocess.run([BLIS, "eval", SUITE, *arguments], input=text, text=True,
                              capture_output=True, timeout=SECONDS)
        return [json.loads(line) for line in done.stdout.splitlines()] or [failed(done.stderr)]
    except Exception as problem:
        return [failed(problem)]


def result_class(package):
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == package and hasattr(module, "EvaluationResult"):
            return module.EvaluationResult
    return None
]==]

local cascade = [==[


def evaluate_stage1(program_path):
    return answer(program_path, "smoke")


def evaluate_stage2(program_path):
    return answer(program_path, "train")
]==]

local texts = {}

texts.openevolve = [==["""Evaluator for OpenEvolve: openevolve-run policy.lua THIS -c config.yaml

Set language: lua, evaluator.cascade_thresholds: [0.8, 0.95], evaluator.max_retries: 0 and
database.max_snapshot_artifacts: null there.
"""
]==] .. python_head .. [==[


def answer(program_path, stage):
    result = blis_eval(program_path, stage, "--json")[0]
    metrics = {name: float(value) for name, value in result["metrics"].items()}
    kind = result_class("openevolve")
    return kind(metrics=metrics, artifacts=result["artifacts"]) if kind else metrics


def evaluate(program_path):
    return answer(program_path, "train")
]==] .. cascade .. [==[


def evaluate_stage3(program_path):
    return answer(program_path, "full")
]==]

texts.skydiscover = [==["""Evaluator for SkyDiscover's own searches.

With BLIS_FLAT=1, for its back ends gepa and alphaevolve, it answers with a plain dict that has
`feedback` on top; for shinkaevolve it is run as a program.
"""
]==] .. python_head .. [==[


def answer(program_path, stage):
    result = blis_eval(program_path, stage, "--json")[0]
    metrics = {name: float(value) for name, value in result["metrics"].items()}
    kind = result_class("skydiscover")
    if kind and not os.environ.get("BLIS_FLAT"):
        return kind(metrics=metrics, artifacts=result["artifacts"])
    return dict(metrics, feedback=result["artifacts"]["feedback"])


def evaluate(program_path):
    return answer(program_path, "train")
]==] .. cascade .. [==[


if __name__ == "__main__":
    given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    os.execvp(BLIS, [BLIS, "eval", SUITE, given["--program_path"], "train", "--json",
                     "--shinka-dir", given["--results_dir"]])
]==]

texts.shinka = [==["""Evaluator for ShinkaEvolve: evaluate.py --program_path P --results_dir D

Set use_text_feedback: true. The process becomes blis itself, so that the framework's kill ends it.
"""
import argparse
import os

BLIS = os.environ.get("BLIS", "blis")
SUITE = os.environ.get("BLIS_SUITE", @SUITE@)

parser = argparse.ArgumentParser()
parser.add_argument("--program_path", required=True)
parser.add_argument("--results_dir", required=True)
given, _ = parser.parse_known_args()
os.execvp(BLIS, [BLIS, "eval", SUITE, given.program_path, "train", "--json",
                 "--shinka-dir", given.results_dir])
]==]

texts.gepa = [==["""Evaluator for GEPA:

    optimize_anything(seed_candidate=SEED, evaluator=evaluator, batch_evaluator=batch_evaluator,
                      dataset=DATASET, valset=VALSET)
"""
]==] .. python_head .. [==[


DATASET = [{"id": name} for name in @TRAIN@]
VALSET = [{"id": name} for name in @VALIDATION@]


def text_of(candidate):
    return candidate if isinstance(candidate, str) else "\n".join(candidate.values())


def id_of(example):
    if example is None or isinstance(example, str):
        return example
    return example["id"] if isinstance(example, dict) else example.id


def pair_of(result):
    scenarios, artifacts = result["scenarios"], result["artifacts"]
    score = scenarios[0]["score"] if len(scenarios) == 1 else result["combined_score"]
    info = {"scores": {one["id"]: one["score"] for one in scenarios},
            "Feedback": artifacts["feedback"]}
    if "error" in artifacts:
        info["Error"] = artifacts["error"]
    return (float(score) if result["correct"] else 0.0), info


def batch_evaluator(pairs, opt_states=None):
    """One result per (candidate, example), in order, of one process."""
    groups = {"train": [], "validation": []}
    held = {one["id"] for one in VALSET}
    for place, (candidate, example) in enumerate(pairs):
        split = "validation" if id_of(example) in held else "train"
        item = {"lua": text_of(candidate)}
        if id_of(example) is not None:
            item["scenario"] = id_of(example)
        groups[split].append((place, item))
    results = [None] * len(pairs)
    for split, group in groups.items():
        if group:
            lines = "\n".join(json.dumps(item) for _, item in group)
            found = blis_eval("--batch", "-", "--stage", "train", "--split", split, text=lines)
            for i, (place, _) in enumerate(group):
                results[place] = pair_of(found[i] if i < len(found) else failed("no answer"))
    return results


def evaluator(candidate, example=None, opt_state=None):
    return batch_evaluator([(candidate, example)])[0]
]==]

texts["skydiscover-container"] = [==[
#!/bin/sh
# Makes the folder of an evaluator for SkyDiscover in containers: sh this-script FOLDER
# Put the program blis (one file) into it before the image is built.
set -eu
folder=${1:?which folder?}
mkdir -p "$folder"
cat >"$folder/evaluate.sh" <<'END'
#!/bin/sh
# evaluate.sh CANDIDATE train|test
exec "${BLIS:-/benchmark/blis}" eval "${BLIS_SUITE:-@PLAIN_SUITE@}" "$1" "$2" --json
END
chmod +x "$folder/evaluate.sh"
cat >"$folder/Dockerfile" <<'END'
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libxxhash0 libyaml-0-2 \
    zlib1g libzstd1 libsqlite3-0 libedit2 libseccomp2
WORKDIR /benchmark
COPY . /benchmark
END
]==]

local function quoted(text) return ("%q"):format(text):gsub("\\\n", "\\n") end

local function list_of(suite, split)
  local ids = {}
  for _, scenario in ipairs(suite.scenarios) do
    if scenario.split == split then ids[#ids + 1] = quoted(scenario.id) end
  end
  return "[" .. table.concat(ids, ", ") .. "]"
end

--- The text of an adapter for a suite.
---@param name string
---@param suite blis.eval.Suite
---@param suite_name string as it is given on the command line
---@return string
function adapters.text(name, suite, suite_name)
  local text = texts[name]
    or errors.invalid("unknown adapter '%s'%s", name, errors.suggestion(name, adapters.names))
  local values = { SUITE = quoted(suite_name), PLAIN_SUITE = suite_name,
    TRAIN = list_of(suite, "train"), VALIDATION = list_of(suite, "validation") }
  return (text:gsub("@([%u_]+)@", values))
end

return adapters
