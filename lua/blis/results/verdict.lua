--- The verdict about a run: whether its metrics mean what a reader takes them for.
---
--- A verdict has a status and reasons. The status is the gravest status of its reasons:
---
---   ok        no check found anything
---   warning   a metric may mislead; the reason describes which one, and what to do
---   invalid   the metrics depend on the length of the run, or describe nothing: intervals,
---             p-values, and winners are withheld
---
--- The checks are in blis.results.checks, and in the `judge` functions of features. A check reads
--- only the result: its records, or the streaming statistics of a run without records. A verdict
--- costs two passes over the records, when it is read for the first time.
local deferred = require "blis.deferred"
local json = deferred "blis.json"
local show = require "blis.show"
local statistics = require "blis.statistics"
local features = require "blis.feature"
local format = require "blis.format"
local load_checks = deferred "blis.results.checks.load"
local request_checks = deferred "blis.results.checks.requests"
local sharing_checks = deferred "blis.results.checks.sharing"

local verdict = {}

---@alias blis.VerdictStatus "ok"|"warning"|"invalid"

--- What a check found.
---@class blis.results.Finding
---@field code string stable name of the condition, such as "overload"
---@field status blis.VerdictStatus
---@field text string condition, effect, and remedy

--- A verdict in the making.
---@class blis.results.Judgment
---@field result blis.Result
---@field course? table requests:course() of the records; nil without records
---@field findings blis.results.Finding[]
---@field bottlenecks { code: string, text: string }[] components that were saturated
---@field is_overloaded boolean
local Judgment = {}
Judgment.__index = Judgment

--- Adds a finding.
---@param status blis.VerdictStatus
---@param code string
---@param pattern string
function Judgment:add(status, code, pattern, ...)
  self.findings[#self.findings + 1] = { code = code, status = status, text = pattern:format(...) }
end

--- Adds a component that was saturated: the cause of an overload, or a warning of its own.
---@param code string
---@param pattern string
function Judgment:add_bottleneck(code, pattern, ...)
  self.bottlenecks[#self.bottlenecks + 1] = { code = code, text = pattern:format(...) }
end

local rank = { ok = 0, warning = 1, invalid = 2 }

--- Returns the gravest status of a list of verdicts or findings; "ok" of an empty list.
---@param list { status: blis.VerdictStatus }[]
---@return blis.VerdictStatus
function verdict.worst(list)
  local worst = "ok"
  for _, one in ipairs(list) do
    if rank[one.status] > rank[worst] then worst = one.status end
  end
  return worst
end

--- Sorts findings, the gravest first and otherwise in the order of the checks.
local function sorted(findings)
  local list = {}
  for _, status in ipairs { "invalid", "warning" } do
    for _, one in ipairs(findings) do
      if one.status == status then list[#list + 1] = one end
    end
  end
  return list
end

--- Returns the verdict of a status and of findings in any order.
---@param findings blis.results.Finding[]
---@return blis.RunVerdict
function verdict.new(findings)
  return show.figures { status = verdict.worst(findings), reasons = sorted(findings) }
end

-- Metrics that checks read. Files of older versions, or of scripts, may lack some.
local needed = { "arrived", "completed", "timed_out", "still_queued", "preemptions", "duration_us",
  "balance", "instances", "ttft_ms", "e2e_ms", "scheduling_delay_ms" }

--- Judges a run.
---@param r blis.Result
---@return blis.RunVerdict
function verdict.of_result(r)
  for _, name in ipairs(needed) do
    if rawget(r, name) == nil then
      return verdict.new { { code = "not-judged", status = "warning",
        text = ("the result has no %s, so it cannot be judged."):format(name) } }
    end
  end
  local self = setmetatable({ result = r, findings = {}, bottlenecks = {}, is_overloaded = false },
    Judgment)
  if r.keeps_records and #r.requests > 0 then self.course = r.requests:course() end
  if request_checks.check_served(self) then
    load_checks.find_bottlenecks(self)
    features.judge(r, self)
    load_checks.check(self)
    sharing_checks.check(self)
    request_checks.check(self)
  end
  return verdict.new(self.findings)
end

--- Adds a reason of a run to those that are joined by their codes.
local function join_reason(found, by_code, reason, name)
  local known = by_code[reason.code]
  if not known then
    known = { code = reason.code, status = reason.status, text = reason.text, runs = {},
      first = name }
    by_code[reason.code], found[#found + 1] = known, known
  end
  known.status = verdict.worst { known, reason }
  known.differs = known.differs or known.text ~= reason.text
  table.insert(known.runs, name)
end

--- Joins the verdicts of several runs: each condition once, with the names of its runs. If the
--- messages differ, the message of the first run is used, and starts with its name.
---@param verdicts blis.RunVerdict[]
---@param names string[]
---@return blis.RunVerdict the reasons have `runs`, a list of names
function verdict.join(verdicts, names)
  local found, by_code = {}, {}
  for i, one in ipairs(verdicts) do
    for _, reason in ipairs(one.reasons) do join_reason(found, by_code, reason, names[i]) end
  end
  for _, one in ipairs(found) do
    if one.differs then one.text = ("%s: %s"):format(one.first, one.text) end
    one.differs, one.first = nil, nil
  end
  return verdict.new(found)
end

--- Joins the verdicts of replications: each condition once, with the number of runs that have it.
---@param verdicts blis.RunVerdict[]
---@return blis.RunVerdict? nil without any verdict
function verdict.pool(verdicts)
  if #verdicts == 0 then return nil end
  local found, by_code = {}, {}
  for _, one in ipairs(verdicts) do
    for _, reason in ipairs(one.reasons) do
      local known = by_code[reason.code]
      if not known then
        known = { code = reason.code, status = reason.status, text = reason.text, count = 0 }
        by_code[reason.code], found[#found + 1] = known, known
      end
      known.status = verdict.worst { known, reason }
      known.count = known.count + 1
    end
  end
  for _, one in ipairs(found) do
    if #verdicts > 1 then
      one.text = ("in %d of %d runs: %s"):format(one.count, #verdicts, one.text)
    end
    one.count = nil
  end
  return verdict.new(found)
end

--- Returns whether a verdict withholds intervals, p-values, and winners.
---@param one? blis.RunVerdict nil = the run was not judged
---@return boolean
function verdict.is_invalid(one) return one ~= nil and one.status == "invalid" end

--- Returns the distinct codes of the reasons with the gravest status.
local function codes_of(one)
  local words, is_known = {}, {}
  for _, reason in ipairs(one.reasons) do
    if reason.status == one.status and not is_known[reason.code] then
      words[#words + 1], is_known[reason.code] = reason.code, true
    end
  end
  return words
end

--- Returns a verdict in a few words, for a row of a table: "ok", "invalid: overload", or with two
--- more reasons "warning: short +2".
---@param one? blis.RunVerdict nil = the run was not judged
---@return string
function verdict.mark(one)
  if not one then return "-" end
  if one.status == "ok" then return "ok" end
  local codes = codes_of(one)
  return ("%s: %s%s"):format(one.status, codes[1], #codes > 1 and " +" .. #codes - 1 or "")
end

local line_width = 96

--- Returns the lines of a verdict, one or more for each reason; none if it is ok. With several
--- runs, the names of the runs follow the code of a reason.
---@param one blis.RunVerdict
---@param run_count? integer number of runs; a reason of all of them names none
---@return string[]
function verdict.lines(one, run_count)
  if one.status == "ok" then return {} end
  local lines = { ("verdict     %s: %s"):format(one.status, table.concat(codes_of(one), ", ")) }
  for _, reason in ipairs(one.reasons) do
    local runs = reason.runs and #reason.runs < (run_count or 0)
      and (" (%s)"):format(table.concat(reason.runs, ", ")) or ""
    local text = ("%s%s: %s"):format(reason.code, runs, reason.text)
    for i, line in ipairs(format.wrap(text, line_width)) do
      lines[#lines + 1] = (i == 1 and "  " or "    ") .. line
    end
  end
  return lines
end

--- Writes the top-level object `verdict` of JSON.
---@param writer table
---@param one blis.RunVerdict
---@param key? string default: "verdict"
function verdict.write(writer, one, key)
  writer:object(key or "verdict"):field("status", one.status):array("reasons")
  for _, reason in ipairs(one.reasons) do
    writer:object():field("code", reason.code):field("status", reason.status)
      :field("text", reason.text)
    if reason.runs then
      writer:array("runs")
      for _, name in ipairs(reason.runs) do writer:item(name) end
      writer:done()
    end
    writer:done()
  end
  writer:done():done()
end

--- Returns the same object for JSON that is built of values.
---@param findings blis.results.Finding[]
---@return table
function verdict.json(findings)
  local one, reasons = verdict.new(findings), {}
  for i, reason in ipairs(one.reasons) do
    reasons[i] = json.object("code", reason.code, "status", reason.status, "text", reason.text)
  end
  return json.object("status", one.status, "reasons", json.list(reasons))
end

--- The finding of a comparison over seeds with too few of them for intervals; nil with enough.
---@param seeds integer
---@return blis.results.Finding?
function verdict.few_seeds(seeds)
  local fewest = statistics.fewest_for_interval
  if seeds >= fewest then return nil end
  return { code = "few-seeds", status = "warning",
    text = ("too few seeds for intervals: %d, expected at least %d."):format(seeds, fewest) }
end

return verdict
