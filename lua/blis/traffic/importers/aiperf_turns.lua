--- Sessions of AIPerf (multi_turn): a session per line with its turns, each with new text and the
--- delay after the answer before it. AIPerf leaves the length of answers to the server, so a file
--- for a simulation needs output_length.
local texts = { "text_input", "text", "texts", "messages" }

local function prompt_of(file, turn, line, place)
  if turn.input_length ~= nil then return file:tokens(turn, "input_length", line) end
  for _, key in ipairs(texts) do
    local tokens = turn[key] ~= nil and file:text_tokens(turn, key, line) or 0
    if tokens > 0 then return tokens end
  end
  file:fail(line, "key '%s': has neither a text nor 'input_length'", place)
end

local function output_of(file, turn, line, place)
  local output = file:tokens(turn, "output_length", line, -1)
  if output < 0 then output = file:tokens(turn, "max_tokens", line, -1) end
  if output < 0 then
    file:fail(line, "key '%s.output_length': is missing; AIPerf leaves it to the server, a "
      .. "simulation needs the tokens of the answer", place)
  end
  return output
end

local function request_of(file, turn, line, i)
  local place = ("turns[%d]"):format(i - 1)
  if type(turn) ~= "table" then file:fail(line, "key '%s': is not an object", place) end
  local request = { prompt_tokens = prompt_of(file, turn, line, place),
    output_tokens = output_of(file, turn, line, place) }
  if i > 1 then
    request.delay_us, request.after = file:time_us(turn, "delay", line, 1000), i - 1
  end
  return request
end

local function graph_of(file, session, line)
  if type(session.turns) ~= "table" then
    file:fail(line, "key 'turns': is missing, expected a list of turns")
  end
  local graph = { name = file:name(session, "session_id", line) }
  for i, turn in ipairs(session.turns) do graph[i] = request_of(file, turn, line, i) end
  if #graph == 0 then file:fail(line, "key 'turns': is empty, expected at least one turn") end
  graph.start_us = file:time_us(session.turns[1], "timestamp", line, 1000)
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
    local next_session = file:objects()
    return function()
      local session, line = next_session()
      if line then return graph_of(file, session, line) end
    end
  end,
}
