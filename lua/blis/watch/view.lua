--- The live view: the state of a cluster as lines of text.
local format = require "blis.format"
local heat = require "blis.watch.heat"
local pace = require "blis.watch.pace"
local styled = require "blis.watch.styled"

local view = {}

--- Snapshot of a run in progress. Lists have an item per instance.
---@class blis.watch.Look
---@field now_us integer
---@field arrived integer
---@field routed integer
---@field rejected integer
---@field completed integer
---@field timed_out integer
---@field unservable integer
---@field failed integer
---@field escalated integer
---@field rerouted integer
---@field retried integer
---@field in_flight integer
---@field ttft? { p50_us: integer, p99_us: integer }
---@field itl? { p50_us: integer, p99_us: integer } means of requests
---@field e2e? { p50_us: integer, p99_us: integer }
---@field gateway { waiting: integer, peak: integer, saturation: number }
---@field pools table[] with an autoscaler
---@field ids string[]
---@field states string[]
---@field roles string[]
---@field queues integer[]
---@field batches integer[]
---@field kv number[] 0 to 1
---@field hits number[] 0 to 1; below 0 = nothing was looked up
---@field groups? integer[] deployments of data-parallel ranks, from 0
---@field lora? table<"slots"|"loaded"|"running"|"waiting"|"loads", integer> adapters
---@field kv_tiers? { name: string, used_blocks: integer, capacity_blocks: integer }[]
---@field tasks? { running: integer, ended: integer, completed: integer } of session graphs

local bar_width = 16

--- "35 s", "3 min 20 s", "2 h 5 min"
local function duration(seconds)
  seconds = math.floor(seconds + 0.5)
  if seconds < 60 then return ("%d s"):format(seconds) end
  if seconds < 3600 then return ("%d min %d s"):format(seconds // 60, seconds % 60) end
  return ("%d h %d min"):format(seconds // 3600, seconds % 3600 // 60)
end

local function significant(x)
  return format.number(x, x < 10 and 2 or x < 100 and 1 or 0)
end

local function milliseconds(us)
  return significant(us / 1000)
end

local function progress_line(look, progress)
  local share, line = pace.share(progress), {}
  local ended = look.arrived - look.in_flight
  if share then
    local full = math.floor(share * bar_width)
    line[1] = { ("[%s%s] "):format(("#"):rep(full), ("-"):rep(bar_width - full)), "strong" }
    line[2] = { ("%5.1f %%  "):format(share * 100), "strong" }
  end
  local of = progress.total and progress.total > 0 and " of " .. format.count(progress.total) or ""
  line[#line + 1] = { ("%s%s requests ended, %s in the cluster"):format(format.count(ended), of,
    format.count(look.in_flight)) }
  return line
end

local function speed_line(look, rates)
  local line = { { "simulated   ", "dim" }, { format.number(look.now_us / 1e6, 1) .. " s" } }
  if rates.speed then
    line[#line + 1] = { (", %s s per second, %s requests per second"):format(
      significant(rates.speed), significant(rates.ended or 0)) }
  end
  if rates.left_s then line[#line + 1] = { (", %s left"):format(duration(rates.left_s)) } end
  return line
end

local function traffic_line(rates)
  if not rates.arriving then return nil end
  return { { "traffic     ", "dim" }, { ("%s arriving, %s ending per simulated second"):format(
    significant(rates.arriving), significant(rates.ending)) } }
end

local ends = {
  { "completed", "completed" }, { "rejected", "rejected", "warm" },
  { "timed_out", "timed out", "hot" }, { "unservable", "unservable", "hot" },
  { "failed", "failed", "hot" }, { "retried", "sent again", "warm" },
  { "rerouted", "routed again", "warm" }, { "escalated", "escalated" },
}

local function ends_line(look)
  local line = { { "ended       ", "dim" } }
  for i, one in ipairs(ends) do
    local count = look[one[1]]
    if i == 1 or count > 0 then
      line[#line + 1] = { ("%s%s %s"):format(i == 1 and "" or ", ", one[2], format.count(count)),
        one[3] }
    end
  end
  return line
end

local function latency_line(look)
  local parts = {}
  for _, one in ipairs { { "TTFT", look.ttft }, { "ITL", look.itl }, { "E2E", look.e2e } } do
    local name, times = one[1], one[2]
    if times then
      parts[#parts + 1] = ("%s %s, %s"):format(name, milliseconds(times.p50_us),
        milliseconds(times.p99_us))
    end
  end
  if #parts == 0 then return nil end
  return { { "p50, p99 ms ", "dim" }, { table.concat(parts, "   ") } }
end

local function gateway_line(gateway)
  if gateway.peak == 0 then return nil end
  return { { "gateway     ", "dim" }, { ("%s waiting, at most %s so far; "):format(
    format.count(gateway.waiting), format.count(gateway.peak)) },
    { ("saturation %.2f"):format(gateway.saturation),
      styled.heat(math.min(1, gateway.saturation)) } }
end

local function lora_line(lora)
  if not lora then return nil end
  return { { "adapters    ", "dim" }, { ("%s loaded in %s slots, %s running, %s waiting; %s loads")
    :format(format.count(lora.loaded), format.count(lora.slots), format.count(lora.running),
      format.count(lora.waiting), format.count(lora.loads)) } }
end

--- How full each tier is.
local function tiers_line(tiers)
  if not tiers then return nil end
  local line = { { "KV tiers    ", "dim" } }
  for i, tier in ipairs(tiers) do
    local share = tier.capacity_blocks > 0 and tier.used_blocks / tier.capacity_blocks or 0
    line[#line + 1] = { ("%s%s "):format(i > 1 and ", " or "", tier.name) }
    line[#line + 1] = { format.percent(share), styled.heat(math.min(1, share)) }
  end
  return line
end

local function tasks_line(tasks)
  if not tasks then return nil end
  local text = ("%s running, %s completed"):format(format.count(tasks.running),
    format.count(tasks.completed))
  local line, broken = { { "tasks       ", "dim" }, { text } }, tasks.ended - tasks.completed
  if broken > 0 then line[3] = { (", %s broken"):format(format.count(broken)), "hot" } end
  return line
end

local function scaling_line(pool)
  local name = pool.role == "" and "scaling" or pool.role
  local text = ("%s ready, %s wanted, %s paid"):format(pool.ready or "-", pool.wanted or "-",
    pool.paid or "-")
  if pool.last_us then
    text = ("%s; %d changes, the last %d to %d at %s s (%s)"):format(text, pool.changes, pool.from,
      pool.to, format.number(pool.last_us / 1e6, 1), pool.reason)
  end
  return { { ("%-12s"):format(name), "dim" }, { text } }
end

--- The lines above the instances.
local function head(look, progress)
  local rates, lines = pace.rates(progress), {}
  lines[1], lines[2] = progress_line(look, progress), speed_line(look, rates)
  lines[#lines + 1] = traffic_line(rates)
  lines[#lines + 1] = ends_line(look)
  lines[#lines + 1] = latency_line(look)
  lines[#lines + 1] = tasks_line(look.tasks)
  lines[#lines + 1] = gateway_line(look.gateway)
  lines[#lines + 1] = lora_line(look.lora)
  lines[#lines + 1] = tiers_line(look.kv_tiers)
  for _, pool in ipairs(look.pools) do lines[#lines + 1] = scaling_line(pool) end
  return lines
end

local function has_any(list, present, usual)
  for _, i in ipairs(present) do
    if list[i] ~= usual then return true end
  end
  return false
end

local kv_bar_width = 10

--- One row of the table of instances.
local function instance_row(look, i, has_states, has_roles)
  local kv, hits = look.kv[i], look.hits[i]
  local full = math.floor(kv * kv_bar_width + 0.5)
  return {
    { ("%-14s"):format(look.ids[i]) },
    { look.groups and ("%-7d"):format(look.groups[i]) or "" },
    { has_states and ("%-13s"):format(look.states[i]) or "",
      look.states[i] ~= "active" and "warm" or nil },
    { has_roles and ("%-16s"):format(look.roles[i]) or "" },
    { ("%7s %7s  "):format(format.count(look.queues[i]), format.count(look.batches[i])) },
    { ("█"):rep(full) .. ("·"):rep(kv_bar_width - full), styled.heat(kv) },
    { ("%7s %9s"):format(format.percent(kv), hits < 0 and "-" or format.percent(hits)) },
  }
end

--- A row for every instance that has not gone.
local function instance_table(look, present)
  local has_states = has_any(look.states, present, "active")
  local has_roles = has_any(look.roles, present, "")
  local lines = { { { ("%-14s%s%s%s%7s %7s  %-17s %9s"):format("instance",
    look.groups and ("%-7s"):format "group" or "",
    has_states and ("%-13s"):format "state" or "",
    has_roles and ("%-16s"):format "role" or "", "queue", "batch", "KV blocks in use",
    "cache hit"), "dim" } } }
  for _, i in ipairs(present) do
    lines[#lines + 1] = instance_row(look, i, has_states, has_roles)
  end
  return lines
end

local function present_of(look)
  local list = {}
  for i, state in ipairs(look.states) do
    if state ~= "drained" then list[#list + 1] = i end
  end
  return list
end

-- More rows than these tell less than a picture.
local most_rows = 16

--- The view, in at most `rows` lines.
---@param look blis.watch.Look
---@param progress blis.watch.Pace includes this snapshot
---@param columns integer
---@param rows integer
---@param has_colours boolean
---@return string[]
function view.lines(look, progress, columns, rows, has_colours)
  local lines = head(look, progress)
  local room = rows - 2 - #lines -- a line between, and one for the cursor
  local present = present_of(look)
  if room >= 2 and #present > 0 then
    lines[#lines + 1] = {}
    local is_table = #present <= most_rows and #present < room
    local more = is_table and instance_table(look, present)
      or heat.lines(look, present, columns, room)
    table.move(more, 1, #more, #lines + 1, lines)
  end
  local texts = {}
  for i = 1, math.min(#lines, rows - 1) do
    texts[i] = styled.text(lines[i], columns, has_colours)
  end
  return texts
end

--- The view as one line, for output that is not a terminal.
---@param look blis.watch.Look
---@param progress blis.watch.Pace includes this snapshot
---@return string
function view.line(look, progress)
  local parts = {}
  local share = pace.share(progress)
  if share then parts[1] = ("%.1f %%"):format(share * 100) end
  parts[#parts + 1] = ("%s requests ended, %s in the cluster"):format(
    format.count(look.arrived - look.in_flight), format.count(look.in_flight))
  parts[#parts + 1] = ("%s s simulated"):format(format.number(look.now_us / 1e6, 1))
  if look.ttft then
    parts[#parts + 1] = ("TTFT p99 %s ms"):format(milliseconds(look.ttft.p99_us))
  end
  local left_s = pace.rates(progress).left_s
  if left_s then parts[#parts + 1] = duration(left_s) .. " left" end
  return table.concat(parts, ", ")
end

return view
