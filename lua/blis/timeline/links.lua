--- Transfers of KV on the links that they take: out of the instance that prefilled, into the one
--- that decodes. What is on a link at once shares it, on a lane each.
local lanes = require "blis.timeline.lanes"

local links = {}

-- Tracks of a link have the numbers from its own times this one on.
local tracks_per_link = 1000

--- Adds a transfer to a link, which is made with its first one.
local function add(by_name, order, name, record)
  if not by_name[name] then
    by_name[name] = { name = name, records = {} }
    order[#order + 1] = by_name[name]
  end
  table.insert(by_name[name].records, record)
end

local function by_start(a, b)
  if a.transfer_start_us ~= b.transfer_start_us then
    return a.transfer_start_us < b.transfer_start_us
  end
  return a.number < b.number
end

--- The number of the instance, then out before in.
local function by_place(a, b)
  local i, k = tonumber(a.name:match "_(%d+)") or 0, tonumber(b.name:match "_(%d+)") or 0
  if i ~= k then return i < k end
  return a.name > b.name
end

--- Every time when a transfer began or ended: how many there were then, and how fast they moved, as
--- means of each.
local function draw_levels(out, pid, link)
  local changes = {}
  for i, record in ipairs(link.records) do
    changes[2 * i - 1] = { record.transfer_start_us, 1, record }
    changes[2 * i] = { record.transfer_end_us, -1, record }
  end
  table.sort(changes, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[3].number < b[3].number
  end)
  local active, moved, place = 0, 0.0, 1
  while changes[place] do
    local at_us = changes[place][1]
    while changes[place] and changes[place][1] == at_us do
      local sign, record = changes[place][2], changes[place][3]
      local took_us = math.max(record.transfer_end_us - record.transfer_start_us, 1)
      active = active + sign
      moved = moved + sign * (record.moved_bytes or 0) / took_us / 1000
      place = place + 1
    end
    if active == 0 then moved = 0.0 end
    out:counter(pid, link.name, at_us, "transfers", active, "GB_per_s",
      tonumber(("%.6g"):format(moved)))
  end
end

local function draw_link(out, pid, number, link)
  table.sort(link.records, by_start)
  local free, first = lanes.new(), number * tracks_per_link
  for _, record in ipairs(link.records) do
    local lane = free:take(record.transfer_start_us, record.transfer_end_us)
    out:slice(pid, first + lane, record.id, "transfer", record.transfer_start_us,
      record.transfer_end_us, "req", record.id, "from", record.prefill_instance, "to",
      record.instance, "moved_bytes", record.moved_bytes)
  end
  draw_levels(out, pid, link)
  for lane = 1, free.count do
    out:track(pid, first + lane, free.count == 1 and link.name
      or ("%s, lane %d"):format(link.name, lane))
  end
end

--- Draws the transfers of some records.
---@param out blis.timeline.Writer
---@param pid integer
---@param records blis.RequestRecord[]
---@return boolean has_any
function links.draw(out, pid, records)
  local by_name, order = {}, {}
  for _, record in ipairs(records) do
    if record.transfer_start_us and record.transfer_end_us then
      add(by_name, order, (record.prefill_instance or "?") .. " out", record)
      add(by_name, order, (record.instance or "?") .. " in", record)
    end
  end
  table.sort(order, by_place)
  for number, link in ipairs(order) do draw_link(out, pid, number, link) end
  return #order > 0
end

return links
