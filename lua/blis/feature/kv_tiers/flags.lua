--- The flags of KV tiers.
local sections = require "blis.feature.kv_tiers.options"

local tier_flags = {}

-- Types of tier keys; all others are strings.
local type_of_key = {}
for _, option in ipairs(sections.tier.options) do type_of_key[option.name] = option.type end

local words = { ["true"] = true, ["false"] = false }

--- Converts the value of a key. Invalid values remain strings, which the tier's validation reports.
local function value_of(key, text)
  local kind = type_of_key[key]
  if kind == "boolean" and words[text] ~= nil then return words[text] end
  return (kind == "integer" or kind == "number") and tonumber(text) or text
end

--- "cpu:gb=64,read_gb_s=32" as { name = "cpu", gb = 64, read_gb_s = 32 }.
local function tier_of(text, cli)
  local name, rest = text:match "^%s*([^:,=]+):(.+)$"
  local tier = { name = name }
  for item in ((rest or "") .. ","):gmatch "([^,]*)," do
    local key, value = item:match "^%s*([%w_]+)=(%S+)%s*$"
    if not key then
      cli.fail("--kv-tier: invalid value '%s': expected NAME:KEY=VALUE,... such as "
        .. "cpu:gb=64,read_gb_s=32", text)
    end
    if tier[key] ~= nil then cli.fail("--kv-tier: duplicate tier '%s'", key) end
    tier[key] = value_of(key, value)
  end
  return tier
end

--- Returns the option kv_tiers of an experiment.
---@param cli blis.feature.Flags with flags of the section kv_tiers
---@return table
function tier_flags.read(cli)
  local all = {}
  for key, value in pairs(cli.values.kv_tiers) do all[key] = value end
  if not all.preset and not all.tiers then
    cli.fail("flags of KV tiers require --kv-tiers or --kv-tier")
  end
  for i, text in ipairs(all.tiers or {}) do all[i] = tier_of(text, cli) end
  all.tiers = nil
  return all
end

return tier_flags
