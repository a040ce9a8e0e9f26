--- The records of AIPerf (profile_export.jsonl): a request per line with its times and lengths.
--- Requests that failed and those of the warm-up are omitted.
local function length_of(file, record, name, line)
  local metric = record.metrics[name]
  local value = type(metric) == "table" and metric.value or metric
  local whole = math.tointeger(value)
  if not whole or whole < 0 then
    file:fail(line, "key 'metrics.%s': a whole number is missing, expected {\"value\": TOKENS}",
      name)
  end
  return whole
end

local function row_of(file, record, line)
  local about = record.metadata
  local start = type(about) == "table" and math.tointeger(about.request_start_ns)
  if not start then
    file:fail(line, "key 'metadata.request_start_ns': is missing, expected nanoseconds since 1970")
  end
  local has_failed = record.error ~= nil and record.error ~= file.null
  if has_failed or about.benchmark_phase == "warmup" then return nil end
  if type(record.metrics) ~= "table" then file:fail(line, "key 'metrics': is missing") end
  local session = about.conversation_id or about.x_correlation_id
  return {
    arrival_us = start // 1000,
    prompt_tokens = length_of(file, record, "input_sequence_length", line),
    output_tokens = length_of(file, record, "output_sequence_length", line),
    session = type(session) == "string" and session or nil,
    round_index = math.tointeger(about.turn_index),
  }
end

return {
  name = "aiperf-records",
  summary = "JSONL records of AIPerf with metadata and metrics of each request",
  needs = '"request_start_ns" and "input_sequence_length"',
  returns = "rows",
  recognize = function(head)
    return head:find('"request_start_ns"', 1, true)
      and head:find('"input_sequence_length"', 1, true)
  end,
  read = function(file)
    local next_record = file:json_lines()
    return function()
      for record, line in next_record do
        if type(record) ~= "table" then file:fail(line, "expected an object for each record") end
        local row = row_of(file, record, line)
        if row then return row end
      end
    end
  end,
}
