--- Data-parallel ranks.
local deferred = require "blis.deferred"
local format = require "blis.format"
local options = require "blis.config.option_text"
local read = deferred "blis.feature.ranks.read"

---@type blis.Feature
local ranks = {
  options = "blis.feature.ranks.options",
  needs = "options of data-parallel ranks need",
  page = { title = "Data-parallel ranks", at = 2.5 },
}

function ranks.read_cluster(given, path, profile)
  return read.read(given, path, profile)
end

function ranks.resize(values, path, most)
  read.expand(values, path, most)
end

ranks.summary = {
  slot = "work",
  lines = function(value, _, shown)
    return value.passes > 0 and { shown("ranks", value) } or {}
  end,
}

local function ranks_text(group)
  local given = group.ranks
  if not given then return nil end
  local words = { ("%d of a group"):format(given.count) }
  local function add(text, ...) words[#words + 1] = text:format(...) end
  if given.barrier ~= nil then add(given.barrier and "at a barrier" or "without a barrier") end
  if given.dummy_us then add("a pass without work takes %s", options.time(given.dummy_us)) end
  if given.sync_every ~= 32 then add("in step every %d passes", given.sync_every) end
  if given.prefill_interval ~= 1 then add("prompts every %d passes", given.prefill_interval) end
  if given.expert_factor ~= 1 then add("steps take %.4g times as long", given.expert_factor) end
  if given.is_internal then
    add("balanced within, by loads published every %s to %s", options.time(given.publish_us),
      format.plural(given.clients, "client"))
  end
  return #words > 1 and table.concat(words, ", ") or nil
end

ranks.asked_at = 20

function ranks.asked(config, add, of_groups)
  add("data-parallel ranks", of_groups(config.cluster, ranks_text))
end

return ranks
