--- Recorded decisions: of a run here, or of a gateway that logged the scores of its plugins.
---
--- blis writes decision records with --decisions-path. Gateways log JSON lines or OpenTelemetry
--- spans (OTLP/JSON). Field names differ by version, so the user sets them: { chosen = name, scores
--- = name, request = name }. Scores are by endpoint and plugin, or by plugin and endpoint.
local errors = require "blis.errors"
local json = require "blis.json"
local plugins = require "blis.production.epp.plugins"
local sorted = require "blis.sorted"
local text_file = require "blis.production.text_file"

local records = {}

---@class blis.records.Candidate
---@field instance string
---@field scores table<string, number> by scorer, as they are called here
---@field signals table<string, number>

---@class blis.records.Decision
---@field request string
---@field chosen string
---@field candidates blis.records.Candidate[]
---@field facts table<string, number|string> further facts about the request

---@class blis.records.List
---@field decisions blis.records.Decision[]
---@field facts table<string, boolean> what the record says of requests, where they have it
---@field skipped integer lines and spans that are no decisions

-- What the record of a gateway can say of a request, as policies call it.
local facts = { prompt_tokens = "number", max_output_tokens = "number", priority = "number",
  tenant = "string", session = "string", slo_class = "string", model = "string" }

--- Options for the field names of a gateway.
records.fields = { "chosen", "scores", "request", table.unpack(sorted.names(facts)) }

-- Fields of a candidate in a trace of decisions, except its scores.
local signals = { "queue_depth", "batch_size", "in_flight", "kv_utilization", "free_kv_blocks" }

local function signals_of(one)
  local made = {}
  for _, name in ipairs(signals) do made[name] = tonumber(one[name]) end
  made.requests = made.in_flight
  return made
end

--- An object or a list; anything else is as good as an empty one.
local function table_of(value) return type(value) == "table" and value or {} end

--- A decision of a run here.
local function of_run(line)
  if line.kind ~= "routing" or type(line.chosen) ~= "string" then return nil end
  local list = {}
  for i, one in ipairs(table_of(line.candidates)) do
    if type(one) ~= "table" or type(one.instance) ~= "string" then return nil end
    list[i] = { instance = one.instance, scores = table_of(one.scores), signals = signals_of(one) }
  end
  if #list == 0 then return nil end
  return { request = tostring(line.request), chosen = line.chosen, candidates = list, facts = {} }
end

local function name_here(plugin)
  local known = plugins.types[plugin]
  return known and known.role == "scorer" and known.name or plugin
end

local function is_number_table(value)
  for _, item in next, value do
    if type(item) ~= "number" then return false end
  end
  return next(value) ~= nil
end

--- { endpoint = { plugin = score } } of either order.
local function by_endpoint(scores)
  local is_by_plugin = next(scores) ~= nil
  for name in next, scores do
    if not plugins.types[name] then is_by_plugin = false end
  end
  if not is_by_plugin then return scores end
  local turned = {}
  for plugin, list in next, scores do
    for endpoint, score in next, table_of(list) do
      turned[endpoint] = turned[endpoint] or {}
      turned[endpoint][plugin] = score
    end
  end
  return turned
end

--- What a line says of its request.
local function facts_of(line, fields)
  local made = {}
  for name, kind in pairs(facts) do
    local value = fields[name] and line[fields[name]]
    if kind == "number" then value = tonumber(value) end
    if type(value) == kind then made[name] = value end
  end
  return made
end

--- A decision of a gateway, out of the fields that were named.
local function of_gateway(line, fields)
  local chosen, scores = line[fields.chosen], line[fields.scores]
  if type(scores) == "string" then
    local ok, value = pcall(json.decode, scores)
    scores = ok and value or nil
  end
  if type(chosen) ~= "string" or type(scores) ~= "table" then return nil end
  local turned, list = by_endpoint(scores), {}
  for i, endpoint in ipairs(sorted.names(turned)) do
    local own = {}
    if type(turned[endpoint]) ~= "table" or not is_number_table(turned[endpoint]) then
      return nil
    end
    for plugin, score in pairs(turned[endpoint]) do own[name_here(plugin)] = score end
    list[i] = { instance = endpoint, scores = own, signals = {} }
  end
  if #list == 0 then return nil end
  return { request = tostring(line[fields.request or "request"] or "?"), chosen = chosen,
    candidates = list, facts = facts_of(line, fields) }
end

local value_keys = { "stringValue", "intValue", "doubleValue", "boolValue" }

--- The attributes of a span as an object.
local function flat(span)
  local made = { name = span.name }
  for _, one in ipairs(table_of(span.attributes)) do
    local value = table_of(table_of(one).value)
    for _, key in ipairs(value_keys) do
      if value[key] and type(one.key) == "string" then made[one.key] = value[key] end
    end
  end
  return made
end

--- All spans of an OTLP/JSON object, in order.
local function spans_of(root)
  local list = {}
  for _, resource in ipairs(table_of(root.resourceSpans)) do
    for _, scope in ipairs(table_of(table_of(resource).scopeSpans)) do
      for _, span in ipairs(table_of(table_of(scope).spans)) do
        list[#list + 1] = flat(table_of(span))
      end
    end
  end
  return list
end

local function check_fields(fields, path)
  if fields.chosen and fields.scores then return end
  errors.raise("usage", ("decisions: %s was not written by blis; name its fields: --field "
    .. "chosen=NAME --field scores=NAME --field request=NAME"):format(path))
end

--- Objects of a file: lines, or the spans of one object; what is no JSON is nil.
local function objects_of(text)
  local ok, whole = pcall(json.decode, text)
  if ok and type(whole) == "table" and whole.resourceSpans then return spans_of(whole) end
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local is_json, value = pcall(json.decode, line)
    if is_json and type(value) == "table" and value.resourceSpans then
      table.move(spans_of(value), 1, #spans_of(value), #list + 1, list)
    else
      list[#list + 1] = is_json and type(value) == "table" and value or {}
    end
  end
  return list
end

--- Reads a file.
---@param path string
---@param fields? table<string, string> names of a gateway's fields
---@return blis.records.List
function records.read(path, fields)
  local objects = objects_of(text_file.read(path))
  local found = { decisions = {}, skipped = 0, facts = {} }
  for name in pairs(facts) do found.facts[name] = (fields or {})[name] ~= nil end
  local is_run = objects[1] ~= nil and type(objects[1].scorers) == "table"
  if not is_run then check_fields(fields or {}, path) end
  for i = is_run and 2 or 1, #objects do
    local one
    if is_run then one = of_run(objects[i]) else one = of_gateway(objects[i], fields) end
    if one then
      table.insert(found.decisions, one)
    else
      found.skipped = found.skipped + 1
    end
  end
  if #found.decisions == 0 then
    errors.raise("parse", ("%s: no decision of %d lines or spans has a choice and scores"):format(
      path, found.skipped))
  end
  return found
end

return records
