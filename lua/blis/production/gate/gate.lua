--- The gate: two policies on stock scenarios, and whether the new one may come in.
local changes = require "blis.production.gate.changes"
local errors = require "blis.errors"
local json = require "blis.json"
local measure = require "blis.production.gate.measure"
local suite = require "blis.production.gate.suite"
local text_file = require "blis.production.text_file"

local gate = {}

---@class blis.gate.Result
---@field base blis.production.Subject
---@field new blis.production.Subject
---@field suite string
---@field seeds integer
---@field tolerance number
---@field scenarios { id: string, what: string?, runs: table, changes: blis.gate.Changes }[]
---@field comparisons blis.gate.Comparison[]
---@field invariants { scenario: string, name: string, text: string }[] that the new policy breaks
---@field reviewed { path: string, changed: string[] }? against reviewed decisions
---@field is_regression boolean

-- The rule is broken if a larger part of the decisions, beyond the old policy's part, breaks it.
local dominated_tolerance = 0.02

local function break_rule(result, scenario, name, ...)
  table.insert(result.invariants, { scenario = scenario, name = name, text = (...):format(
    select(2, ...)) })
end

--- Rules that hold for any scheduler.
local function check_rules(result)
  for _, one in ipairs(result.scenarios) do
    local share = one.changes.dominated
    if share.new > share.base + dominated_tolerance then
      break_rule(result, one.id, "no dominated choice", "%.1f %% of the decisions choose an "
        .. "instance although another has a shorter queue, fewer requests, no fuller cache, and as "
        .. "much of the prompt cached; with %s, %.1f %%", 100 * share.new, result.base.name,
        100 * share.base)
    end
  end
  for _, one in ipairs(result.new.findings and result.new.findings:of "note" or {}) do
    if one.text:find("is negative", 1, true) then
      break_rule(result, "-", "no negative weight", "%s: %s", one.part, one.text)
    end
  end
end

--- The hashes of the new policy's runs, as a file that is reviewed when it changes.
local function hashes_of(result)
  local hashes = {}
  for _, one in ipairs(result.scenarios) do
    local list = {}
    for i, values in ipairs(one.runs.new) do list[i] = values.hash end
    hashes[one.id] = json.list(list)
  end
  return hashes
end

--- The hashes of the baseline file, by scenario.
local function reviewed_hashes(result, path)
  local is_there, text = pcall(text_file.read, path)
  if not is_there then
    errors.raise("io", ("%s does not exist; --update-reviewed creates it"):format(path))
  end
  local ok, before = pcall(json.decode, text)
  if not ok or type(before) ~= "table" then errors.raise("parse", path .. ": expected JSON") end
  for _, one in ipairs(result.scenarios) do
    if type(before[one.id]) == "table" then return before end
  end
  errors.raise("parse", path .. ": it has none of these scenarios; expected what "
    .. "--update-reviewed writes")
end

local function review(result, path)
  local before, changed = reviewed_hashes(result, path), {}
  for _, one in ipairs(result.scenarios) do
    local old = before[one.id]
    for i, values in ipairs(one.runs.new) do
      if type(old) ~= "table" or old[i] ~= values.hash then
        changed[#changed + 1] = one.id
        break
      end
    end
  end
  result.reviewed = { path = path, changed = changed }
end

--- Runs the gate.
---@param base blis.production.Subject
---@param new blis.production.Subject
---@param options { suite?: string, seeds: integer, tolerance: number, decisions: integer,
--- reviewed?: string }
---@return blis.gate.Result
function gate.run(base, new, options)
  local given = suite.read(options.suite)
  local seeds = {}
  for i = 1, options.seeds do seeds[i] = i end
  local result = { base = base, new = new, suite = given.name, seeds = options.seeds,
    tolerance = options.tolerance, scenarios = {}, invariants = {} }
  for i, scenario in ipairs(given.scenarios) do
    result.scenarios[i] = { id = scenario.id, what = scenario.what,
      runs = measure.run(base, new, scenario, seeds),
      changes = changes.find(base, new, scenario, seeds[1], options.decisions) }
  end
  result.comparisons = measure.compare(result.scenarios, options.tolerance)
  check_rules(result)
  if options.reviewed then review(result, options.reviewed) end
  local count = gate.count(result, "regression")
  result.is_regression = count > 0 or #result.invariants > 0
    or (result.reviewed ~= nil and #result.reviewed.changed > 0)
  return result
end

--- How many comparisons have a verdict.
---@param result blis.gate.Result
---@param verdict string
---@return integer
function gate.count(result, verdict)
  local count = 0
  for _, one in ipairs(result.comparisons) do
    if one.verdict == verdict then count = count + 1 end
  end
  return count
end

--- The text of a file of reviewed decisions.
---@param result blis.gate.Result
---@return string
function gate.reviewed_text(result)
  return (json.encode(hashes_of(result)):gsub("],", "],\n "):gsub("^{", "{\n "):gsub("}$", "\n}"))
    .. "\n"
end

--- True for a change that its own interval finds, and the p-value among all comparisons does not.
---@param result blis.gate.Result
---@param one blis.gate.Comparison
---@return boolean
function gate.is_undecided(result, one)
  local pair = one.pair
  return one.verdict == "none" and pair.low ~= nil and pair.low * pair.high > 0
    and math.abs(pair.change) > result.tolerance
end

--- Number of undecided changes for the worse.
---@param result blis.gate.Result
---@return integer
function gate.undecided_worse(result)
  local count = 0
  for _, one in ipairs(result.comparisons) do
    local is_worse = (one.pair.change > 0) == (one.figure.better == "lower")
    if is_worse and gate.is_undecided(result, one) then count = count + 1 end
  end
  return count
end

return gate
