--- Timelines of single requests and tasks, in words and as a bar.
local format = require "blis.format"
local html = require "blis.page.html"
local parts = require "blis.page.parts"
local result_file = require "blis.results.file"
local sorted = require "blis.sorted"

local lives = {}

local number, ms = format.number, parts.ms

-- Number of requests shown.
lives.usual_count = 10

---@class blis.page.Phase
---@field name string
---@field kind? string what legends call it, if not by its name
---@field us integer
---@field class string of its colour

--- Appends the phases after the prefill of a disaggregated request; times are relative to its
--- arrival.
local function add_handoff(phases, request, admitted, first)
  local prefilled = math.max(request.prefill_end_us - request.arrival_us, admitted)
  local moved = math.max(request.transfer_end_us - request.arrival_us, prefilled)
  local decodes = math.max(first, moved)
  table.move({
    { name = "prefill", us = prefilled - admitted, class = "f2" },
    { name = "hand-off", us = moved - prefilled, class = "f5" },
    { name = "waiting to decode", us = decodes - moved, class = "f6" },
    { name = "decode", us = math.max(request.e2e_us - decodes, 0), class = "f3" },
  }, 1, 4, #phases + 1, phases)
  return phases
end

--- The times of a request that add up to its E2E, in the order in which they pass.
---@param request blis.RequestRecord
---@return blis.page.Phase[]
function lives.phases(request)
  local gateway = request.gateway_wait_us or 0
  local is_moved = request.prefill_admitted_us and request.prefill_end_us
    and request.transfer_end_us
  local delay = is_moved and request.prefill_admitted_us - request.arrival_us
    or request.scheduling_delay_us or 0
  local admitted = math.max(delay, gateway)
  local first = math.max(request.ttft_us or 0, admitted)
  -- Records of handed-off requests do not contain the stage in which the request waited.
  local adapter = is_moved and 0
    or math.min(request.adapter_wait_us or 0, admitted - gateway)
  local phases = {
    { name = "at the gateway", us = gateway, class = "f0" },
    { name = "waiting", us = admitted - gateway - adapter, class = "f1" },
  }
  if adapter > 0 then
    phases[3] = { name = "waiting for " .. request.adapter, kind = "waiting for an adapter",
      us = adapter, class = "f4" }
  end
  if is_moved then return add_handoff(phases, request, admitted, first) end
  phases[#phases + 1] = { name = "prefill", us = first - admitted, class = "f2" }
  phases[#phases + 1] = { name = "decode", us = math.max(request.e2e_us - first, 0), class = "f3" }
  return phases
end

local bar_width, bar_height = 140, 12

--- The phases in their proportions; longest_us fills the width.
local function bar(phases, longest_us)
  local rects, x = {}, 0
  for _, phase in ipairs(phases) do
    local width = phase.us / math.max(longest_us, 1) * bar_width
    if width > 0 then
      rects[#rects + 1] = html.rect { x = ("%.1f"):format(x), y = 0, height = bar_height,
        width = ("%.1f"):format(width), class = phase.class }
    end
    x = x + width
  end
  return html.svg({ class = "bar", width = bar_width, height = bar_height,
    ["aria-hidden"] = "true" }, rects)
end

--- The legend of bar colors.
local function legend(phases)
  local items = {}
  for i, phase in ipairs(phases) do
    items[i] = html.li(html.svg({ class = "swatch", width = 12, height = 12,
      ["aria-hidden"] = "true" }, html.rect { width = 12, height = 12, class = phase.class }),
      phase.kind or phase.name)
  end
  return html.ul({ class = "legend" }, items)
end

--- "; 4,096 tokens of its prompt loaded from cpu, 512 from disk": tokens that KV tiers provided.
local function tiers_text(request, tiers)
  local words = {}
  for i, tokens in ipairs(request.tier_tokens or {}) do
    if tokens > 0 then
      words[#words + 1] = ("%s%s from %s"):format(format.count(tokens),
        #words == 0 and " tokens of its prompt brought" or "", tiers[i].name)
    end
  end
  return #words > 0 and "; " .. table.concat(words, ", ") or ""
end

--- "waiting 1,200.0 ms, prefill 80.0 ms, decode 900.0 ms (99 tokens, 9.1 ms each)"
local function story(request, phases, tiers)
  local words = {}
  for _, phase in ipairs(phases) do
    if phase.us > 0 then
      words[#words + 1] = ("%s %s"):format(phase.name, ms(phase.us / 1000))
    end
  end
  if request.itl_count > 0 then
    words[#words] = ("%s (%s tokens, %s ms each)"):format(words[#words],
      format.count(request.itl_count), number(request.itl_sum_us / request.itl_count / 1000))
  end
  local text = table.concat(words, ", ")
  if request.prefill_instance then
    text = ("%s; prefilled by %s"):format(text, request.prefill_instance)
  end
  return text .. tiers_text(request, tiers)
end

--- The phases of a legend: all phases of the shown requests, in chronological order.
local function longest(lives_of)
  local most = lives_of[1]
  for _, phases in ipairs(lives_of) do
    if #phases > #most then most = phases end
  end
  return most
end

--- Limits of the records of retried requests.
local function note_of(r)
  local words = {}
  for _, name in ipairs { "rerouted", "retried" } do
    local count = rawget(r, name) or 0
    if count > 0 then
      words[#words + 1] = ("%s %s"):format(name, format.plural(count, "time"))
    end
  end
  if #words == 0 then return nil end
  return html.p({ class = "soft" }, ("Requests were %s because faults or scaling removed their "
    .. "instance. Time on the lost instance counts as waiting here; timelines show it.")
    :format(table.concat(words, " and ")))
end

--- A table of the slowest requests; nothing without records.
---@param r blis.Result
---@return blis.page.Element?
function lives.slowest(r)
  local places = r.keeps_records and r.requests:slowest(lives.usual_count) or {}
  if #places == 0 then return nil end
  local rows, told, longest_us = {}, {}, r.requests[places[1]].e2e_us
  local tiers = (rawget(r, "kv_tiers") or {}).tiers
  for i, place in ipairs(places) do
    local request = r.requests[place]
    local phases = lives.phases(request)
    told[i] = phases
    rows[i] = { request.id, number(request.arrival_us / 1e6, 2), request.instance or "-",
      format.count(request.prompt_tokens), format.count(request.output_tokens),
      number(request.e2e_us / 1000), bar(phases, longest_us), story(request, phases, tiers) }
  end
  return parts.section("slowest", "Slowest requests",
    parts.table("The completed requests with the longest E2E.", { "request", "arrived (s)",
      "instance", "prompt tokens", "output tokens", "E2E (ms)", "its time", "in words" }, rows,
      { [8] = true }),
    legend(longest(told)), note_of(r))
end

local parts_of_path = { "queue", "prefill", "decode", "tool", "delay" }
local classes_of_path = { queue = "f1", prefill = "f2", decode = "f3", tool = "f4", delay = "f0" }

--- The parts of a critical path; of(part) returns its microseconds.
local function path_of(of)
  local list = {}
  for i, name in ipairs(parts_of_path) do
    list[i] = { name = name, us = of(name), class = classes_of_path[name] }
  end
  return list
end

local function path_row(name, requests, us, path, longest_us)
  local row = { name, requests, number(us / 1e6, 1) }
  for _, part in ipairs(path) do row[#row + 1] = number(part.us / 1e6, 1) end
  row[#row + 1] = bar(path, longest_us)
  return row
end

--- The critical paths of all tasks and of the slowest tasks; nothing if no task was completed.
---@param r blis.Result
---@return any
function lives.tasks(r)
  local sums, list = r.tasks, {}
  local are_kept = r.keeps_records and not result_file.was_read(r)
  for _, task in ipairs(are_kept and r.requests:tasks() or {}) do
    if task.state == "completed" then
      task.us = task.end_us - task.start_us
      list[#list + 1] = task
    end
  end
  if sums.completed == 0 then return {} end
  sorted.by_highest(list, "us", "start_us")
  local mean_us = sums.task_ms.mean * 1000
  local longest_us = list[1] and list[1].us or mean_us
  local mean = path_of(function(name) return sums[name .. "_ms"].mean * 1000 end)
  local rows = { path_row("mean of all", number(sums.path_requests, 1), mean_us, mean, longest_us) }
  for i = 1, math.min(#list, lives.usual_count) do
    local task = list[i]
    rows[i + 1] = path_row(("%s, play %d"):format(task.program, task.play + 1),
      format.count(task.path_requests), task.us,
      path_of(function(name) return task[name .. "_us"] end), longest_us)
  end
  local header = { "task", "requests on it", "whole" }
  for _, name in ipairs(parts_of_path) do header[#header + 1] = name end
  header[#header + 1] = "its time"
  local caption = "Critical path of each task, by activity (s); slowest completed tasks."
  return { html.h3 "Critical paths", parts.table(caption, header, rows), legend(mean) }
end

return lives
