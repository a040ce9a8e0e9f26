--- The flags of the gateway queue, laid over the queue of a policy bundle.
local companions = require "blis.feature.queue.companions"
local section = require "blis.feature.queue.options"

local queue_flags = {}

--- What is written in front of each item of "A=1,B=2", once; read(text) is its value, nil for a
--- mistake.
local function by_key(cli, flag, text, expected, read)
  local list, seen = {}, {}
  for part in (text .. ","):gmatch "([^,]*)," do
    local key, rest = part:match "^%s*([^=]-)%s*=%s*(.-)%s*$"
    local value = key and key ~= "" and read(rest, key)
    if not value then
      cli.fail("%s: invalid value '%s': expected %s", flag, part, expected)
    elseif seen[key] then
      cli.fail("%s: %s is given twice", flag, key)
    end
    seen[key] = true
    list[#list + 1] = { key = key, value = value }
  end
  return list
end

local function whole(text, least)
  local number = text and text:match "^[+-]?%d+$" and math.tointeger(tonumber(text))
  return number and number >= least and number or nil
end

--- "interactive=200000,batch=5000000" as a table.
local function targets_of(cli, text)
  local by_class = {}
  local list = by_key(cli, "--slo-targets", text, "CLASS=MICROSECONDS", function(rest)
    return whole(rest, 1)
  end)
  for _, one in ipairs(list) do by_class[one.key] = one.value end
  return by_class
end

--- "4=100,-1=10:1000000" as blis.run takes bands.
local function bands_of(cli, text)
  local bands = {}
  local list = by_key(cli, "--queue-bands", text, "PRIORITY=REQUESTS or "
    .. "PRIORITY=REQUESTS:BYTES", function(rest, key)
      local requests, bytes = rest:match "^([^:]*):?(.*)$"
      local band = { priority = whole(key, math.mininteger), max_requests = whole(requests, 0),
        max_bytes = whole(bytes, 0) }
      return band.priority and band.max_requests and (band.max_bytes or not rest:find ":") and band
    end)
  for i, one in ipairs(list) do bands[i] = one.value end
  return bands
end

local function usual(name, profile)
  for _, option in ipairs(section.options) do
    local of_profile = (option.profiles or {})[profile]
    if option.name == name then return of_profile == nil and option.default or of_profile end
  end
end

--- Parameters of the detector or of the usage limit, with those that have flags of their own.
local function add_parameters(cli, all, name, own, flag, texts)
  if not texts then return end
  local made = { all[name] }
  if type(all[name]) == "table" then
    for key, value in pairs(all[name]) do made[key] = value end
  end
  for option, parameter in pairs(own) do
    if all[option] ~= nil then made[parameter], all[option] = all[option], nil end
  end
  cli.add_parameters(made, flag, texts)
  all[name] = made
end

local function add_all_parameters(cli, all, policies, profile)
  local detector = all.saturation or usual("saturation", profile)
  all.saturation = policies.saturation_parameters and detector or all.saturation
  local own = {}
  for _, name in ipairs(companions.parameters_of(detector)) do own[name] = name end
  add_parameters(cli, all, "saturation", own, "--saturation-parameter",
    policies.saturation_parameters)
  if policies.usage_limit_parameters and all.usage_limit == nil then
    all.usage_limit = all.usage_limit_threshold and "linear" or usual("usage_limit", profile)
  end
  add_parameters(cli, all, "usage_limit", { usage_limit_threshold = "threshold" },
    "--usage-limit-parameter", policies.usage_limit_parameters)
end

--- Returns the option queue of an experiment.
---@param cli blis.feature.Flags with --flow-control
---@return table
function queue_flags.read(cli)
  local policies, profile = cli.values.policies, cli.values.experiment.profile
  local all = companions.overlay({ slo_targets = policies.slo_targets_of_bundle },
    cli.values.queue)
  if policies.slo_targets then all.slo_targets = targets_of(cli, policies.slo_targets) end
  if policies.queue_bands then all.bands = bands_of(cli, policies.queue_bands) end
  add_all_parameters(cli, all, policies, profile)
  return all
end

return queue_flags
