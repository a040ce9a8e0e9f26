--- Whole experiments for clients: `run` and `compare`, with the options of blis.run and
--- blis.compare, in a separate process. Policies are Lua code; everything else is data.
local answer = require "blis.serve.answer"
local blis = require "blis"
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"
local notices = require "blis.notices"
local result_file = require "blis.results.file"
local result_json = require "blis.results.json"
local run = require "blis.eval.run"
local sandbox = require "blis.sandbox"
local schema = require "blis.config.schema"
local suites = require "blis.eval.suite"

local experiments = {}

---@type blis.Section
local section = {
  name = "params",
  summary = "An experiment.",
  options = {
    { name = "experiment", type = "table", required = true,
      doc = "an experiment as for blis.run; { lua = text } is replaced by the value that this Lua "
        .. "code returns" },
    { name = "want", type = "table", doc = "requests, series" },
    { name = "limits", type = "table", doc = "wall_s, cpu_s, memory_mb, call_instructions, "
      .. "all_instructions" },
  },
}

-- Experiments are the client's own: they may take longer than candidates of a search. What is
-- written of the results counts as a call, too.
local usual_limits = { wall_s = 3600, cpu_s = 3600, memory_mb = 8192,
  call_instructions = 1000000000, all_instructions = 1000000000000 }

local wanted = { "requests", "series" }

local function read_limits(given)
  local values = {}
  for _, part in ipairs { usual_limits, given or {} } do
    for name, value in pairs(part) do values[name] = value end
  end
  return schema.read(suites.limits_section, values, "limits")
end

local function read_want(given)
  local is_known, want = { requests = true, series = true }, {}
  for i, name in ipairs(given or {}) do
    if not is_known[name] then
      errors.invalid("want[%d]: unknown part %s%s", i, errors.show(name),
        errors.suggestion(tostring(name), wanted))
    end
    want[name] = true
  end
  return want
end

--- The policy of { lua = text, name =, params = }.
local function load_policy(given, write)
  errors.check_names(given, { "lua", "name", "params" }, "a policy")
  local chunk = sandbox.load(given.lua, given.name or "policy.lua",
    { is_policy = true, write = write })
  return chunk(given.params or {})
end

--- What JSON says as Lua has it: null is nothing, "1" is a place in a list, as in { "weighted",
--- scorers = ... }, and { lua = text } is what the text returns.
local function of_json(value, write)
  if value == core.json_null then return nil end
  if type(value) ~= "table" then return value end
  if type(value.lua) == "string" then return load_policy(value, write) end
  local copy = {}
  for key, item in pairs(value) do
    local place = type(key) == "string" and key:match "^[1-9]%d*$" and math.tointeger(tonumber(key))
    copy[place or key] = of_json(item, write)
  end
  return copy
end

local function write_column(writer, requests, name)
  writer:array(name)
  for i = 1, #requests do
    local value = requests[i][name]
    writer:item(value == nil and core.json_null or value)
  end
  writer:done()
end

local function write_result(writer, key, result, want)
  writer:object(key)
  result_json.write(writer, { result = result, leaves_out_series = not want.series }, "figures")
  if want.requests and result.keeps_records then
    writer:object "requests"
    for _, name in ipairs(result_file.columns(result)) do
      if name ~= "attempts" then write_column(writer, result.requests, name) end
    end
    writer:done()
  end
  writer:field("text", tostring(result)):done()
end

--- Policies that ran once each.
local function write_single(writer, found, want)
  writer:array "results"
  for _, result in ipairs(found) do write_result(writer, nil, result, want) end
  writer:done()
end

--- Means and intervals over seeds.
local function write_replicated(writer, found)
  writer:field("replications", found.replications):field("csv", found.table:csv())
  writer:array "against"
  for i, name in ipairs(found.policies) do
    for _, metric in ipairs(found.table.shown) do
      local pair = (found.against[i] or {})[metric]
      if pair then
        writer:object():field("policy", name):field("figure", metric)
        for _, field in ipairs { "kind", "change", "low", "high", "p_value", "n" } do
          local one = pair[field]
          if one ~= nil and one == one then writer:field(field, one) end
        end
        writer:done()
      end
    end
  end
  writer:done()
end

local function perform_run(writer, spec, want)
  write_result(writer, "run", blis.run(spec), want)
end

local function perform_compare(writer, spec, want)
  local found = blis.compare(spec)
  writer:object "comparison"
  if found.policies then write_replicated(writer, found) else write_single(writer, found, want) end
  writer:field("text", tostring(found)):done()
end

--- Raises for a wanted part that the experiment does not record.
local function check_want(want, experiment)
  if want.series and experiment.series_interval_us == nil then
    errors.invalid("want: series needs experiment.series_interval_us, such as 1000000 for a row "
      .. "per second")
  end
end

local methods = { run = perform_run, compare = perform_compare }

--- What is wrong, as a failure of the protocol.
local function failure_of(kind, problem, limits)
  local is_told = type(problem) == "table" and type(rawget(problem, "message")) == "string"
  local code = is_told and rawget(problem, "code")
  if code == "invalid" or code == "parse" then return answer.of_problem(problem) end
  return run.failure_of("policy.lua", kind, problem, limits)
end

--- In the process of the task: "R" and the result, or "F" and what failed.
local function perform(method, params, limits)
  local printed, told = {}, {}
  notices.collect(function(line) told[#told + 1] = line end)
  local writer = core.json_writer():object()
  local _, ok, kind, problem = core.sandbox_call({
    call_instructions = limits.call_instructions, all_instructions = limits.all_instructions,
    memory_bytes = limits.memory_mb * 1000000,
  }, function()
    local spec = of_json(params.experiment, function(line) printed[#printed + 1] = line end)
    if spec.replications ~= nil then spec.jobs, spec.quiet = spec.jobs or 1, true end
    check_want(params.want, spec)
    methods[method](writer, spec, params.want)
  end)
  if not ok then return "F" .. json.encode(failure_of(kind, problem, limits)) end
  if #printed > 0 then writer:field("printed", table.concat(printed)) end
  writer:array "notices"
  for _, line in ipairs(told) do writer:item(line) end
  return "R" .. writer:done():done():take():gsub("\n", "")
end

--- Reads the parameters of a method; raises what is wrong with them.
---@param method "run"|"compare"
---@param given any
---@return blis.serve.Evaluation
function experiments.read(method, given)
  if type(given) ~= "table" then
    errors.invalid("params is %s, expected an object", errors.show(given))
  end
  local values = schema.read(section, given, "params")
  values.want = read_want(values.want)
  local limits = read_limits(values.limits)
  return {
    perform = function() return perform(method, values, limits) end,
  }
end

--- The limits of an unchecked experiment, as request.outline.
---@param method "run"|"compare"
---@param given any
---@return blis.serve.Outline
function experiments.outline(method, given)
  local asked = type(given) == "table" and type(given.limits) == "table" and given.limits or {}
  local limits = {}
  for _, name in ipairs { "wall_s", "cpu_s", "memory_mb" } do
    local value = asked[name]
    local is_right = math.type(value) and value > 0 and value <= 1000000
    limits[name] = is_right and value or usual_limits[name]
  end
  return { name = method, limits = limits }
end

return experiments
