--- Sessions of AIPerf (multi_turn): a session per line with its turns, each with new text and the
--- delay after the answer before it. AIPerf leaves the length of answers to the server, so a file
--- for a simulation needs output_length.
local function bytes_of(value)
  if type(value) == "string" then return #value end
  local bytes = 0
  for _, item in pairs(type(value) == "table" and value or {}) do
    bytes = bytes + bytes_of(type(item) == "table" and (item.content or item.contents or item.text)
      or item)
  end
  return bytes
end

local function tokens_of(file, turn, line, place)
  local length = math.tointeger(turn.input_length)
  if length then return length end
  local bytes = bytes_of(turn.text_input or turn.text or turn.texts or turn.messages)
  if bytes == 0 then
    file:fail(line, "key '%s': has neither a text nor 'input_length'", place)
  end
  return file:tokens_of_bytes(bytes)
end

local function request_of(file, turn, line, i)
  local place = ("turns[%d]"):format(i - 1)
  if type(turn) ~= "table" then file:fail(line, "key '%s': is not an object", place) end
  local output = math.tointeger(turn.output_length or turn.max_tokens)
  if not output then
    file:fail(line, "key '%s.output_length': is missing; AIPerf leaves it to the server, a "
      .. "simulation needs the tokens of the answer", place)
  end
  local delay = tonumber(turn.delay) or 0
  return { prompt_tokens = tokens_of(file, turn, line, place), output_tokens = output,
    delay_us = i > 1 and math.tointeger(delay * 1000 // 1) or nil,
    after = i > 1 and { i - 1 } or nil, extends = i > 1 and i - 1 or nil }
end

local function graph_of(file, session, line)
  if type(session) ~= "table" or type(session.turns) ~= "table" then
    file:fail(line, "key 'turns': is missing, expected a list of turns")
  end
  local name = session.session_id
  local graph = { name = name ~= nil and name ~= file.null and tostring(name) or nil }
  for i, turn in ipairs(session.turns) do graph[i] = request_of(file, turn, line, i) end
  if #graph == 0 then file:fail(line, "key 'turns': is empty, expected at least one turn") end
  local start = tonumber(session.turns[1].timestamp)
  graph.start_us = start and math.tointeger(start * 1000 // 1) or nil
  return graph
end

return {
  name = "aiperf-turns",
  summary = "JSONL sessions of AIPerf with turns of text or input_length, and output_length",
  needs = '"turns" with "output_length", "text", or "texts"',
  returns = "graphs",
  recognize = function(head)
    return head:find '^{.-"turns"%s*:%s*%['
      and (head:find('"text', 1, true) or head:find('"output_length"', 1, true))
  end,
  read = function(file)
    local next_session = file:json_lines()
    return function()
      local session, line = next_session()
      if line then return graph_of(file, session, line) end
    end
  end,
}
