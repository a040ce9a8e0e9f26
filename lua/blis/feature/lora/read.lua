--- LoRA adapters, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.feature.lora.options"

local lora = {}

local most_adapters = 100000

-- The core counts microseconds up to this, BLIS__DURATION_MAX_US.
local longest_us = 1 << 50

-- More than any memory has.
local most_bytes = 1 << 60

-- Of BLIS (Go): k6 / k7 by rank.
local usual_tiers = {
  { rank = 8, factor = 0.02 }, { rank = 16, factor = 0.035 }, { rank = 32, factor = 0.06 },
}

---@type blis.Section
local adapter_section = {
  name = "adapter",
  summary = "A LoRA adapter.",
  options = {
    { name = "id", type = "string", required = true, doc = "As requests name it." },
    { name = "rank", type = "integer", min = 1, max = 65536, doc = "Default: rank of all." },
    { name = "weight", type = "number", min = 0, max = 1e12,
      doc = "Share of the requests that name no adapter." },
    { name = "base_model", type = "string", doc = "Field of BLIS (Go) configurations; not used." },
  },
}

---@type blis.Section
local tier_section = {
  name = "tier",
  summary = "What adapters of a rank cost in a step.",
  options = {
    { name = "rank", type = "integer", min = 1, max = 65536, required = true, doc = "Its rank." },
    { name = "factor", type = "number", min = 0, max = 1e6, required = true,
      doc = "Share of a step, for each adapter of the batch." },
  },
}

local expected_adapters = schema.expected(section, "adapters")

--- Creates adapters whose popularity has a long tail.
local function numbered(count, values)
  local list = {}
  for k = 1, count do
    list[k] = { id = ("adapter_%d"):format(k), weight = 1 / k ^ values.zipf }
  end
  return list
end

local function read_adapters(given, values, path)
  local count = math.tointeger(given)
  if type(given) == "number" and count and count >= 1 and count <= most_adapters then
    return numbered(count, values)
  end
  schema.check_list(given, path, expected_adapters)
  if #given == 0 or #given > most_adapters then
    schema.raise_value(path, given, expected_adapters)
  end
  local list, seen = {}, {}
  for i, one in ipairs(given) do
    local place = ("%s[%d]"):format(path, i)
    if type(one) ~= "string" and type(one) ~= "table" then
      schema.raise_value(place, one, "an id or { id =, rank =, weight = }")
    end
    list[i] = type(one) == "string" and { id = one } or schema.read(adapter_section, one, place)
    local id = list[i].id
    if id == "" or id:find "%c" then
      schema.raise_value(place, id, "a name without control characters")
    elseif seen[id] then
      errors.invalid("%s: duplicate adapter '%s'", place, id)
    end
    seen[id] = true
  end
  return list
end

local function read_tiers(given, path)
  if given == nil then return usual_tiers end
  schema.check_list(given, path, "a list of { rank =, factor = }")
  local tiers, seen = {}, {}
  for i, one in ipairs(given) do
    local place = ("%s[%d]"):format(path, i)
    tiers[i] = schema.read(tier_section, one, place)
    if seen[tiers[i].rank] then
      errors.invalid("%s: duplicate rank %d", place, tiers[i].rank)
    end
    seen[tiers[i].rank] = true
  end
  return tiers
end

--- Microseconds that a load or a fetch of an adapter takes.
local function time_us(what, values, rank, path)
  local us = values[what .. "_base_latency_us"]
    + rank * values.footprint_bytes_per_rank / values[what .. "_bandwidth_bytes_us"]
  if us > longest_us then
    errors.invalid("%s: to %s an adapter of rank %d takes %.3g us with %s_bandwidth_bytes_us = %g; "
      .. "expected at most %d", path, what, rank, us, what, values[what .. "_bandwidth_bytes_us"],
      longest_us)
  end
  return math.max(1, math.ceil(us))
end

--- The options as the core takes them; nil for none.
---@param given? table
---@param path string
---@param profile? string
---@return table?
function lora.read(given, path, profile)
  if given == nil then return nil end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a table such as { adapters = 128, slots = 8 }")
  end
  local values = schema.read(section, given, path, profile)
  if values.slots == 0 then return nil end
  local adapters = read_adapters(values.adapters, values, path .. ".adapters")
  if values.host_slots > 0 and values.host_slots < values.slots then
    errors.invalid("%s.host_slots: invalid value %d: expected at least slots, %d, or 0 for all",
      path, values.host_slots, values.slots)
  end
  local largest = 1
  for _, one in ipairs(adapters) do
    one.rank = one.rank or values.rank
    largest = math.max(largest, one.rank)
    one.load_us = time_us("load", values, one.rank, path)
    one.fetch_us = time_us("fetch", values, one.rank, path)
  end
  local slots = math.min(values.slots, #adapters)
  return {
    adapters = adapters, slots = slots,
    host_slots = values.host_slots > 0 and math.max(values.host_slots, slots) or 0,
    tiers = read_tiers(values.step_overhead_tiers, path .. ".step_overhead_tiers"),
    skips = values.order == "skip", max_skip_us = values.max_skip_us,
    loads_in_steps = values.mode == "block", pins_preempted = profile == "go-blis",
    bytes = values.reserve_memory and math.ceil(math.min(most_bytes,
      values.slots * values.footprint_bytes_per_rank * largest)) or 0,
  }
end

return lora
