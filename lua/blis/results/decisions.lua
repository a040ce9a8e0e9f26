--- Traces of decisions: how they are printed and written.
local core = require "blis.core"
local endings = require "blis.endings"
local format = require "blis.format"

local decisions = {}

---@class blis.DecisionCandidate as the policy saw it
---@field instance string
---@field score number of the policy; -effective_load for policies without scores
---@field queue_depth integer
---@field batch_size integer
---@field in_flight integer
---@field kv_utilization number
---@field free_kv_blocks integer
---@field scores? table<string, number> by scorer, for policies that add them up

---@class blis.Decision
---@field kind "admission"|"routing"|"disaggregation"|"cascade"|"scaling"
---@field request? string not of scaling
---@field number? integer
---@field time_us integer
---@field verdict string admit, reject, or delay; in a cascade, about a finished attempt:
--- accept, escalate, accept_last, or fail; of an autoscaler evaluation up, down, or none; of
--- disaggregation split or local
---@field stage? "prefill"|"decode" of routing with pools
---@field prefill? string of disaggregation: the instance for the prefill, where it was named
---@field reason string reason of a rejection, otherwise the name of the policy
---@field model? string in a cascade: the called model
---@field step? integer of a cascade: which attempt, from 1
---@field instance? string in a cascade: instance of the attempt; in disaggregation: decode instance
---@field mean_logprob? number of a cascade: of the answer
---@field chosen? string instance
---@field score? number of the chosen one
---@field regret? number best score minus score of the chosen one
---@field facts? table<string, number> additional policy data: the decision record of unified,
---routesim.session_affinity and routesim.cost_escalation their custom metrics; scaling: from, to,
---proposed (before it was clamped), ready, starting, draining, and the metrics of ScaleContext
---@field candidates? blis.DecisionCandidate[]

---@class blis.DecisionSummary
---@field total integer admission decisions, delays not counted
---@field admitted integer
---@field rejected integer
---@field routed integer routing decisions; with pools up to two per request
---@field escalated integer times that a cascade asked another model
---@field unique_targets integer
---@field targets table<string, integer> routing decisions by the instance that was chosen
---@field mean_regret number
---@field max_regret number

---@class blis.Decisions
---@field [integer] blis.Decision
---@operator len: integer
---@field choices fun(self: blis.Decisions): integer[] places of routing decisions between several
---candidates
---@field summary fun(self: blis.Decisions): blis.DecisionSummary
---@field scorers fun(self: blis.Decisions, stage?: string): { name: string, weight: number }[]
--- weights sum to 1; "prefill" for the prefill routing policy

local fields = { "kind", "stage", "request", "time_us", "verdict", "reason", "chosen", "score",
  "regret", "model", "step", "instance", "prefill", "mean_logprob" }
local candidate_fields = { "instance", "score", "queue_depth", "batch_size", "in_flight",
  "kv_utilization", "free_kv_blocks" }

local function write_fields(writer, names, values)
  for _, name in ipairs(names) do
    if values[name] ~= nil then writer:field(name, values[name]) end
  end
end

local function write_facts(writer, facts)
  local names = {}
  for name in pairs(facts) do names[#names + 1] = name end
  table.sort(names)
  writer:object("facts")
  write_fields(writer, names, facts)
  writer:done()
end

local function write_candidate(writer, candidate, scorers)
  writer:object()
  write_fields(writer, candidate_fields, candidate)
  if candidate.scores then
    writer:object("scores")
    for _, scorer in ipairs(scorers) do writer:field(scorer.name, candidate.scores[scorer.name]) end
    writer:done()
  end
  writer:done()
end

local function write_scorers(writer, name, scorers)
  writer:array(name)
  for _, scorer in ipairs(scorers) do
    writer:object():field("name", scorer.name):field("weight", scorer.weight):done()
  end
  writer:done()
end

--- Writes a trace as JSON lines: a first one { "scorers": [{ "name", "weight" }] }, with
--- "prefill_scorers" where prefills were routed by some, then one per decision with the fields of
--- blis.Decision. Scores that are not finite are null.
---@param list blis.Decisions
---@param path string
function decisions.save(list, path)
  endings.check("save_decisions", path, endings.lines)
  local output <close> = core.output(path)
  local scorers, prefill_scorers = list:scorers(), list:scorers("prefill")
  local writer = core.json_writer():object()
  write_scorers(writer, "scorers", scorers)
  if #prefill_scorers > 0 then write_scorers(writer, "prefill_scorers", prefill_scorers) end
  output:write(writer:done():take()):write("\n")
  for i = 1, #list do
    local decision = list[i]
    writer = core.json_writer():object()
    write_fields(writer, fields, decision)
    if decision.facts then write_facts(writer, decision.facts) end
    if decision.candidates then
      writer:array("candidates")
      for _, candidate in ipairs(decision.candidates) do
        write_candidate(writer, candidate,
          decision.stage == "prefill" and prefill_scorers or scorers)
      end
      writer:done()
    end
    output:write(writer:done():take()):write("\n")
  end
  output:commit()
end

--- The summary of a trace in the words of BLIS in Go.
---@param list blis.Decisions
---@param id_of? fun(id: string): string how an instance is called; default: by its id
---@return string lines, without a final newline
function decisions.text(list, id_of)
  local summary = list:summary()
  local lines = {
    ("Total Decisions: %d"):format(summary.total),
    ("  Admitted: %d"):format(summary.admitted),
    ("  Rejected: %d"):format(summary.rejected),
    ("Unique Targets: %d"):format(summary.unique_targets),
  }
  local ids, targets = {}, {}
  for id, count in pairs(summary.targets) do
    local name = id_of and id_of(id) or id
    ids[#ids + 1], targets[name] = name, count
  end
  table.sort(ids)
  if #ids > 0 then lines[#lines + 1] = "Target Distribution:" end
  for _, id in ipairs(ids) do
    lines[#lines + 1] = ("  %s: %d"):format(id, targets[id])
  end
  lines[#lines + 1] = ("Mean Regret: %.6f"):format(summary.mean_regret)
  lines[#lines + 1] = ("Max Regret: %.6f"):format(summary.max_regret)
  return table.concat(lines, "\n")
end

core.set_tostring("blis.decisions", function(list)
  return ("%s decisions\n%s"):format(format.count(#list), decisions.text(list))
end)

return decisions
