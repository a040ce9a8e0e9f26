--- blis observe: send a workload to a real endpoint, and measure the answers.
local command = require "blis.cli.command"
local deferred = require "blis.deferred"
local experiment_section = require "blis.config.experiment"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local format = require "blis.format"
local observe = require "blis.observe"
local outputs = require "blis.cli.outputs"
local page = deferred "blis.page.result"
local section = require "blis.config.observe"
local trace = require "blis.traffic.trace"
local trace_sections = require "blis.config.trace"
local traffic = require "blis.cli.traffic"
local workload = require "blis.traffic.workload"

local function groups()
  local list = {
    { title = "Endpoint", section = "observe", has_defaults = true, options = flags.all(section) },
    { title = "Trace", section = "trace", has_defaults = true,
      options = flags.all(trace_sections.read) },
    { title = "Run", section = "experiment", options = flags.pick(experiment_section,
      { "seed", "horizon_us" }) },
  }
  for _, group in ipairs(traffic.groups()) do
    if group.section ~= "graphs" then list[#list + 1] = group end
  end
  return list
end

local definition = {
  name = "observe",
  summary = "send a workload to a real endpoint, and measure the answers",
  usage = "blis observe [TRACE] --target URL [FLAGS]",
  description = "Sends requests to an endpoint with the OpenAI API (vLLM, SGLang, a gateway, or "
    .. "blis live) at the times of a trace or of generated traffic, whatever is outstanding, and "
    .. "measures TTFT, inter-token latency, and E2E as vLLM bench does. The trace that it writes "
    .. "is input of blis calibrate --fit and of blis replay. The API key comes from an environment "
    .. "variable. Exit status: 1 if no request was answered, or if requests were sent too late.",
  positional = { name = "TRACE", doc = "A trace to send, instead of generated traffic." },
  groups = groups(),
  refused = flag_sections.refused "observe",
  notes = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h. blis calibrate --observe URL "
    .. "sends a workload and fits step times to the answers.",
}

--- Returns the list of requests.
local function list_of(parsed)
  if parsed.positional then return trace.read(parsed.positional, parsed.values.trace) end
  parsed.values.graphs = {}
  local given = traffic.of_flags(definition, parsed, function(...) command.talk(parsed, ...) end)
  given.seed = given.seed or parsed.values.experiment.seed
  given.horizon_us = given.horizon_us or parsed.values.experiment.horizon_us
  return workload.new(given)
end

local function latency_line(name, values)
  if not values or values.count == 0 then return ("  %-4s      -"):format(name) end
  return ("  %-4s %10.2f %10.2f %10.2f %10.2f %10.2f"):format(name, values.mean, values.p50,
    values.p90, values.p99, values.max)
end

--- Returns the summary as text.
local function summary_of(observed, result)
  local accuracy, lines = observed:accuracy(), {}
  local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
  add("endpoint    %s", observed.values.target)
  add("requests    %s sent = %s completed + %s failed%s", format.count(accuracy.sent),
    format.count(result.completed), format.count(accuracy.sent - result.completed),
    observed.seen.was_interrupted and " (interrupted)" or "")
  if accuracy.planned_rate then
    add("rate        %.3f requests/s planned, %.3f sent (%+.2f%%)", accuracy.planned_rate,
      accuracy.sent_rate, 100 * (accuracy.sent_rate / accuracy.planned_rate - 1))
  end
  add("send delay  %.3f ms p50, %.3f ms p99, %.3f ms max", accuracy.delay_p50_us / 1000,
    accuracy.delay_p99_us / 1000, accuracy.delay_max_us / 1000)
  add("throughput  %.2f requests/s, %.1f output tokens/s over %.2f s", result.requests_per_sec,
    result.tokens_per_sec, result.duration_us / 1e6)
  add("KV cache    %.1f%% of the prompt tokens were cached, as the server reports",
    100 * result.cache_hit_rate)
  add ""
  add("  ms   %10s %10s %10s %10s %10s", "mean", "p50", "p90", "p99", "max")
  for _, one in ipairs { { "TTFT", "ttft_ms" }, { "ITL", "itl_ms" }, { "E2E", "e2e_ms" } } do
    lines[#lines + 1] = latency_line(one[1], result[one[2]])
  end
  for i, problem in ipairs(observed:problems()) do
    if i == 1 then add "\nproblems" end
    if i <= 5 then add("%6d  %s", problem.count, problem.text) end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function write(observed, result)
  local values = observed.values
  if values.output then observed:write_trace(values.output) end
  if values.itl_output then observed:write_events(values.itl_output) end
  if values.save then result:save(values.save) end
  if values.report then page.write(values.report, result, { result = result }) end
end

--- Returns the exit status: 1 if the measurement is not one of the endpoint.
local function status_of(observed, result)
  local accuracy = observed:accuracy()
  local values = observed.values
  if result.completed == 0 then
    command.say("observe: no request completed")
    return 1
  end
  if accuracy.delay_p99_us > values.max_send_delay_us then
    command.say(("observe: requests were sent %.1f ms late (p99), more than --max-send-delay, %.1f "
      .. "ms: this machine is too slow or too busy, and the latencies contain its delays"):format(
        accuracy.delay_p99_us / 1000, values.max_send_delay_us / 1000))
    return 1
  end
  if observed.seen.was_interrupted then return 130 end
  return 0
end

return command.define(definition, function(parsed)
  command.checked(definition, outputs.check, definition, parsed)
  return command.checked(definition, function()
    if not parsed.values.observe.target then flags.fail(definition, "--target is missing") end
    local observed = observe.send(list_of(parsed), parsed.values.observe)
    local result = observed:result()
    write(observed, result)
    command.print(summary_of(observed, result))
    return status_of(observed, result)
  end)
end)
