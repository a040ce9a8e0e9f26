--- KV tiers: KV blocks below the caches of the instances.
local deferred = require "blis.deferred"
local flags = deferred "blis.feature.kv_tiers.flags"
local format = require "blis.format"
local options = require "blis.config.option_text"
local read = deferred "blis.feature.kv_tiers.read"

local count, number, percent = format.count, format.number, format.percent

---@type blis.Feature
local kv_tiers = { asked_at = 3 }

-- The flag of a single tier, which scripts write as an item of the list.
local tier_option = {
  name = "tiers", type = "string", is_list = true, flag = "--kv-tier", path = "kv_tiers",
  metavar = "NAME:KEY=VALUE,...",
  doc = "A tier below the KV caches, such as cpu:gb=64,read_gb_s=32 or "
    .. "pool:gb=500,read_gb_s=50,scope=cluster; a tier with the name of a tier of --kv-tiers "
    .. "overrides its keys. 'blis help kv_tier' lists the keys.",
}

function kv_tiers.flag_groups(at)
  local title = "KV tiers"
  local list = require("blis.feature").flags_in(require("blis.feature.kv_tiers.options").all,
    title)
  table.insert(list, 2, tier_option)
  return { { title = title, section = "kv_tiers", at = at, options = list } }
end

function kv_tiers.flags(spec, cli)
  if next(cli.values.kv_tiers) ~= nil then spec.kv_tiers = flags.read(cli) end
end

function kv_tiers.read(values, config)
  config.kv_tiers = read.read(values.kv_tiers, values.profile, config.cluster)
end

kv_tiers.summary = {
  slot = "work",
  lines = function(value, _, shown)
    local lines = { shown("KV tiers", value) }
    for i, tier in ipairs(value.tiers) do
      lines[i + 1] = ("%s: %s of the prompt blocks, %s GB read and %s GB written, %s blocks "
        .. "evicted"):format(tier.name, percent(tier.hit_rate), number(tier.loaded_gb, 2),
        number(tier.saved_gb, 2), count(tier.evicted_blocks))
    end
    return lines
  end,
}

kv_tiers.page = {
  title = "KV tiers",
  cards = function(cards, value, most)
    for i = 1, math.min(#value.tiers, most) do
      local tier = value.tiers[i]
      cards[#cards + 1] = { "hit rate of " .. tier.name, percent(tier.hit_rate) }
    end
  end,
}

local scopes = { instance = "of each instance", node = "of each node",
  cluster = "of all instances" }

local function bandwidth_text(gb_s, verb)
  return gb_s == 0 and verb .. " in no time" or ("%s at %s GB/s"):format(verb, options.number(gb_s))
end

local function tier_text(tier)
  local size = tier.bytes > 0 and options.number(tier.bytes / 1e9) .. " GB"
    or format.plural(tier.blocks, "block")
  local links
  if tier.half_duplex then
    links = "reads and writes " .. (tier.read_gb_s == 0 and "take no time"
      or ("share %s GB/s"):format(options.number(tier.read_gb_s)))
  else
    links = ("%s, %s"):format(bandwidth_text(tier.read_gb_s, "read"),
      bandwidth_text(tier.write_gb_s or tier.read_gb_s, "written"))
  end
  return ("%s: %s %s, %s%s; %s, %s%s"):format(tier.name, size, scopes[tier.scope], links,
    tier.per_gpu and " per GPU" or "", tier.policy, tier.store,
    tier.stage and ", through " .. tier.stage or "")
end

function kv_tiers.asked(config, add)
  local tiers = config.kv_tiers
  if not tiers then return end
  for i, tier in ipairs(tiers) do add(("KV tier %d"):format(i), tier_text(tier)) end
  if tiers.keeps_windows then
    add("KV of windows", "all tokens, as KV connectors of vLLM without the hybrid KV cache")
  end
  add("links of KV tiers", ("network %s; load: %s"):format(
    tiers.network_gb_s > 0 and ("of an instance %s GB/s"):format(options.number(tiers.network_gb_s))
    or "without a limit", tiers.load_choice and "by a function" or tiers.load))
end

return kv_tiers
