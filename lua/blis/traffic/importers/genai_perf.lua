--- The profile of GenAI-Perf (profile_export.json): experiments with requests, their times, and the
--- texts that were sent and received. It has no token counts, so tokens are derived from the bytes
--- of the texts, 4 per token.
local json = require "blis.json"

-- Members of a payload or of an answer with text that the model reads or writes.
local texts = { content = true, prompt = true, text_input = true, text_output = true, text = true,
  reasoning_content = true }

--- The bytes of all texts in a JSON value.
local function bytes_of(value, is_text)
  if type(value) == "string" then return is_text and #value or 0 end
  if type(value) ~= "table" then return 0 end
  local bytes = 0
  for key, member in pairs(value) do
    bytes = bytes + bytes_of(member, texts[key] or math.type(key) == "integer" and is_text)
  end
  return bytes
end

--- The JSON of a payload, which may be text; nil without any.
local function decoded(value)
  if type(value) ~= "string" then return value end
  local ok, found = pcall(json.decode, value)
  return ok and found or nil
end

local function answer_bytes(outputs)
  local bytes = 0
  for _, output in ipairs(type(outputs) == "table" and outputs or {}) do
    local text = type(output) == "table" and output.response or output
    for part in (type(text) == "string" and text or ""):gmatch "[^\n]+" do
      local found = decoded((part:gsub("^data:%s*", "")))
      bytes = bytes + (found and bytes_of(found, false) or 0)
    end
  end
  return bytes
end

local function row_of(file, request, place)
  local start = math.tointeger(request.timestamp)
  if not start then
    file:fail(nil, "%s: key 'timestamp': is missing, expected nanoseconds since 1970", place)
  end
  local inputs = type(request.request_inputs) == "table" and request.request_inputs or {}
  local payload = decoded(inputs.payload) or inputs
  local prompt = bytes_of(payload, false)
  if prompt == 0 then
    file:fail(nil, "%s: key 'request_inputs.payload': has no text, expected messages, prompt, or "
      .. "text_input", place)
  end
  local answer = answer_bytes(request.response_outputs)
  local answers = type(request.response_timestamps) == "table" and #request.response_timestamps or 0
  return {
    arrival_us = start // 1000,
    prompt_tokens = file:tokens_of_bytes(prompt),
    output_tokens = answer > 0 and file:tokens_of_bytes(answer) or answers,
  }
end

return {
  name = "genai-perf",
  summary = "JSON profile of GenAI-Perf with requests and texts; tokens are derived from bytes",
  needs = '"experiments", "requests", and "response_timestamps"',
  returns = "rows",
  recognize = function(head)
    return head:find('"experiments"', 1, true) and head:find('"requests"', 1, true)
      and head:find('"response_timestamps"', 1, true)
  end,
  read = function(file)
    local rows = {}
    local root = file:json()
    for e, experiment in ipairs(root.experiments) do
      for r, request in ipairs(experiment.requests or {}) do
        local place = ("experiments[%d].requests[%d]"):format(e - 1, r - 1)
        rows[#rows + 1] = row_of(file, request, place)
      end
    end
    return rows
  end,
}
