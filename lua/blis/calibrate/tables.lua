--- Measurements in CSV tables: a request per row, or the means of a run per row.
---
---     prompt_tokens,output_tokens,arrival_s,first_token_s,last_token_s
---     prompt_tokens,output_tokens,arrival_ms,ttft_ms,e2e_ms[,cached_tokens]
---     request_id,input_tokens,...,send_time_us,first_chunk_time_us,...      (TraceV2)
---     rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms                   (means; also rate)
---
--- The unit of a time is the end of its column's name: _us, _ms or _s. first_token and last_token
--- are points in time, ttft and e2e durations.
local core = require "blis.core"
local errors = require "blis.errors"
local notices = require "blis.notices"
local requests = require "blis.calibrate.requests"

local tables = {}

local us_per = { us = 1, ms = 1e3, s = 1e6 }

-- TraceV2 names these otherwise, and tables of means those of the last two lines.
local other_names = {
  input_tokens = "prompt_tokens", send_time_us = "arrival_us",
  first_chunk_time_us = "first_token_us", last_chunk_time_us = "last_token_us",
  rate = "rate_rps", request_rate = "rate_rps", requests_per_sec = "rate_rps",
  mean_ttft_ms = "ttft_ms", mean_e2e_ms = "e2e_ms", mean_e2el_ms = "e2e_ms",
}

local function columns_of(path)
  local file <close> = assert(core.open_input(path, "data"))
  local names = {}
  local head = (file:read("l") or ""):gsub("^\xef\xbb\xbf", ""):gsub("\r$", "")
  for name in head:gmatch "[^,]+" do names[#names + 1] = name:match '^"(.*)"$' or name end
  return names
end

--- Which of the columns is the time called name, and how many microseconds its unit has.
local function find_time(columns, name)
  for _, column in ipairs(columns) do
    local base, unit = (other_names[column] or column):match "^(.*)_(%a+)$"
    if base == name and us_per[unit] then return { column = column, factor = us_per[unit] } end
  end
end

local function find_count(columns, name)
  for _, column in ipairs(columns) do
    if (other_names[column] or column) == name then return column end
  end
end

local function number_in(row, column, place)
  local value = tonumber(row[column])
  if not value or math.abs(value) == math.huge then
    errors.raise("parse", ("%s: %s is %s; expected a number"):format(place, column,
      errors.show(row[column])))
  end
  return value
end

local function need(path, what, value)
  if value then return value end
  errors.raise("parse", ("%s: no column for %s"):format(path, what))
end

-- Additional columns that a table may contain: TraceV2 describes more than the service of a
-- request, and an engine reports queueing and scheduling times.
local known_columns = {}
for name in ([[
  request_id client_id tenant_id slo_class session_id round_index prefix_group prefix_length
  streaming text_tokens image_tokens audio_tokens video_tokens reason_ratio model deadline_us
  arrival_time_us num_chunks error_message finish_reason vllm_priority x_request_id adapter
  slo_target_us think_time_us segments cascade mean_logprob max_output_tokens
  request queued_s scheduled_s
]]):gmatch "%S+" do known_columns[name] = true end

--- Reports ignored columns.
local function tell_unread(path, columns, read)
  local is_read, unread = {}, {}
  for _, name in pairs(read) do is_read[type(name) == "table" and name.column or name] = true end
  for _, name in ipairs(columns) do
    if not (is_read[name] or known_columns[name]) then unread[#unread + 1] = errors.show(name) end
  end
  if #unread > 0 then
    notices.tell(("%s: ignored columns: %s"):format(path, table.concat(unread, ", ")))
  end
end

--- Rows as tables of strings.
local function read_rows(path, columns)
  local wanted = {}
  for i, name in ipairs(columns) do wanted[i] = { name = name, is_text = true } end
  return core.csv_read(path, wanted)
end

--- Does the table hold means, one row per run?
local function holds_means(columns)
  return find_count(columns, "rate_rps") ~= nil and find_time(columns, "ttft") ~= nil
    and not find_time(columns, "arrival")
end

local function read_requests(path, columns)
  local function time(name) return find_time(columns, name) end
  local first, last = time "first_token", time "last_token"
  local ttft, e2e, arrival = time "ttft", time "e2e", time "arrival"
  if not ttft then
    need(path, "the time of the first token (first_token_s, ttft_ms, ...)", first)
    need(path, "the arrival, which is the origin of the first-token time", arrival)
  end
  if not e2e then
    need(path, "the time of the last token (last_token_s, e2e_ms, ...)", last)
    need(path, "the arrival, which is the origin of the last-token time", arrival)
  end
  local prompt = need(path, "prompt_tokens", find_count(columns, "prompt_tokens"))
  local output = need(path, "output_tokens", find_count(columns, "output_tokens"))
  local cached = find_count(columns, "cached_tokens")
  local served = find_count(columns, "server_input_tokens")
  local status = find_count(columns, "status")
  tell_unread(path, columns, { first = first, last = last, ttft = ttft, e2e = e2e,
    arrival = arrival, prompt = prompt, output = output, cached = cached, served = served,
    status = status })
  local all = requests.new(path)
  for _, row in ipairs(read_rows(path, columns)) do
    local place = ("%s:%d"):format(path, row.line)
    local function us(column) return number_in(row, column.column, place) * column.factor end
    local function count(column) return number_in(row, column, place) end
    if status and row[status] ~= "ok" then
      all:drop(("their status is not ok but %s"):format(errors.show(row[status])))
    else
      local arrival_us = arrival and us(arrival)
      local on_server = served and count(served) or 0
      all:add {
        place = place, arrival_us = arrival_us,
        prompt_tokens = on_server > 0 and on_server or count(prompt),
        output_tokens = count(output), cached_tokens = cached and count(cached),
        ttft_us = ttft and us(ttft) or us(first) - arrival_us,
        e2e_us = e2e and us(e2e) or us(last) - arrival_us,
      }
    end
  end
  return all:finish()
end

---@class blis.ObservedMeans
---@field place string
---@field run string? rows of one deployment have the same
---@field rate_rps number
---@field prompt_tokens number
---@field output_tokens number
---@field cached_tokens number of the prompt
---@field ttft_us number
---@field e2e_us number

local most_tokens = 1e9

--- Refuses means that no run can have.
local function check_means(one)
  local function refuse(expected)
    errors.raise("parse", ("%s: expected %s"):format(one.place, expected))
  end
  if not (one.rate_rps > 0 and one.output_tokens > 1 and one.ttft_us > 0
    and one.e2e_us > one.ttft_us) then
    refuse "a rate above 0, more than one output token and 0 < TTFT < E2E"
  elseif not (one.prompt_tokens >= 1 and one.cached_tokens >= 0
    and one.cached_tokens <= one.prompt_tokens) then
    refuse "at least one prompt token, and at most all of them cached"
  elseif math.max(one.prompt_tokens, one.output_tokens) > most_tokens then
    refuse(("%.0f tokens at most"):format(most_tokens))
  end
end

local function read_means(path, columns)
  local list = {}
  local cached, run = find_count(columns, "cached_tokens"), find_count(columns, "run")
  local ttft, e2e = find_time(columns, "ttft"), need(path, "e2e_ms", find_time(columns, "e2e"))
  local prompt = need(path, "prompt_tokens", find_count(columns, "prompt_tokens"))
  local output = need(path, "output_tokens", find_count(columns, "output_tokens"))
  local rate = find_count(columns, "rate_rps")
  tell_unread(path, columns, { rate = rate, cached = cached, run = run, ttft = ttft,
    e2e = e2e, prompt = prompt, output = output })
  for i, row in ipairs(read_rows(path, columns)) do
    local place = ("%s:%d"):format(path, row.line)
    local one = {
      place = place, run = run and row[run], rate_rps = number_in(row, rate, place),
      prompt_tokens = number_in(row, prompt, place), output_tokens = number_in(row, output, place),
      cached_tokens = cached and number_in(row, cached, place) or 0,
      ttft_us = number_in(row, ttft.column, place) * ttft.factor,
      e2e_us = number_in(row, e2e.column, place) * e2e.factor,
    }
    check_means(one)
    list[i] = one
  end
  if #list == 0 then errors.raise("parse", path .. ": no rows") end
  requests.check_unit(path, list)
  return list
end

--- Reads a table of either kind.
---@param path string
---@return { format: string, requests: blis.ObservedRequests?, means: blis.ObservedMeans[]? }
function tables.read(path)
  local columns = columns_of(path)
  if holds_means(columns) then return { format = "means", means = read_means(path, columns) } end
  return { format = "table", requests = read_requests(path, columns) }
end

return tables
