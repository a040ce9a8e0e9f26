--- What is moved, on the links that it takes: KV out of the instance that prefilled and into the
--- one that decodes, and from and to the stores of KV tiers. What is on a link at once shares it,
--- on a lane each.
local lanes = require "blis.timeline.lanes"

local links = {}

---@class blis.timeline.Move something that is on a link
---@field start_us integer
---@field end_us integer
---@field order integer of those that start together
---@field bytes number
---@field name string
---@field category string
---@field args any[] names and values

---@class blis.timeline.Link
---@field name string
---@field moves blis.timeline.Move[]

--- Adds something to a link, which is made with its first one.
local function add(by_name, order, name, move)
  if not by_name[name] then
    by_name[name] = { name = name, moves = {} }
    order[#order + 1] = by_name[name]
  end
  table.insert(by_name[name].moves, move)
end

local function by_start(a, b)
  if a.start_us ~= b.start_us then return a.start_us < b.start_us end
  return a.order < b.order
end

--- The number of the instance, then out before in.
local function by_place(a, b)
  local i, k = tonumber(a.name:match "_(%d+)") or 0, tonumber(b.name:match "_(%d+)") or 0
  if i ~= k then return i < k end
  return a.name > b.name
end

--- Every time when something began or ended: how many there were then, and how fast they moved, as
--- means of each.
local function draw_levels(out, pid, link)
  local changes = {}
  for i, move in ipairs(link.moves) do
    changes[2 * i - 1] = { move.start_us, 1, move }
    changes[2 * i] = { move.end_us, -1, move }
  end
  table.sort(changes, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    if a[2] ~= b[2] then return a[2] < b[2] end
    return a[3].order < b[3].order
  end)
  local active, moved, place = 0, 0.0, 1
  while changes[place] do
    local at_us = changes[place][1]
    while changes[place] and changes[place][1] == at_us do
      local sign, move = changes[place][2], changes[place][3]
      local took_us = math.max(move.end_us - move.start_us, 1)
      active = active + sign
      moved = moved + sign * move.bytes / took_us / 1000
      place = place + 1
    end
    if active == 0 then moved = 0.0 end
    out:counter(pid, link.name, at_us, "transfers", active, "GB_per_s",
      tonumber(("%.6g"):format(moved)))
  end
end

--- Draws a link on the tracks behind tid; returns the last one.
local function draw_link(out, pid, tid, link)
  table.sort(link.moves, by_start)
  local free = lanes.new()
  for _, move in ipairs(link.moves) do
    local lane = free:take(move.start_us, move.end_us)
    out:slice(pid, tid + lane, move.name, move.category, move.start_us, move.end_us,
      table.unpack(move.args, 1, move.args.n))
  end
  draw_levels(out, pid, link)
  for lane = 1, free.count do
    out:track(pid, tid + lane, free.count == 1 and link.name
      or ("%s, lane %d"):format(link.name, lane))
  end
  return tid + free.count
end

--- Transfers of hand-offs, by the links of their instances.
local function transfers_of(records)
  local by_name, order = {}, {}
  for _, record in ipairs(records) do
    if record.transfer_start_us and record.transfer_end_us then
      local move = {
        start_us = record.transfer_start_us, end_us = record.transfer_end_us,
        order = record.number, bytes = record.moved_bytes or 0, name = record.id,
        category = "transfer", args = table.pack("req", record.id, "from",
          record.prefill_instance, "to", record.instance, "moved_bytes", record.moved_bytes),
      }
      add(by_name, order, (record.prefill_instance or "?") .. " out", move)
      add(by_name, order, (record.instance or "?") .. " in", move)
    end
  end
  table.sort(order, by_place)
  return order
end

local function owner_text(owner) return owner ~= "" and " of " .. owner or "" end

--- The number behind the name of an owner, so that instance_2 is before instance_10.
local function owner_number(owner) return tonumber(owner:match "(%d+)$") or 0 end

--- Stores of tiers in the order of the tiers, reads before writes.
local function sort_stores(order, tiers)
  local place_of = {}
  for i, tier in ipairs(tiers) do place_of[tier.name] = i end
  table.sort(order, function(a, b)
    local i, k = place_of[a.tier], place_of[b.tier]
    if i ~= k then return i < k end
    i, k = owner_number(a.owner), owner_number(b.owner)
    if i ~= k then return i < k end
    return a.name < b.name
  end)
end

--- Reads and writes of KV tiers, by the links of their stores: those of the window, and, of reads,
--- those of requests that are drawn.
local function tier_moves_of(moves, tiers, window, drawn)
  local by_name, order = {}, {}
  for i, start_us in ipairs(moves.start_us or {}) do
    local end_us, request, is_read = moves.end_us[i], moves.request[i], moves.is_read[i]
    local is_in = end_us >= window.from_us and start_us <= window.to_us
    if is_in and (not is_read or drawn[request]) then
      local name = ("tier %s%s, %s"):format(moves.tier[i], owner_text(moves.owner[i]),
        is_read and "reads" or "writes")
      add(by_name, order, name, {
        start_us = start_us, end_us = end_us, order = i, bytes = moves.bytes[i],
        name = is_read and request or moves.instance[i], category = is_read and "load" or "store",
        args = table.pack("req", is_read and request or nil, "instance", moves.instance[i],
          "blocks", moves.blocks[i], "moved_bytes", moves.bytes[i], "cut",
          moves.is_cut[i] or nil),
      })
      by_name[name].tier, by_name[name].owner = moves.tier[i], moves.owner[i]
    end
  end
  sort_stores(order, tiers)
  return order
end

---@class blis.timeline.Window
---@field from_us integer
---@field to_us integer

--- Draws the transfers of some records, and what KV tiers read and wrote.
---@param out blis.timeline.Writer
---@param pid integer
---@param records blis.RequestRecord[]
---@param result blis.Result
---@param window blis.timeline.Window
---@param drawn table<string, any> by the ids of requests that are drawn
---@return boolean has_any
function links.draw(out, pid, records, result, window, drawn)
  local order, log = transfers_of(records), rawget(result, "timeline_log")
  if log and log.moves then
    local stores = tier_moves_of(log.moves, result.kv_tiers.tiers, window, drawn)
    table.move(stores, 1, #stores, #order + 1, order)
  end
  local tid = 0
  for _, link in ipairs(order) do tid = draw_link(out, pid, tid, link) end
  return #order > 0
end

return links
