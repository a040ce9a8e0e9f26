--- Options of an experiment in words, as pages tell them: "cooldown 60 s".
local format = require "blis.format"

local options = {}

-- Policies with more options show only the options that are set.
local most_usual = 6

local no_units = { [""] = true, ["0 to 1"] = true, ["facility / GPUs"] = true }

local own_words = { cpu = "CPU", dp = "DP", e2e = "E2E", gpu = "GPU", itl = "ITL", kv = "KV",
  moe = "MoE", nic = "NIC", pue = "PUE", rps = "rate", slo = "SLO", tpot = "TPOT", ttft = "TTFT" }

-- Values from this one mean no limit.
local no_limit = 1e15

--- Readable name of an option: "routing latency" for routing_latency_us.
---@param name string
---@return string
function options.words(name)
  return (name:gsub("_seconds$", ""):gsub("_[um]s$", ""):gsub("_per_s$", ""):gsub("_gb_s$", "")
    :gsub("_g_per_kwh$", ""):gsub("_", " "):gsub("%w+", own_words))
end

local function number_text(value)
  local whole = math.tointeger(value)
  return whole and format.count(whole) or ("%.6g"):format(value)
end

options.number = number_text

--- "10 s", "5 ms"
---@param us number
---@return string
function options.time(us)
  if us > 0 and us < 1e5 then return number_text(us / 1e3) .. " ms" end
  return number_text(us / 1e6) .. " s"
end

-- Longer lists are shown as their number of items.
local longest_list = 8

local value_text

--- Delays, numbers by name, and lists.
local function table_text(value)
  if value.mean_us then
    return options.time(value.mean_us) .. (value.stddev_us > 0 and " on average" or "")
  elseif #value > longest_list or type(value[1]) == "table" and not value[1].name then
    return format.plural(#value, "item")
  end
  local words = {}
  for i, one in ipairs(value) do
    words[i] = type(one) == "table" and ("%s %s"):format(one.name, value_text(one.value))
      or value_text(one)
  end
  return table.concat(words, ", ")
end

--- A value as a reader takes it: "yes", "256 requests", "5 ms".
---@param value any
---@param unit? string
---@return string
function value_text(value, unit)
  if type(value) == "boolean" then return value and "yes" or "no" end
  if type(value) == "function" then return "a function" end
  if type(value) == "table" then return table_text(value) end
  if type(value) ~= "number" then return tostring(value) end
  if value >= no_limit then return "no limit" end
  if unit == "us" then return options.time(value) end
  return number_text(value) .. (no_units[unit or ""] and "" or " " .. unit)
end

options.value = value_text

local function option_text(option, value, key)
  local name = key and ("%s %s"):format(option.name, key) or option.name
  return ("%s %s"):format(options.words(name), value_text(value, option.unit))
end

--- Parameters of a built-in policy: the parameters that are set and, for short lists, the defaults.
local function parameters_of(policy, entry, left_out)
  local list = {}
  for _, option in ipairs(entry.options) do
    local before = #list
    for _, one in ipairs(left_out[option.name] and {} or policy.parameters) do
      if one.name == option.name then list[#list + 1] = option_text(option, one.value, one.key) end
    end
    if #list == before and #entry.options <= most_usual and option.usual ~= nil
      and not left_out[option.name] then
      list[#list + 1] = option_text(option, option.usual)
    end
  end
  return list
end

--- "concurrency (max concurrency 30 requests)": a policy with its parameters.
---@param policy table a definition
---@param entries table[] of the catalogue
---@param left_out? table<string, boolean>
---@return string
function options.of_policy(policy, entries, left_out)
  local name = policy.label or policy.name
  if not name or name == "" then return "a function" end
  for _, entry in ipairs(policy.parameters and entries or {}) do
    local list = entry.name == policy.name and parameters_of(policy, entry, left_out or {}) or {}
    if #list > 0 then return ("%s (%s)"):format(name, table.concat(list, ", ")) end
  end
  return name
end

local function is_usual(option, value, profile)
  local usual = option.profiles and option.profiles[profile]
  if usual == nil then usual = option.default end
  if type(value) == "table" then return value.mean_us == 0 end
  return value == nil or value == usual or value == 0 and usual == nil
end

--- Options of a section that differ from their defaults.
---@param section blis.Section
---@param values table
---@param profile string
---@param left_out table<string, boolean>
---@return string[]
function options.of_section(section, values, profile, left_out)
  local list = {}
  for _, option in ipairs(section.options) do
    local value = values[option.name]
    if not left_out[option.name] and not is_usual(option, value, profile) then
      list[#list + 1] = option_text(option, value)
    end
  end
  return list
end

return options
