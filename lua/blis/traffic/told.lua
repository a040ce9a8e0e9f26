--- What the traffic of an experiment is, in a sentence for reports.
local core = require "blis.core"
local format = require "blis.format"
local presets = require "blis.config.presets"
local show = require "blis.show"

local told = {}

-- What lists and streams of requests were made of: { text =, file = }.
local origins = setmetatable({}, { __mode = "k" })

--- Remembers the trace that requests come from.
---@generic T
---@param requests T
---@param path string
---@return T requests
function told.remember(requests, path)
  origins[requests] = { text = "the trace " .. path, file = path }
  return requests
end

--- Stores the arguments of a list of requests.
---@param requests blis.Workload
---@param given any
---@return blis.Workload requests
function told.remember_options(requests, given)
  if not origins[requests] then
    local text, file = told.of(given)
    origins[requests] = { text = text, file = file }
  end
  return requests
end

--- Options, or the value of one, in one line of Lua syntax.
---@param given any
---@return string
function told.options(given)
  return (show.text(given, 200):gsub("%s*\n%s*", " "))
end

local options_text = told.options

-- Options whose unit is better said than their name.
local phrases = { rate = "%s requests/s", requests = "%s requests",
  prompt_tokens = "%s prompt tokens", output_tokens = "%s output tokens" }

local value_words

--- "gaussian, max 7,000, mean 512": the entries of a table, those without a name first.
local function table_words(value)
  local list, keys = {}, {}
  for i, one in ipairs(value) do list[i] = value_words(one) end
  for key in pairs(value) do
    if type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    list[#list + 1] = ("%s %s"):format(key:gsub("_us$", ""):gsub("_", " "),
      value_words(value[key], key))
  end
  return table.concat(list, ", ")
end

--- A value in words; times have a unit.
function value_words(value, key)
  if type(value) == "number" then
    if key and key:find "_us$" then
      return format.number(value / 1e6, 3):gsub("%.?0+$", "") .. " s"
    end
    local whole = math.tointeger(value)
    return whole and format.count(whole) or ("%.6g"):format(value)
  elseif type(value) == "table" and getmetatable(value) == nil then
    return ("(%s)"):format(table_words(value))
  elseif type(value) == "string" then
    return value
  end
  return (show.text(value, 60):gsub("%s*\n%s*", " "))
end

local most_described = 400

--- Options of generated requests in words: "20 requests/s, 512 prompt tokens, prefixes (groups 20,
--- tokens 512)". Long descriptions are cut.
local function workload_words(given)
  local list, keys = {}, {}
  for _, key in ipairs { "rate", "requests", "prompt_tokens", "output_tokens" } do
    if type(given[key]) == "number" then
      list[#list + 1] = phrases[key]:format(value_words(given[key], key))
    end
  end
  for key, value in pairs(given) do
    if type(key) == "string" and not (phrases[key] and type(value) == "number") then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    list[#list + 1] = ("%s %s"):format(key:gsub("_us$", ""):gsub("_", " "),
      value_words(given[key], key))
  end
  local text = table.concat(list, ", ")
  return #text > most_described and text:sub(1, most_described) .. " ..." or text
end

local function of_function(fn)
  return ("requests returned by a %s"):format(show.text(fn))
end

local function is_object(value)
  return core.is_workload(value) or core.is_workload_spec(value) or core.is_trace_stream(value)
end

local function of_object(value)
  local origin = origins[value]
  if origin then return origin.text, origin.file end
  if core.is_trace_stream(value) then return "a stream of requests from the script" end
  if core.is_workload_spec(value) then return "a workload specification" end
  return ("a list of %s request%s from the script"):format(format.count(#value),
    #value == 1 and "" or "s")
end

--- Options with the location that they belong to.
local function with_options(text, given, left_out)
  local others = {}
  for key, value in pairs(given) do
    if key ~= left_out then others[key] = value end
  end
  return next(others) == nil and text or ("%s, with %s"):format(text, options_text(others))
end

local function of_table(given)
  if given.trace ~= nil then
    local text, file = given.trace, nil
    if type(text) == "string" then
      text, file = "the trace " .. text, text
    elseif is_object(text) then
      text, file = of_object(text)
    end
    return with_options(tostring(text), given, "trace"), file
  end
  if given.file ~= nil then
    local file = type(given.file) == "string" and given.file or nil
    local text = file and "the workload specification " .. file or "a workload specification"
    return with_options(text, given, "file"), file
  end
  if type(given.graphs) == "string" then
    return with_options("the session graphs of " .. given.graphs, given, "graphs"), given.graphs
  end
  if given.graphs ~= nil then
    return with_options("session graphs of the script", given, "graphs")
  end
  if type(given.generator) == "function" then
    return with_options(of_function(given.generator), given, "generator")
  end
  if next(given) == nil then return "generated requests, with the usual options" end
  local kind = presets.is_agent[given.preset] and "session graphs" or "generated requests"
  return ("%s: %s"):format(kind, workload_words(given))
end

--- What traffic was given to an experiment, and the file that it is read from, if any.
---@param given any the option workload
---@return string
---@return string? file
function told.of(given)
  if is_object(given) then return of_object(given) end
  if type(given) == "function" then
    return of_function(given)
  end
  return of_table(given or {})
end

return told
