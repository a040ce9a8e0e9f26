--- What flags say of KV below the caches of the instances.
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local sections = require "blis.feature.kv_tiers.options"

local kv_tiers_flags = {}

local title = "KV tiers"

--- The flags of tiers; functions are for scripts.
---@return blis.cli.Group
function kv_tiers_flags.group()
  local options = flags.of_group(sections.all, title)
  for i, option in ipairs(options) do
    if option.name == "load" then
      options[i] = setmetatable({ type = "choice", choices = { "all", "if-faster" } },
        { __index = option })
    end
  end
  table.insert(options, 2, flag_sections.kv_tiers.options[1])
  return { title = title, section = "kv_tiers", options = options }
end

-- What keys of a tier are read as; all others are texts.
local type_of_key = {}
for _, option in ipairs(sections.tier.options) do type_of_key[option.name] = option.type end

local words = { ["true"] = true, ["false"] = false }

--- The text of a key as its value; what is none stays a text, of which reading the tier tells.
local function value_of(key, text)
  local kind = type_of_key[key]
  if kind == "boolean" and words[text] ~= nil then return words[text] end
  return (kind == "integer" or kind == "number") and tonumber(text) or text
end

--- "cpu:gb=64,read_gb_s=32" as { name = "cpu", gb = 64, read_gb_s = 32 }.
local function tier_of(definition, text)
  local name, rest = text:match "^%s*([^:,=]+):(.+)$"
  local tier = { name = name }
  for item in ((rest or "") .. ","):gmatch "([^,]*)," do
    local key, value = item:match "^%s*([%w_]+)=(%S+)%s*$"
    if not key then
      flags.fail(definition, "--kv-tier: '%s' is not allowed, expected NAME:KEY=VALUE,... such as "
        .. "cpu:gb=64,read_gb_s=32", text)
    end
    if tier[key] ~= nil then flags.fail(definition, "--kv-tier: '%s' is given twice", key) end
    tier[key] = value_of(key, value)
  end
  return tier
end

--- Tiers as blis.run takes them; nil without.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return table?
function kv_tiers_flags.of(definition, parsed)
  local all = {}
  for key, value in pairs(parsed.values.kv_tiers) do all[key] = value end
  if next(all) == nil then return nil end
  if not all.preset and not all.tiers then
    flags.fail(definition, "flags of KV tiers need --kv-tiers or --kv-tier")
  end
  for i, text in ipairs(all.tiers or {}) do all[i] = tier_of(definition, text) end
  all.tiers = nil
  return all
end

return kv_tiers_flags
