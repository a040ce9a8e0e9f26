--- Router replicas: copies of the routing policy behind a load balancer.
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local format = require "blis.format"
local options = require "blis.config.option_text"
local features_of = deferred "blis.feature"
local section = deferred "blis.feature.routers.options"
local read = deferred "blis.feature.routers.read"

local count, number, plural = format.count, format.number, format.plural

---@type blis.Feature
local routers = { asked_at = 21 }

function routers.flag_groups(at)
  local groups = {}
  for _, one in ipairs { section.all, section.sync } do
    local title
    for _, option in ipairs(one.options) do title = title or option.group end
    groups[#groups + 1] = { title = title, section = one.name, at = at,
      options = features_of.flags_in(one, title) }
  end
  return groups
end

function routers.flags(spec, cli)
  local all, sync = spec.routers, next(cli.values.router_sync) and cli.values.router_sync
  if next(cli.values.routers) == nil and not sync then return end
  all = type(all) == "number" and { replicas = all } or all or {}
  for key, value in pairs(cli.values.routers) do all[key] = value end
  all.sync = sync or all.sync
  spec.routers = all
end

--- The definition of the routing policy with replicas: what it was, and how it is replicated.
local function replicated(policy, replicas)
  local definition = {}
  for key, value in pairs(policy) do definition[key] = value end
  definition.policy, definition.replicas = policy, replicas
  return definition
end

function routers.read(values, config)
  if values.profile == "go-blis" then
    errors.invalid("routers: profile go-blis has one router; expected profile design")
  end
  local made = read.read(values.routers, "routers")
  config.routers = made
  if made then config.routing = replicated(config.routing, made) end
end

function routers.notes(config)
  if not config.routers then return {} end
  local notes = {}
  if config.queue then
    notes[#notes + 1] = "All router replicas share one gateway queue: limits per replica are not "
      .. "modeled."
  end
  if config.disaggregation then
    notes[#notes + 1] = "Only the policy `routing` has replicas: all replicas share the policies "
      .. "of the prefill and encode stages."
  end
  return notes
end

local function sync_text(made)
  if made.mode == "none" or not made.mode then return nil end
  if made.mode == "shared" then return "one shared state" end
  local words = { ("%s shared by %s"):format(table.concat(made.share or {}, " and "), made.mode) }
  if made.mode ~= "events" then words[#words + 1] = "every " .. options.time(made.every_us) end
  if made.delay_us > 0 then words[#words + 1] = options.time(made.delay_us) .. " late" end
  if made.loss > 0 then words[#words + 1] = number(100 * made.loss, 1) .. " % lost" end
  return table.concat(words, ", ")
end

function routers.asked(config, add)
  local made = config.routers
  if not made then return end
  local words = { plural(made.count, "replica"), "balancer " .. made.balancer }
  if made.balancer == "hash" then words[2] = words[2] .. " on " .. made.hash_on end
  if made.is_active_passive then words[#words + 1] = "active-passive" end
  words[#words + 1] = sync_text(made) or "nothing shared"
  add("router replicas", table.concat(words, ", "))
end

--- Fewest and most of a metric over the replicas, "1,480 to 1,520".
local function range(value, name)
  local least, most = math.huge, 0
  for _, one in ipairs(value) do
    least, most = math.min(least, one[name]), math.max(most, one[name])
  end
  return least == most and count(least) or ("%s to %s"):format(count(least), count(most))
end

local function sum(value, name)
  local total = 0
  for _, one in ipairs(value) do total = total + one[name] end
  return total
end

routers.summary = {
  slot = "work",
  title = "routers",
  lines = function(value, r)
    local lines = { ("%s, %s requests each"):format(plural(#value, "replica"),
      range(value, "requests")) }
    local sent = sum(value, "messages_sent")
    if sent > 0 then
      lines[2] = ("%s sent, %s lost, %s MB"):format(plural(sent, "message"),
        count(sum(value, "messages_lost")), number(sum(value, "bytes_sent") / 1e6, 1))
    end
    local ghosts = sum(value, "ghosts")
    if ghosts > 0 then
      lines[#lines + 1] = ("%s still counted after their end"):format(plural(ghosts, "request"))
    end
    if r.requests_without_router > 0 then
      lines[#lines + 1] = ("%s arrived while no replica was up"):format(
        plural(r.requests_without_router, "request"))
    end
    return lines
  end,
}

local columns = { "replica", "requests", "in flight at the end", "messages sent", "received",
  "lost", "MB sent", "mean delivery (ms)", "ghosts" }

--- The section of pages: a row per replica; nil without replicas.
local function replica_section(r, parts)
  local rows, list = {}, rawget(r, "routers")
  if not list then return nil end
  for i, one in ipairs(list) do
    rows[i] = { tostring(i), count(one.requests), count(one.in_flight), count(one.messages_sent),
      count(one.messages_received), count(one.messages_lost), number(one.bytes_sent / 1e6, 1),
      one.delivery_ms and number(one.delivery_ms, 1) or "-", count(one.ghosts) }
  end
  return parts.section("routers", "Router replicas", parts.table(
    "Ghosts: requests of other replicas that a replica still counts after their end.", columns,
    rows))
end

routers.page = { title = "Router replicas", at = 6.6, section = replica_section }

return routers
