--- The tools of the server for coding agents: what they take and what they do.
local answer = require "blis.serve.answer"
local describe = require "blis.serve.describe"
local errors = require "blis.errors"
local jobs = require "blis.serve.jobs"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local request = require "blis.serve.request"
local sorted = require "blis.sorted"
local statistics = require "blis.statistics"

local tools = {}

-- Longer answers would fill what an agent can keep in mind.
local most_text = 8000

--- Runs that can be explained, by the digest of their result; the oldest are forgotten.
local most_digests = 200

---@param work blis.serve.Jobs
---@param known table of request.scenarios
function tools.new(work, known) return { work = work, known = known, runs = {}, digests = {} } end

local function field(object, name)
  for i = 1, object.pairs_of.n, 2 do
    if object.pairs_of[i] == name then return object.pairs_of[i + 1] end
  end
end

local function remember(self, result, evaluation, outcomes)
  local digest = field(result, "digest")
  if not self.runs[digest] then
    self.digests[#self.digests + 1] = digest
    if #self.digests > most_digests then self.runs[table.remove(self.digests, 1)] = nil end
  end
  self.runs[digest] = { evaluation = evaluation, outcomes = outcomes }
end

--- Starts an evaluation; returns a function that cancels it.
local function start(self, params, finish, progress)
  local job = jobs.add(self.work, function() return request.read(params, self.known) end,
    request.outline(params, self.known), function(result, problem, job)
      if result then remember(self, result, job.evaluation, job.outcomes) end
      finish(result, problem, job)
    end, progress and function(_, done) progress(done) end)
  if not job then
    return finish(nil, answer.error("busy", ("%d evaluations are in progress, the maximum")
      :format(jobs.most_waiting)))
  end
  return function() jobs.cancel(self.work, job) end
end

local function without(arguments, ...)
  local copy = {}
  for key, value in pairs(arguments) do copy[key] = value end
  for _, name in ipairs { ... } do copy[name] = nil end
  return copy
end

local function evaluate(self, arguments, finish, progress)
  local params = without(arguments)
  params.want = params.want or { "objectives", "constraints", "feedback", "metrics" }
  return start(self, params, finish, progress)
end

--- Compiles and runs a policy for a moment.
local function check(self, arguments, finish)
  local params = without(arguments)
  params.fidelity, params.seeds, params.want = 0.05, { 1 }, { "feedback" }
  return start(self, params, function(result, problem)
    finish(result and json.object("ok", true, "feedback", field(result, "feedback")), problem)
  end)
end

local function difference(one, a, b)
  local values_a, values_b = {}, {}
  for i = 1, #a do
    values_a[i] = metrics.value(one, a[i].measures)
    values_b[i] = metrics.value(one, b[i].measures)
  end
  if #values_a < #a or #values_b < #b then return json.null end
  local deltas = {}
  for i = 1, #a do deltas[i] = values_b[i] - values_a[i] end
  local estimate = statistics.estimate(deltas)
  return json.object("a", (statistics.moments(values_a)), "b", (statistics.moments(values_b)),
    "difference", estimate.mean, "low", #a > 1 and estimate.low or nil,
    "high", #a > 1 and estimate.high or nil, "direction", one.direction)
end

--- Two programs on the same requests: differences b - a with 95 % intervals over seeds.
local function compare(self, arguments, finish)
  local common = without(arguments, "a", "b")
  common.seeds = common.seeds or { 1, 2, 3, 4, 5 }
  local sides, missing, failed, cancels = {}, 2, nil, {}
  local function take(side)
    return function(_, problem, job)
      missing = missing - 1
      failed = failed or problem
      sides[side] = job
      if missing > 0 then return end
      if failed then return finish(nil, failed) end
      local fields = {}
      for _, one in ipairs(metrics.list) do
        fields[#fields + 1] = one.name
        fields[#fields + 1] = difference(one, sides.a.outcomes, sides.b.outcomes)
      end
      finish(json.object("seeds", #common.seeds, "metrics", json.object(table.unpack(fields))))
    end
  end
  for i, side in ipairs { "a", "b" } do
    local params = without(common)
    params.program = arguments[side]
    cancels[i] = start(self, params, take(side))
  end
  return function()
    for _, cancel in ipairs(cancels) do cancel() end
  end
end

local function explain(self, arguments, finish)
  local digest = arguments.digest
  local known = self.runs[digest]
  if not known then
    return finish(nil, answer.error("invalid_params", ("no result with digest %s; only the last %d "
      .. "are kept"):format(tostring(digest), most_digests)))
  end
  local list = {}
  for i, outcome in ipairs(known.outcomes) do
    local m = outcome.measures
    list[i] = json.object("seed", known.evaluation.seeds[i], "offered", m.offered,
      "good", m.good, "completed", m.completed, "rejected", m.rejected, "lost", m.lost,
      "worst", m.worst, "classes", json.list(m.classes), "cache_hit_frac", m.cache_hit_rate,
      "balance_cv", m.balance_cv, "queue_ms", m.queue_ms, "printed", outcome.printed)
  end
  finish(json.object("digest", digest, "scenario", known.evaluation.scenario.id,
    "runs", json.list(list)))
end

local function describe_all(self, _, finish) finish(describe.short(self.known)) end

local function docs(_, arguments, finish)
  local reference, search = require "blis.reference", require "blis.reference.search"
  local plain = require("blis.reference.text").plain
  local name = arguments.name
  if name ~= nil and type(name) ~= "string" then
    errors.invalid("name is %s, expected a string", errors.show(name))
  end
  if name == nil then
    local seen, names = {}, {}
    for _, topic in ipairs(reference.topics()) do
      local word = topic.alias or topic.name
      if not seen[word] then seen[word], names[#names + 1] = true, word end
    end
    return finish(json.object("chapters", table.concat(names, " "):sub(1, most_text)))
  end
  local parts = {}
  local ok, found = pcall(search.find, name)
  if not ok then errors.invalid("%s", found.message) end
  for i, topic in ipairs(found) do parts[i] = plain(topic) end
  finish(json.object("name", name, "text", table.concat(parts, "\n"):sub(1, most_text)))
end

-- Types of parameters in JSON schema.
local program_schema = json.object("type", "object", "description", "{\"lua\": text}, {\"file\": "
  .. "path} or {\"name\": policy}", "properties", json.object("lua", { type = "string" },
  "file", { type = "string" }, "name", { type = "string" }))

local function schema_of(properties, required)
  local fields = {}
  for _, name in ipairs(sorted.names(properties)) do
    fields[#fields + 1] = name
    fields[#fields + 1] = properties[name]
  end
  return json.object("type", "object", "properties", json.object(table.unpack(fields)),
    "required", json.list(required or {}))
end

local evaluation = {
  program = program_schema, scenario = { description = "id of a scenario, or an object with "
    .. "cluster and workload" },
  seeds = { type = "array", items = { type = "integer" } },
  params = { type = "object", description = "numbers for the program, or a candidate by itself" },
  workload = { type = "object" }, fidelity = { type = "number" }, limits = { type = "object" },
  objectives = { type = "array", items = { type = "string" } },
  constraints = { type = "object" }, want = { type = "array", items = { type = "string" } },
}

local compared = {}
for name, value in pairs(evaluation) do compared[name] = value end
compared.program, compared.want, compared.a, compared.b = nil, nil, program_schema, program_schema

local annotations = json.object("readOnlyHint", true, "idempotentHint", true,
  "openWorldHint", false)

local defined = {
  { "describe", "Scenarios, metrics, what a policy can read and return, limits.", schema_of {},
    describe_all },
  { "check", "Compiles a policy and runs it for a moment; says what is wrong, with the line.",
    schema_of({ program = program_schema, scenario = evaluation.scenario }, { "program" }), check },
  { "evaluate", "Runs a policy on a scenario: objectives, constraints, feedback, a digest.",
    schema_of(evaluation), evaluate },
  { "compare", "Two policies on the same requests: differences with 95 % intervals over seeds.",
    schema_of(compared, { "a", "b" }), compare },
  { "explain", "More about a result: what was served, the worst request, classes, by seed.",
    schema_of({ digest = { type = "string" } }, { "digest" }), explain },
  { "docs", "The manual: chapters without a name, else what there is about it.",
    schema_of { name = { type = "string" } }, docs },
}

tools.list, tools.by_name = {}, {}
for i, one in ipairs(defined) do
  tools.list[i] = json.object("name", one[1], "description", one[2], "inputSchema", one[3],
    "annotations", annotations)
  tools.by_name[one[1]] = { call = one[4] }
end

return tools
