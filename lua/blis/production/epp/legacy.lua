--- Rewrites what configurations of 2025 say (Gateway API Inference Extension 0.5 to 1.2, llm-d
--- 0.2 to 0.4) into the form of today. Each rewritten name is reported.
---
--- Source: the sample configurations and the docs/architecture.md of those releases.
local sorted = require "blis.sorted"

local legacy = {}

local source = "configurations of 2025"

local function change(advice) return { since = "0.9", advice = advice, source = source } end

-- Plugin types.
local types = {
  ["kv-cache-scorer"] = "kv-cache-utilization-scorer", ["kv-cache"] = "kv-cache-utilization-scorer",
  ["queue"] = "queue-scorer", ["prefix-cache"] = "prefix-cache-scorer",
  ["lora-affinity"] = "lora-affinity-scorer", ["load-aware"] = "load-aware-scorer",
  ["session-affinity"] = "session-affinity-scorer", ["max-score"] = "max-score-picker",
  ["random"] = "random-picker", ["weighted-random"] = "weighted-random-picker",
  ["single-profile"] = "single-profile-handler", ["pd-profile"] = "pd-profile-handler",
  ["prefill-header"] = "prefill-header-handler",
}

-- Parameters of prefix-cache-scorer that describe its index, which is a producer today.
local of_index = { hashBlockSize = true, blockSize = true, blockSizeTokens = true,
  maxPrefixBlocksToMatch = true, lruCapacityPerServer = true, autoTune = true,
  maxPrefixTokensToMatch = true }

local characters_per_token = 4

--- A block counted in characters, in tokens.
local function tokens_of(characters)
  return math.max(1, math.ceil(characters / characters_per_token))
end

--- The producer that a scorer with its own index stands for.
local function producer_of(reader, entry, name)
  local given, index = entry.parameters, {}
  local function report(key, advice)
    reader:change(change(advice), "prefix-cache-scorer: " .. key, reader:line(given, key))
  end
  local kept = { prefixMatchInfoProducerName = name }
  for _, key in ipairs(sorted.names(given)) do
    local value = given[key]
    local is_characters = key == "hashBlockSize" or key == "blockSize"
    if not of_index[key] then
      kept[key] = value
    elseif is_characters and math.type(value) == "integer" and value > 0 then
      report(key, ("write approx-prefix-cache-producer with blockSizeTokens: %d (%d characters of "
        .. "%d per token)"):format(tokens_of(value), value, characters_per_token))
      index.blockSizeTokens = tokens_of(value)
      reader.exact[name] = true
    else
      report(key, ("write approx-prefix-cache-producer with %s"):format(key))
      index[key] = value
    end
  end
  if index.maxPrefixBlocksToMatch ~= nil and index.maxPrefixTokensToMatch == nil then
    index.maxPrefixTokensToMatch = 0
  end
  reader.where[kept] = reader.where[given]
  reader.where[index] = reader.where[given]
  entry.parameters = kept
  return { type = "approx-prefix-cache-producer", name = name, parameters = index }
end

--- The producer of a scorer with `mode: cache_tracking`, which read the events of the engines.
local function precise_of(reader, entry, name)
  local given = entry.parameters
  local advice = "write precise-prefix-cache-producer, and prefix-cache-scorer with "
    .. "prefixMatchInfoProducerName"
  reader:change(change(advice), "prefix-cache-scorer: mode", reader:line(given, "mode"))
  local index = {}
  for key, value in pairs(given) do
    if key ~= "mode" and key ~= "kvCacheRedisAddr" then index[key] = value end
  end
  if type(index.indexerConfig) == "table" then
    index.tokenProcessorConfig = index.tokenProcessorConfig
      or index.indexerConfig.tokenProcessorConfig
  end
  entry.parameters = { prefixMatchInfoProducerName = name }
  reader.where[index] = reader.where[given]
  reader.where[entry.parameters] = reader.where[given]
  return { type = "precise-prefix-cache-producer", name = name, parameters = index }
end

--- The decider that the threshold of a handler stands for.
local function decider_of(reader, entry, name)
  local given = entry.parameters
  reader:change(change "write prefix-based-pd-decider with nonCachedTokens", "pd-profile-handler: "
    .. "threshold", reader:line(given, "threshold"))
  local made = { type = "prefix-based-pd-decider", name = name,
    parameters = { nonCachedTokens = given.threshold } }
  given.threshold, given.hashBlockSize = nil, nil
  given.deciderPluginName = given.deciderPluginName or name
  return made
end

local function has_index(parameters)
  for key in pairs(parameters) do
    if of_index[key] then return true end
  end
  return false
end

--- The plugin that has to be added for an entry; nil for none.
local function added_for(reader, entry)
  local given, name = entry.parameters, entry.name or entry.type
  if type(given) ~= "table" or type(name) ~= "string" then return nil end
  if entry.type == "prefix-cache-scorer" and given.mode == "cache_tracking" then
    return precise_of(reader, entry, name .. "-producer")
  elseif entry.type == "prefix-cache-scorer" and has_index(given) then
    return producer_of(reader, entry, name .. "-producer")
  elseif entry.type == "pd-profile-handler" and given.threshold ~= nil then
    return decider_of(reader, entry, name .. "-decider")
  end
end

--- Rewrites the plugins of a configuration in place.
---@param reader table of blis.production.epp.document
function legacy.rewrite(reader)
  local plugins = reader.root.plugins
  if type(plugins) ~= "table" then return end
  local added = {}
  for _, entry in ipairs(plugins) do
    local new = type(entry) == "table" and types[entry.type]
    if new then
      local line = reader:line(entry, "type")
      if reader:change(change("write " .. new), ("plugin type '%s'"):format(entry.type), line) then
        entry.name = entry.name or entry.type -- profiles refer to it by that name
        entry.type = new
      end
    end
    added[#added + 1] = type(entry) == "table" and added_for(reader, entry) or nil
  end
  table.move(added, 1, #added, #plugins + 1, plugins)
end

return legacy
