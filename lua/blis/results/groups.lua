--- The rows of SLO classes, tenants and models, for the summary and for pages.
local figures = require "blis.results.figures"
local format = require "blis.format"
local sorted = require "blis.sorted"

local count, number = format.count, format.number

local groups = {}

local most_rows = 20

local function wait_of(name)
  return function(group)
    local waits = rawget(group, "gateway_wait_ms")
    return number(waits and waits[name])
  end
end

-- Columns of group tables: title, and a shorter title if the previous column makes it clear;
-- in_full: only in the full table, or only with a gateway queue.
local ends = {
  { "arrived", value = function(g) return count(g.arrived) end },
  { "completed", value = function(g) return count(g.completed) end },
  { "rejected", value = function(g) return count(g.rejected) end },
  { "timed out", in_full = true, value = function(g) return count(g.timed_out) end },
}

local times = {
  { "TTFT mean", value = function(g) return number(g.ttft_ms.mean) end },
  { "TTFT p99", short = "p99", value = function(g) return number(g.ttft_ms.p99) end },
  { "ITL mean", value = function(g) return number(g.itl_ms.mean) end },
  { "E2E mean", value = function(g) return number(g.e2e_ms.mean) end },
  { "E2E p99", short = "p99", value = function(g) return number(g.e2e_ms.p99) end },
  { "gateway mean", of_queue = true, value = wait_of "mean" },
  { "gateway p99", short = "p99", of_queue = true, value = wait_of "p99" },
}

-- Outcomes with a column, or counted in another column.
local is_told_anyway = { arrived = true, completed = true, length_capped = true, rejected = true,
  timed_out = true }

--- Columns of other outcomes that occurred.
local function other_ends(r)
  local list = {}
  for _, ending in ipairs(figures.of "Counts") do
    local name = ending.name
    if not is_told_anyway[name] and r[name] > 0 then
      list[#list + 1] = { (name:gsub("_", " ")), value = function(g) return count(g[name]) end }
    end
  end
  return list
end

local function columns_for(r, in_full)
  local has_queue, chosen = rawget(r, "queue") ~= nil, {}
  for _, list in ipairs { ends, in_full and other_ends(r) or {}, times } do
    for _, column in ipairs(list) do
      local is_told = (in_full or not column.in_full) and (has_queue or not column.of_queue)
      if is_told then chosen[#chosen + 1] = column end
    end
  end
  return chosen
end

local function table_of(title, list, chosen, in_full)
  local header, rows = { title }, {}
  for k, column in ipairs(chosen) do
    header[k + 1] = not in_full and column.short or column[1]
  end
  local in_order = sorted.naturally(list, "name")
  for i = 1, math.min(#list, most_rows) do
    local group = in_order[i]
    rows[i] = { group.name == "" and "(none)" or group.name }
    for k, column in ipairs(chosen) do rows[i][k + 1] = column.value(group) end
  end
  return { title = title, header = header, rows = rows, count = #list }
end

---@class blis.GroupTable
---@field title string
---@field header string[]
---@field rows string[][] of the first groups
---@field count integer of all groups

--- A table for classes, tenants, and models, each if there is more than one; the full table also
--- for adapters. Times are in ms. Nothing without records.
---@param r blis.Result
---@param in_full boolean every column under its whole name
---@return blis.GroupTable[]
function groups.tables(r, in_full)
  local tables = {}
  if not r.keeps_records then return tables end
  local chosen = columns_for(r, in_full)
  local by_adapter = in_full and rawget(r, "by_adapter") or {}
  for _, part in ipairs { { "SLO class", r.by_slo_class }, { "tenant", r.by_tenant },
    { "model", r.by_model }, { "adapter", by_adapter } } do
    if #part[2] > 1 then
      tables[#tables + 1] = table_of(part[1], part[2], chosen, in_full)
    end
  end
  return tables
end

return groups
