--- Regions of clients, gateways, and instances.
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local format = require "blis.format"
local read = deferred "blis.feature.regions.read"

local count, number, plural = format.count, format.number, format.plural

---@type blis.Feature
local regions = { asked_at = 22 }

function regions.read(values, config)
  if values.profile == "go-blis" then
    errors.invalid("regions: profile go-blis has one region; expected profile design")
  end
  if config.disaggregation then
    errors.invalid("regions: not available with pools of prefill, decode, or encode instances; "
      .. "expected instances that serve whole requests")
  end
  config.regions = read.read(values.regions, config.cluster.groups, "regions")
end

function regions.is_scripted(config)
  return config.regions.choose ~= nil or config.regions.origin ~= nil
end

function regions.notes(config)
  local notes = {}
  if config.queue then
    notes[#notes + 1] = "All regions share one gateway queue: a queue per region is not modeled."
  end
  return notes
end

function regions.asked(config, add)
  local made = config.regions
  if not made then return end
  local names = {}
  for i, one in ipairs(made.list) do names[i] = one.name end
  local words = { table.concat(names, ", "), "routing " .. made.rule }
  if made.spill_above > 0 then
    words[#words + 1] = ("full with %s requests per instance"):format(number(made.spill_above, 1))
  end
  add("regions", table.concat(words, "; "))
end

regions.summary = {
  slot = "work",
  title = "regions",
  lines = function(value)
    local ttft = value.client_ttft_ms
    local lines = { ("%s, client TTFT mean %s ms, p99 %s ms"):format(
      plural(#value.regions, "region"), number(ttft.mean, 1), number(ttft.p99, 1)) }
    if value.forwarded > 0 or value.egress_usd > 0 then
      lines[2] = ("%s, egress %s GB, %s USD"):format(plural(value.forwarded, "forward"),
        number(value.egress_gb, 3), number(value.egress_usd, 4))
    end
    return lines
  end,
}

local columns = { "region", "sent", "entered", "served", "forwarded", "egress (GB)",
  "egress (USD)", "client TTFT mean (ms)", "p99 (ms)" }

--- The section of pages: a row per region.
local function region_section(r, parts)
  local rows, value = {}, rawget(r, "regions")
  if not value then return nil end
  for i, one in ipairs(value.regions) do
    rows[i] = { one.name, count(one.sent), count(one.entered), count(one.served),
      count(one.forwarded), number(one.egress_gb, 3), number(one.egress_usd, 4),
      number(one.client_ttft_ms.mean, 1), number(one.client_ttft_ms.p99, 1) }
  end
  return parts.section("regions", "Regions", parts.table(
    "Client TTFT: of the clients in the region, with the network.", columns, rows))
end

regions.page = { title = "Regions", at = 6.7, section = region_section }

return regions
