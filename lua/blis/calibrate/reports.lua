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

local function sum(list)
  local total = 0.0
  for _, value in ipairs(list) do total = total + value end
  return total
end

--- vLLM's and SGLang's arrays, index = request. Seconds. Files of older versions have no arrivals.
local function read_bench(path, root)
  local ttfts, itls, lengths = root.ttfts, value_of(root, "itls"), value_of(root, "input_lens")
  local outputs = value_of(root, "output_lens")
  if not (itls and lengths and outputs) then
    fail(path, "input_lens, output_lens and itls are missing; write it with --save-detailed")
  end
  local starts, waits = value_of(root, "start_times"), value_of(root, "queue_times")
  local latencies, problems = value_of(root, "latencies"), value_of(root, "errors")
  local all = requests.new(path)
  for i, ttft in ipairs(ttfts) do
    local has_failed = problems and type(problems[i]) == "string" and problems[i] ~= ""
    if has_failed or ttft == 0 then
      all:drop("they failed")
    else
      all:add {
        place = ("%s: request %d"):format(path, i), prompt_tokens = lengths[i],
        output_tokens = outputs[i], ttft_us = ttft * 1e6,
        e2e_us = (latencies and latencies[i] or ttft + sum(itls[i])) * 1e6,
        arrival_us = starts and (starts[i] + (waits and waits[i] or 0)) * 1e6,
      }
    end
  end
  return all:finish()
end

--- GuideLLM's requests that succeeded. Times of day in seconds.
local function read_guidellm(path, root)
  local all = requests.new(path)
  for b, benchmark in ipairs(root.benchmarks) do
    local by_status = value_of(benchmark, "requests") or {}
    for _, status in ipairs { "incomplete", "errored" } do
      for _ = 1, #(value_of(by_status, status) or {}) do all:drop("they are " .. status) end
    end
    for i, one in ipairs(value_of(by_status, "successful") or {}) do
      local place = ("%s: benchmark %d, request %d"):format(path, b, i)
      local timings = value_of(value_of(one, "info"), "timings") or {}
      local start = value_of(timings, "request_start")
      local first = value_of(timings, "first_output_token_iteration")
        or value_of(timings, "first_token_iteration") or value_of(timings, "first_iteration")
      local last = value_of(timings, "last_token_iteration") or value_of(timings, "last_iteration")
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
    local info = value_of(one, "info") or {}
    local response = value_of(info, "response_metrics") or {}
    local times = value_of(response, "output_token_times") or {}
    local text = value_of(value_of(info, "request_metrics"), "text")
    if value_of(one, "error") then
      all:drop("they failed")
    elseif #times == 0 then
      all:drop("they have no times of their tokens (not streamed)")
    else
      local usage = value_of(response, "server_usage")
      local details = value_of(usage, "prompt_tokens_details")
      all:add {
        place = ("%s: request %d"):format(path, i), arrival_us = one.start_time * 1e6,
        prompt_tokens = value_of(usage, "prompt_tokens") or value_of(text, "input_tokens")
          or value_of(info, "input_tokens"),
        output_tokens = value_of(response, "output_tokens"),
        cached_tokens = value_of(details, "cached_tokens"),
        ttft_us = (times[1] - one.start_time) * 1e6,
        e2e_us = (times[#times] - one.start_time) * 1e6,
      }
    end
  end
  return all:finish()
end

--- inference-perf's summary of a stage: means alone. Seconds.
local function read_summary(path, root)
  local load, good = root.load_summary, root.successes
  local latency = value_of(good, "latency")
  local function mean(object, name)
    local value = value_of(value_of(object, name), "mean")
    return value or fail(path, "successes.%s.mean is missing", name)
  end
  return { {
    place = path,
    rate_rps = value_of(load, "achieved_rate") or value_of(load, "requested_rate")
      or fail(path, "load_summary.achieved_rate is missing"),
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
  end
  fail(path, "unknown report; expected one of vLLM bench serve (--save-detailed), GuideLLM or "
    .. "inference-perf")
end

return reports
