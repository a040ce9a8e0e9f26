--- What an evaluation came to, as the protocol says it.
local core = require "blis.core"
local feedback = require "blis.eval.feedback"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"

local answer = {}

--- An error for a client.
---@param code string
---@param message string
---@param where? { file: string, line: integer }
---@return table
function answer.error(code, message, where)
  return { code = code, message = message, where = where }
end

--- The line for a request that failed.
---@param id any as it came, or null
---@param problem { code: string, message: string, where?: table }
---@return table
function answer.failed(id, problem)
  local where = problem.where
  return json.object("id", id, "ok", false, "error", json.object("code", problem.code,
    "message", problem.message,
    "where", where and json.object("file", where.file, "line", where.line),
    "retry", problem.code == "busy"))
end

-- Codes of failures as the protocol has them.
local codes = { crashed = "script_error", invariant = "internal", unfair = "script_error" }

--- The error of a failed run.
---@param failure blis.eval.Failure
function answer.of_failure(failure)
  local where = failure.line and { file = failure.file, line = failure.line }
  return answer.error(codes[failure.code] or failure.code, failure.message, where)
end

--- The error of anything that was raised while a request was read.
---@param problem any
function answer.of_problem(problem)
  if type(problem) == "table" and type(rawget(problem, "message")) == "string" then
    local is_bad = rawget(problem, "code") == "invalid" or rawget(problem, "code") == "parse"
    return answer.error(is_bad and "invalid_params" or "internal",
      (problem.message:gsub("^%S+%.lua:%d+: ", "")))
  end
  return answer.error("internal", tostring(problem))
end

local function means_of(list, runs)
  local object, directions, odd = {}, {}, {}
  for _, one in ipairs(list) do
    local value = metrics.mean(one, runs)
    local is_number = value and value - value == 0
    object[one.name], directions[one.name] = is_number and value or json.null, one.direction
    if not is_number then odd[#odd + 1] = one.name end
  end
  return object, directions, odd
end

local function constraints_of(evaluation, runs)
  local object, broken = {}, {}
  for _, one in ipairs(evaluation.constraints) do
    local value = metrics.mean(one.metric, runs)
    local compare, limit = metrics.bound(one.bound)
    local ok = value ~= nil and compare(value, limit)
    object[one.metric.name] = json.object("value", value or json.null, "bound", one.bound,
      "ok", ok)
    if not ok then
      broken[#broken + 1] = ("%s is %s, not %s"):format(one.metric.name, tostring(value), one.bound)
    end
  end
  return object, broken
end

local function per_seed_of(evaluation, runs)
  local list = {}
  for i, seed in ipairs(evaluation.seeds) do
    list[i] = json.object("seed", seed, "objectives", (means_of(evaluation.objectives,
      { runs[i] })), "hash", runs[i].hash)
  end
  return json.list(list)
end

local function worst_text(worst)
  if not worst then return nil end
  return ("slowest to answer: %s at %.3f s on %s (%s)"):format(worst.id, worst.at_s,
    feedback.in_one_line(worst.instance or worst.reason or "no instance"),
    worst.ttft_ms and ("%.1f ms"):format(worst.ttft_ms) or worst.state)
end

local function feedback_of(evaluation, runs, broken, odd, outcomes)
  local lines = {}
  for _, one in ipairs(evaluation.objectives) do
    local value = metrics.mean(one, runs)
    lines[#lines + 1] = ("%s = %s (%s is better)"):format(one.name,
      value and ("%.6g"):format(value) or "none", one.direction == "min" and "less" or "more")
  end
  for _, text in ipairs(broken) do lines[#lines + 1] = "constraint broken: " .. text end
  for _, name in ipairs(odd) do lines[#lines + 1] = name .. " is not a number here, so it is "
    .. "null" end
  for _, class in ipairs(runs[1].classes) do
    lines[#lines + 1] = ("%s: %d of %d served well"):format(class.name, class.good, class.offered)
  end
  lines[#lines + 1] = worst_text(runs[1].worst)
  local printed = outcomes[1].printed
  if printed then lines[#lines + 1] = feedback.quoted(printed) end
  return feedback.clean(table.concat(lines, "\n"))
end

local function trace_of(evaluation, runs)
  local list = {}
  for i, seed in ipairs(evaluation.seeds) do
    list[i] = json.object("seed", seed, "hash", runs[i].hash, "worst", runs[i].worst,
      "duration_s", runs[i].duration_s)
  end
  return json.list(list)
end

--- The totals of all runs; equal requests have equal bytes except cpu_s.
---@param evaluation blis.serve.Evaluation
---@param outcomes blis.eval.Outcome[]
---@param cpu_s number
---@return table
---@return string digest
function answer.result(evaluation, outcomes, cpu_s)
  local runs, lost = {}, 0
  for i, outcome in ipairs(outcomes) do
    runs[i] = outcome.measures
    lost = lost + runs[i].lost
  end
  local want = evaluation.want
  local objectives, directions, odd = means_of(evaluation.objectives, runs)
  local constraints, broken = constraints_of(evaluation, runs)
  local fields = table.pack(
    "objectives", objectives, "directions", directions,
    "constraints", want.constraints and constraints or nil,
    "per_seed", want.per_seed and per_seed_of(evaluation, runs) or nil,
    "feedback", want.feedback and feedback_of(evaluation, runs, broken, odd, outcomes) or nil,
    "metrics", want.metrics and (means_of(metrics.list, runs)) or nil,
    "trace", want.trace and trace_of(evaluation, runs) or nil,
    "status", lost == 0 and "complete" or "incomplete", "cached", false)
  local text = json.encode(json.object(table.unpack(fields, 1, fields.n)))
  local digest = core.hash128(text):sub(1, 16)
  local more = table.pack("cpu_s", cpu_s, "digest", digest)
  for i = 1, more.n do fields[fields.n + i] = more[i] end
  return json.object(table.unpack(fields, 1, fields.n + more.n)), digest
end

return answer
