--- Event hooks and custom metrics of Lua policies: on_event and custom_metrics.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local listening = {}

--- The fields that routers, scorers, filters, pickers and admission policies have for that.
---@type blis.Option[]
listening.options = {
  { name = "events", type = "any", doc = "a list of the events for on_event" },
  { name = "on_event", type = "any", doc = "a function(event, instances)" },
  { name = "custom_metrics", type = "any",
    doc = "a function() that returns { name = number, ... } for results" },
}

---@alias blis.RunEventKind
---| "request_arrival"
---| "prefill_complete" the instance has computed the prompt
---| "token_generated" slow: every step is computed
---| "request_complete"
---| "request_rejected"
---| "request_failed" timed out, too long, or lost with an instance
---| "batch_schedule" slow: every step is computed
---| "kv_transfer_start"
---| "kv_transfer_complete"

---@class blis.RunEvent argument of on_event; the table is valid during the call
---@field kind blis.RunEventKind
---@field time_us integer
---@field request? blis.Request nil of a batch_schedule
---@field instance? blis.Instance location of the event; for a transfer, its source
---@field to? blis.Instance of a transfer, where it goes
---@field token? integer the number of the token generated, from 1
---@field batch_size? integer requests in the batch
---@field reason? string why a request was rejected or failed

local function raise_list(path, what)
  errors.invalid("%s: %s: expected a list of these events: %s", path, what,
    table.concat(core.event_kinds(), ", "))
end

local function check_event(name, path)
  local known = core.event_kinds()
  for _, one in ipairs(known) do
    if one == name then return end
  end
  if type(name) ~= "string" then
    schema.raise_value(path, name, "one of " .. table.concat(known, ", "))
  end
  errors.invalid("%s: unknown event %s%s", path, errors.show(name),
    errors.suggestion(name, known))
end

local function read_events(given, path)
  if type(given) ~= "table" then raise_list(path, errors.invalid_value(given)) end
  if next(given) == nil then raise_list(path, "empty list") end
  local events, places = {}, {}
  for i, name in ipairs(given) do
    check_event(name, ("%s[%d]"):format(path, i))
    if places[name] then
      errors.invalid("%s[%d]: '%s' is a duplicate of [%d]", path, i, name, places[name])
    end
    events[i], places[name] = name, i
  end
  for key in pairs(given) do
    if not events[key] then raise_list(path, ("unexpected key %s"):format(errors.show(key))) end
  end
  return events
end

local function check_is_function(value, path)
  if value ~= nil and type(value) ~= "function" then
    schema.raise_value(path, value, "a function")
  end
end

--- Copies these fields into the definition of a policy.
---@param values table
---@param read table
---@param path string
function listening.add(values, read, path)
  check_is_function(values.on_event, path .. ".on_event")
  check_is_function(values.custom_metrics, path .. ".custom_metrics")
  if (values.on_event == nil) ~= (values.events == nil) then
    errors.invalid("%s: on_event requires events, a list such as { 'prefill_complete' }, and vice "
      .. "versa", path)
  end
  read.events = values.events ~= nil and read_events(values.events, path .. ".events") or nil
  read.on_event, read.custom_metrics = values.on_event, values.custom_metrics
end

--- The options of a section, with those of this file behind them.
---@param options blis.Option[]
---@return blis.Option[]
function listening.with(options)
  return table.move(listening.options, 1, #listening.options, #options + 1, options)
end

return listening
