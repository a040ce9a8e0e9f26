--- Evaluations: the score of a candidate in a stage of a suite, with feedback for a search.
local blis_version = require("blis.core")._VERSION
local candidate = require "blis.eval.candidate"
local core = require "blis.core"
local feedback = require "blis.eval.feedback"
local json = require "blis.json"
local processes = require "blis.eval.processes"
local probes = require "blis.eval.probes"
local processors = require "blis.processors"
local score = require "blis.eval.score"
local verdict = require "blis.results.verdict"

local eval = {}

---@class blis.eval.Options
---@field stage blis.eval.Stage
---@field limits? blis.eval.Limits default: the suite's
---@field jobs? integer processes at a time; default: one per processor
---@field frozen? string text whose parts outside of the block must be unchanged
---@field lcb? boolean the score is the lower end of the interval
---@field heldout? blis.eval.Stage whose score goes to private
---@field probes? boolean
---@field known? table measures of the baseline, by scenario and seed; filled

local function tasks_of(suite, one, stage, limits)
  local tasks = {}
  for _, scenario in ipairs(stage.scenarios) do
    for _, seed in ipairs(stage.seeds) do
      tasks[#tasks + 1] = { suite = suite, candidate = one, scenario = scenario, seed = seed,
        limits = limits, is_watched = #tasks == 0,
        is_audited = stage.name == "full" or stage.name == "test" }
    end
  end
  return tasks
end

--- Outcomes as measures[scenario][seed]; or the first failure, and where.
local function arrange(stage, outcomes)
  local measures, index = {}, 0
  for s, scenario in ipairs(stage.scenarios) do
    measures[s] = {}
    for i, seed in ipairs(stage.seeds) do
      index = index + 1
      local outcome = outcomes[index]
      if outcome.failure then return nil, outcome.failure, scenario.id, seed end
      measures[s][i] = outcome.measures
    end
  end
  return measures
end

local function key_of(scenario, seed) return ("%s %d"):format(scenario.id, seed) end

--- Measures of the baseline; what is known is not run again.
local function baseline_measures(suite, stage, options)
  local known = options.known or {}
  local one, tasks = candidate.read(suite.baseline, "baseline"), {}
  for _, task in ipairs(tasks_of(suite, one, stage, suite.limits)) do
    task.is_watched = false
    if not known[key_of(task.scenario, task.seed)] then tasks[#tasks + 1] = task end
  end
  for i, outcome in ipairs(processes.run(tasks, options.jobs)) do
    if outcome.failure then
      error({ code = "suite", message = ("the baseline of the suite fails in %s: %s"):format(
        tasks[i].scenario.id, outcome.failure.message) }, 0)
    end
    known[key_of(tasks[i].scenario, tasks[i].seed)] = outcome.measures
  end
  local measures = {}
  for s, scenario in ipairs(stage.scenarios) do
    measures[s] = {}
    for i, seed in ipairs(stage.seeds) do measures[s][i] = known[key_of(scenario, seed)] end
  end
  return measures
end

eval.baseline_measures = baseline_measures

local function instructions_of(outcomes)
  local sum = 0
  for _, outcome in ipairs(outcomes) do sum = sum + (outcome.instructions or 0) end
  return sum
end

local function provenance(suite, one, options, instructions)
  return json.object("blis", blis_version, "suite", suite.name, "suite_sha", suite.hash,
    "policy_sha", one.hash, "baseline_sha", suite.baseline_hash, "result_sha", "",
    "seeds", json.list(options.stage.seeds), "stage", options.stage.name,
    "split", options.stage.split, "wall_ms", 0, "lua_instr", instructions)
end

--- Fills in what is known last: the hash over everything but provenance, and the time.
local function seal(object, provenance_of, start_us)
  local hash = core.hash128(json.encode(object)):sub(1, 16)
  local fields = provenance_of.pairs_of
  for i = 1, fields.n, 2 do
    if fields[i] == "result_sha" then fields[i + 1] = hash end
    if fields[i] == "wall_ms" then fields[i + 1] = (core.clock_us() - start_us) // 1000 end
  end
  local all = object.pairs_of
  all[all.n + 1], all[all.n + 2], all.n = "provenance", provenance_of, all.n + 2
  return hash
end

---@class blis.eval.Result
---@field object table for JSON
---@field is_valid boolean
---@field score number
---@field feedback string
---@field digest string of all that is reproducible
---@field scenarios { id: string, score: number }[]

--- The verdict of a candidate without a score.
---@param code? string of the failure
---@param message string
---@return table
function eval.failure_verdict(code, message)
  return verdict.json { { code = code or "candidate", status = "invalid",
    text = feedback.clean(message) } }
end

local function invalid(suite, one, options, failure, where, outcomes, start_us)
  local text = feedback.of_failure(failure, where)
  local status = failure.code == "timeout" and "timeout" or "error"
  local scenarios = {}
  for i, scenario in ipairs(options.stage.scenarios) do
    scenarios[i] = json.object("id", scenario.id, "split", scenario.split,
      "weight", scenario.weight, "score", 0)
  end
  local object = json.object("schema", "blis-eval/1", "verdict",
    eval.failure_verdict(failure.code, failure.message), "status", status, "combined_score", 0,
    "correct", false, "metrics", json.object("combined_score", 0, "validity", -1),
    "scenarios", json.list(scenarios), "public", json.object(), "private", json.object(),
    "artifacts", json.object("feedback", text, "error", feedback.clean(failure.message)))
  local digest = seal(object, provenance(suite, one, options, instructions_of(outcomes)), start_us)
  return { object = object, is_valid = false, score = 0, feedback = text, failure = failure,
    digest = digest }
end

local function round(number) return number == number and tonumber(("%.9g"):format(number)) or 0 end

local function percent(ratio) return tonumber(("%.2f"):format(100 * ratio)) end

local function scenario_objects(scored)
  local list = {}
  for i, one in ipairs(scored.scenarios) do
    local ci = one.low and json.list { round(-one.high), round(-one.low) } or nil
    list[i] = json.object("id", one.scenario.id, "split", one.scenario.split,
      "weight", one.weight, "score", round(math.exp(one.log_ratio)),
      "log_ratio", round(one.log_ratio), "delta", round(-one.log_ratio), "ci", ci,
      "n", #one.per_seed, "oracle", one.scenario.oracle or nil)
  end
  return json.list(list)
end

local function metrics_object(scored, combined, measures)
  local function mean(name) return round(score.mean_of(measures, name)) end
  return json.object("combined_score", combined, "validity", 1,
    "log_ratio", round(scored.log_ratio),
    "ci_half", scored.low and round((scored.high - scored.low) / 2) or nil,
    "goodput_rps", mean "goodput_rps", "miss_frac", mean "miss_frac",
    "reject_frac", mean "reject_frac", "ttft_p99_ms", mean "ttft_p99_ms",
    "e2e_mean_ms", mean "e2e_mean_ms", "itl_mean_ms", mean "itl_mean_ms",
    "cache_hit_frac", mean "cache_hit_rate")
end

local function public_object(scored, combined, measures)
  return json.object("score_pct", percent(combined - 1),
    "ttft_p99_ms", tonumber(("%.1f"):format(score.mean_of(measures, "ttft_p99_ms"))),
    "miss_pct", percent(score.mean_of(measures, "miss_frac")),
    "reject_pct", percent(score.mean_of(measures, "reject_frac")),
    "interval_pct", scored.low and ("%+.2f..%+.2f"):format(
      100 * (math.exp(scored.low) * scored.penalty - 1),
      100 * (math.exp(scored.high) * scored.penalty - 1)) or nil)
end

--- Longer than the feedback: a line per scenario and seed.
local function explain(stage, baseline, measures)
  local lines = { "scenario seed miss_frac ttft_p99_ms e2e_mean_ms (baseline)" }
  for s, scenario in ipairs(stage.scenarios) do
    for i, seed in ipairs(stage.seeds) do
      local c, b = measures[s][i], baseline[s][i]
      lines[#lines + 1] = ("%s %d %.4f %.1f %.1f (%.4f %.1f %.1f)"):format(scenario.id, seed,
        c.miss_frac, c.ttft_p99_ms, c.e2e_mean_ms, b.miss_frac, b.ttft_p99_ms, b.e2e_mean_ms)
    end
  end
  return feedback.clean(table.concat(lines, "\n"))
end

local function notes_of(one, outcomes)
  local notes = {}
  if one.lua and candidate.may_be_swallowed(one.text) then
    notes[#notes + 1] = "note: the first line of the EVOLVE-BLOCK is a comment; check that this is "
      .. "intended"
  end
  local printed = outcomes[1] and outcomes[1].printed
  if printed then notes[#notes + 1] = feedback.quoted(printed) end
  return notes
end

--- The score of a candidate in another stage, for people: models must not see it.
local function heldout_score(suite, one, options)
  local stage = options.heldout
  local outcomes = processes.run(tasks_of(suite, one, stage, options.limits), options.jobs)
  local measures = arrange(stage, outcomes)
  if not measures then return 0 end
  local baseline = baseline_measures(suite, stage, { jobs = options.jobs })
  if score.starved(stage, suite.fairness_floor, baseline, measures) then return 0 end
  return score.of(stage, suite.soft, baseline, measures).combined
end

local function private_object(suite, one, options, combined)
  if not options.heldout then return json.object() end
  local heldout = heldout_score(suite, one, options)
  local gap = heldout > 0 and combined / heldout or nil
  return json.object("heldout", round(heldout), "generalisation_gap", gap and round(gap),
    "overfitted", gap and gap > 1.1 and 1 or 0)
end

--- Decisions that lost most in the worst scenario; nil if only the score of a candidate is
--- evaluated.
local function regrets_of(suite, one, options, scored)
  if not options.probes then return nil end
  local worst = scored.scenarios[1]
  for _, scenario in ipairs(scored.scenarios) do
    if scenario.log_ratio < worst.log_ratio then worst = scenario end
  end
  local outcomes = processes.run({ { suite = suite, candidate = one, scenario = worst.scenario,
    seed = options.stage.seeds[1], limits = options.limits, wants_regrets = true } }, 1)
  return outcomes[1].regrets
end

local function valid(suite, one, options, scored, baseline, measures, outcomes, start_us)
  local combined = scored.combined
  if options.lcb and scored.low then combined = math.exp(scored.low) * scored.penalty end
  combined = round(combined)
  local notes = notes_of(one, outcomes)
  if options.probes then
    for _, note in ipairs(probes.run(suite, one, options, measures)) do notes[#notes + 1] = note end
  end
  local text = feedback.of_score(scored, baseline, measures,
    { reads = outcomes[1].reads, notes = notes,
      regrets = regrets_of(suite, one, options, scored) })
  local object = json.object("schema", "blis-eval/1",
    "verdict", verdict.json { verdict.few_seeds(#options.stage.seeds) },
    "status", "success",
    "combined_score", combined, "correct", true,
    "metrics", metrics_object(scored, combined, measures),
    "scenarios", scenario_objects(scored), "public", public_object(scored, combined, measures),
    "private", private_object(suite, one, options, combined),
    "artifacts", json.object("feedback", text, "explain", explain(options.stage, baseline,
      measures)))
  local digest = seal(object, provenance(suite, one, options, instructions_of(outcomes)), start_us)
  return { object = object, is_valid = true, score = combined, feedback = text, scored = scored,
    measures = measures, digest = digest }
end

--- What is wrong with a candidate before anything is run.
local function early_problem(one, options)
  if options.frozen then
    local problem = candidate.frozen_problem(one.text, options.frozen)
    if problem then return { code = "frozen", message = problem } end
  end
end

--- Evaluates a candidate. Raises only what is wrong with the suite.
---@param suite blis.eval.Suite
---@param text string
---@param name string for messages
---@param options blis.eval.Options
---@return blis.eval.Result
function eval.run(suite, text, name, options)
  local start_us, stage = core.clock_us(), options.stage
  options.limits = options.limits or suite.limits
  options.jobs = options.jobs or processors.usable()
  local ok, one = pcall(candidate.read, text, name)
  if not ok then
    local broken = { hash = core.hash128(text):sub(1, 16) }
    return invalid(suite, broken, options, { code = "script_error", message = one.message }, nil,
      {}, start_us)
  end
  one.is_frozen = options.frozen ~= nil
  local problem = early_problem(one, options)
  if problem then return invalid(suite, one, options, problem, nil, {}, start_us) end
  local baseline = baseline_measures(suite, stage.baseline or stage, options)
  local tasks = tasks_of(suite, one, stage, options.limits)
  local outcomes = processes.run(tasks, options.jobs)
  local measures, failure, scenario, seed = arrange(stage, outcomes)
  if not measures then
    return invalid(suite, one, options, failure, ("scenario %s, run %d"):format(scenario, seed),
      outcomes, start_us)
  end
  local starved = score.starved(stage, suite.fairness_floor, baseline, measures)
  if starved then
    return invalid(suite, one, options, { code = "unfair", message = starved }, nil, outcomes,
      start_us)
  end
  local scored = score.of(stage, suite.soft, baseline, measures)
  return valid(suite, one, options, scored, baseline, measures, outcomes, start_us)
end

return eval
