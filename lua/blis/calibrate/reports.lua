--- Measurements in the reports of load generators (JSON): vLLM bench serve, SGLang bench_serving,
--- GuideLLM, inference-perf.
local core = require "blis.core"
local errors = require "blis.errors"
local requests = require "blis.calibrate.requests"

local reports = {}

local function fail(path, format, ...)
  errors.raise("parse", path .. ": " .. format:format(...))
end

--- A value of a report; JSON's null is none.
local function value_of(object, name)
  local value = type(object) == "table" and object[name]
  if value == core.json_null or value == false then return nil end
  return value
end

--- A value of a report; nil without it. name may be an index into a list.
local function typed_of(kind, object, name, place, what)
  local value = value_of(object, name)
  if value ~= nil and type(value) ~= kind then
    fail(place, "%s is %s; expected a %s", what or name, errors.show(value),
      kind == "table" and "list" or kind)
  end
  return value
end

local function list_of(...) return typed_of("table", ...) end

local function number_of(...) return typed_of("number", ...) end

local function sum(list, place)
  local total = 0.0
  for i = 1, #list do total = total + (number_of(list, i, place, "a time of itls") or 0) end
  return total
end

--- vLLM's and SGLang's arrays, index = request. Seconds. Files of older versions have no arrivals.
local function read_bench(path, root)
  local function list(name) return list_of(root, name, path) end
  local itls, lengths, outputs = list "itls", list "input_lens", list "output_lens"
  if not (itls and lengths and outputs) then
    fail(path, "input_lens, output_lens and itls are missing; write it with --save-detailed")
  end
  local ttfts, starts, waits = list "ttfts", list "start_times", list "queue_times"
  local latencies, problems = list "latencies", list "errors"
  local all = requests.new(path)
  for i = 1, #ttfts do
    local place = ("%s: request %d"):format(path, i)
    local function seconds(of, name) return number_of(of, i, place, name) end
    local problem, ttft = value_of(problems, i), seconds(ttfts, "its time in ttfts")
    if problem and problem ~= "" or not ttft or ttft == 0 then
      all:drop("they failed")
    else
      local start = seconds(starts, "its time in start_times")
      local e2e = seconds(latencies, "its time in latencies")
        or ttft + sum(list_of(itls, i, place, "its entry in itls") or {}, place)
      all:add {
        place = place, prompt_tokens = value_of(lengths, i), output_tokens = value_of(outputs, i),
        ttft_us = ttft * 1e6, e2e_us = e2e * 1e6,
        arrival_us = start and (start + (seconds(waits, "its time in queue_times") or 0)) * 1e6,
      }
    end
  end
  return all:finish()
end

--- GuideLLM's requests that succeeded. Times of day in seconds.
local function read_guidellm(path, root)
  local all = requests.new(path)
  for b, benchmark in ipairs(list_of(root, "benchmarks", path)) do
    local by_status = value_of(benchmark, "requests") or {}
    for _, status in ipairs { "incomplete", "errored" } do
      for _ = 1, #(list_of(by_status, status, path) or {}) do all:drop("they are " .. status) end
    end
    for i, one in ipairs(list_of(by_status, "successful", path) or {}) do
      local place = ("%s: benchmark %d, request %d"):format(path, b, i)
      local timings = value_of(value_of(one, "info"), "timings") or {}
      local function time(name) return number_of(timings, name, place) end
      -- Members of the request itself are of 2025.
      local function old(name) return number_of(one, name, place) end
      local start = time "request_start" or old "request_start_time" or old "start_time"
      local ttft_ms = old "time_to_first_token_ms"
      local first = time "first_output_token_iteration" or time "first_token_iteration"
        or time "first_iteration" or old "first_token_time"
        or start and ttft_ms and start + ttft_ms / 1000
      local last = time "last_token_iteration" or time "last_iteration" or old "last_token_time"
        or old "request_end_time" or old "end_time"
      if not (start and first and last) then
        all:drop("they have no times of their tokens")
      else
        all:add {
          place = place, arrival_us = start * 1e6, ttft_us = (first - start) * 1e6,
          e2e_us = (last - start) * 1e6, prompt_tokens = value_of(one, "prompt_tokens"),
          output_tokens = value_of(one, "output_tokens"),
          cached_tokens = value_of(one, "cached_tokens"),
        }
      end
    end
  end
  return all:finish()
end

--- inference-perf's per_request_lifecycle_metrics.json. Seconds of the client's clock.
local function read_inference_perf(path, root)
  local all = requests.new(path)
  for i, one in ipairs(root) do
    local place = ("%s: request %d"):format(path, i)
    local info = value_of(one, "info") or {}
    local response = value_of(info, "response_metrics") or info -- info itself in 2025
    local times = list_of(response, "output_token_times", place) or {}
    local start = number_of(one, "start_time", place)
    local function time(index)
      return number_of(times, index, place, "a time of output_token_times")
    end
    local text = value_of(value_of(info, "request_metrics"), "text")
    if value_of(one, "error") then
      all:drop("they failed")
    elseif not (start and time(1) and time(#times)) then
      all:drop("they have no times of their tokens (not streamed)")
    else
      local usage = value_of(response, "server_usage")
      local details = value_of(usage, "prompt_tokens_details")
      all:add {
        place = place, arrival_us = start * 1e6,
        prompt_tokens = value_of(usage, "prompt_tokens") or value_of(text, "input_tokens")
          or value_of(info, "input_tokens"),
        output_tokens = value_of(response, "output_tokens"),
        cached_tokens = value_of(details, "cached_tokens"),
        ttft_us = (time(1) - start) * 1e6,
        e2e_us = (time(#times) - start) * 1e6,
      }
    end
  end
  return all:finish()
end

--- The rate of a stage (requests/s). Summaries of early 2025 do not have the rate of the load, so
--- the throughput of the requests that succeeded stands for it.
local function rate_of(path, root)
  local load, good = root.load_summary, root.successes
  local count, seconds = number_of(load, "count", path),
    number_of(root, "benchmark_time_seconds", path)
  local throughput = value_of(good, "throughput")
  return number_of(load, "achieved_rate", path) or number_of(load, "requested_rate", path)
    or number_of(throughput, "requests_per_sec", path)
    or count and seconds and seconds > 0 and count / seconds
    or fail(path, "the rate is missing; expected load_summary.achieved_rate, "
      .. "load_summary.requested_rate, successes.throughput.requests_per_sec, or "
      .. "benchmark_time_seconds with load_summary.count")
end

--- inference-perf's summary of a stage: means alone. Seconds.
local function read_summary(path, root)
  local good = root.successes
  local latency = value_of(good, "latency")
  local function mean(object, name)
    local value = number_of(value_of(object, name), "mean", path, name .. ".mean")
    return value or fail(path, "successes.%s.mean is missing", name)
  end
  return { {
    place = path,
    rate_rps = rate_of(path, root),
    prompt_tokens = mean(good, "prompt_len"), output_tokens = mean(good, "output_len"),
    cached_tokens = 0, ttft_us = mean(latency, "time_to_first_token") * 1e6,
    e2e_us = mean(latency, "request_latency") * 1e6,
  } }
end

--- One JSON text, or the last of several lines of which each is one run.
local function parse(path, text)
  local ok, root = pcall(core.json_read, text, path)
  if ok then return root end
  local last
  for line in text:gmatch "[^\r\n]+" do last = line end
  local is_lines, last_root = pcall(core.json_read, last or "", path)
  if not is_lines then error(root, 0) end
  return last_root
end

--- Reads a report; which one it is is recognised.
---@param path string
---@param text string
---@return { format: string, requests: blis.ObservedRequests?, means: blis.ObservedMeans[]? }
function reports.read(path, text)
  local root = parse(path, text)
  if type(root) ~= "table" then fail(path, "expected an object or a list") end
  if value_of(root, "benchmarks") then
    return { format = "guidellm", requests = read_guidellm(path, root) }
  elseif value_of(root, "ttfts") then
    return { format = "vllm-bench", requests = read_bench(path, root) }
  elseif value_of(root, "load_summary") and value_of(root, "successes") then
    return { format = "inference-perf-summary", means = read_summary(path, root) }
  elseif type(root[1]) == "table" and root[1].start_time then
    return { format = "inference-perf", requests = read_inference_perf(path, root) }
  elseif value_of(root, "mean_ttft_ms") then
    fail(path, "this vLLM bench result has no requests; write it with --save-detailed")
  elseif value_of(root, "request_throughput") and value_of(root, "input_sequence_length") then
    fail(path, "this summary of GenAI-Perf or AIPerf has no requests; a fit requires a table (CSV) "
      .. "of means at several rates")
  end
  fail(path, "unknown report; expected one of vLLM bench serve (--save-detailed), GuideLLM or "
    .. "inference-perf")
end

return reports
