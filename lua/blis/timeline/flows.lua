--- Arrows between the instances of a request, and between requests.
local pids = require "blis.timeline.pids"

local flows = {}

--- Where an arrow begins and ends on a visit: inside of it.
local function start_of(one) return { pid = one.pid, tid = one.tid, at_us = one.start_us } end
local function last_of(one)
  return { pid = one.pid, tid = one.tid, at_us = math.max(one.start_us, one.end_us - 1) }
end

--- Kinds of arrows, by the outcome of a visit. Arrows from records are hand-offs.
local kinds = { rerouted = "reroute", recomputed = "reroute", retried = "retry",
  prefilled = "handoff" }

local function kind_of(from)
  if from.pid == pids.gateway then return "dispatch" end
  return from.outcome == nil and "handoff" or kinds[from.outcome] or "escalate"
end

--- Arrows of one kind of a request have ids of their own.
local function draw_way(out, record, ways)
  local seen = {}
  for i = 2, #ways do
    local from, to = last_of(ways[i - 1]), start_of(ways[i])
    if from.at_us <= to.at_us then
      local kind = kind_of(ways[i - 1])
      seen[kind] = (seen[kind] or 0) + 1
      out:flow(kind, seen[kind] == 1 and record.id or ("%s %d"):format(record.id, seen[kind]), from,
        to)
    end
  end
end

--- Draws arrows from the gateway to an instance, from prefill to decode, to where a request was
--- sent again, and to the next round of a session; of graphs whose joins are known these are drawn
--- in its place.
---@param out blis.timeline.Writer
---@param ways_of blis.timeline.Visit[][]
---@param has_joins boolean
function flows.draw(out, ways_of, has_joins)
  local last_of_session = {}
  for _, ways in ipairs(ways_of) do
    local record = ways[1] and ways[1].record
    if record then draw_way(out, record, ways) end
    if record and record.session ~= "" and not (has_joins and record.program) then
      local before = last_of_session[record.session]
      local from = before and last_of(before)
      if from and from.at_us <= ways[1].start_us then
        out:flow("session", record.id, from, start_of(ways[1]))
      end
      last_of_session[record.session] = ways[#ways]
    end
  end
end

--- Draws arrows from the end of every request that another one waited for, to the arrival of that
--- one; where both are drawn.
---@param out blis.timeline.Writer
---@param joins blis.Joins
---@param ways_of_id table<string, blis.timeline.Visit[]>
function flows.draw_joins(out, joins, ways_of_id)
  for i, child in ipairs(joins.child or {}) do
    local from, to = ways_of_id[joins.parent[i]], ways_of_id[child]
    if from and to then
      out:flow("join", joins.parent[i] .. " > " .. child, last_of(from[#from]), start_of(to[1]))
    end
  end
end

return flows
