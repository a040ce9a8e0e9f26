--- Many instances as strips with a mark for each, or for some that stand together.
local format = require "blis.format"
local styled = require "blis.watch.styled"

local heat = {}

local label_width = 7
local levels = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

-- Marks of instances that do not serve; serving instances show a level.
local marks = { failed = "x", recovering = "x", draining = "v" }

local function mark_of(look, i)
  local state = look.states[i]
  return state ~= "active" and (marks[state] or "+") or nil
end

local function most(list, present)
  local greatest = 0
  for _, i in ipairs(present) do greatest = math.max(greatest, list[i]) end
  return greatest
end

--- Groups of instances: { { first, last }, ... }, positions in the list of present instances.
local function groups_of(count, size)
  local groups = {}
  for first = 1, count, size do
    groups[#groups + 1] = { first, math.min(count, first + size - 1) }
  end
  return groups
end

--- The mean of a group as a mark; an instance that does not serve forms a separate group.
local function piece(look, one, present, group)
  local first, last = group[1], group[2]
  local mark = first == last and mark_of(look, present[first])
  if mark then return { mark, "dim" } end
  local sum = 0
  for k = first, last do sum = sum + one.list[present[k]] end
  local share = one.scale > 0 and sum / (last - first + 1) / one.scale or 0
  return { levels[math.max(1, math.ceil(share * #levels))], one.style or styled.heat(share) }
end

--- Neighbours of one style as one piece.
local function join(line)
  local joined = {}
  for _, one in ipairs(line) do
    local last = joined[#joined]
    if last and last[2] == one[2] then
      last[1] = last[1] .. one[1]
    else
      joined[#joined + 1] = one
    end
  end
  return joined
end

local function strip(look, one, present, groups, from, to)
  local line = {}
  for k = from, to do line[#line + 1] = piece(look, one, present, groups[k]) end
  line = join(line)
  table.insert(line, 1, { ("%-" .. label_width .. "s"):format(one.name), "dim" })
  return line
end

--- Strips of the queues, batches, and KV caches, in at most `room` rows, with a mark per instance
--- if the rows suffice.
---@param look blis.watch.Look
---@param present integer[] the instances that have not gone
---@param columns integer
---@param room integer in lines, at least 2
---@return table[] lines of pieces
function heat.lines(look, present, columns, room)
  local strips = {
    { name = "KV", list = look.kv, scale = 1 },
    { name = "queue", list = look.queues, scale = most(look.queues, present), style = "warm" },
    { name = "batch", list = look.batches, scale = most(look.batches, present), style = "cool" },
  }
  while #strips > room - 1 do strips[#strips] = nil end
  local width = math.max(1, columns - 1 - label_width)
  local rows = (room - 1) // #strips
  local size = math.max(1, math.ceil(#present / (width * rows)))
  local groups = groups_of(#present, size)
  local lines = { { { ("%s instances, %s per mark; queue at most %s, batch at most %s"):format(
    format.count(#present), size == 1 and "one" or format.count(size),
    format.count(most(look.queues, present)), format.count(most(look.batches, present))),
    "dim" } } }
  for from = 1, #groups, width do
    for _, one in ipairs(strips) do
      lines[#lines + 1] = strip(look, one, present, groups, from, math.min(#groups,
        from + width - 1))
    end
  end
  return lines
end

return heat
