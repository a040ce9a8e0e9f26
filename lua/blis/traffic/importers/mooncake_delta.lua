--- Conversations with one turn and its new content per line (mooncake_trace of AIPerf). The rows of
--- a session_id are its turns, in file order. A prompt consists of the previous prompt, its
--- response, and input_length new tokens. The first turn arrives at timestamp (ms); each later turn
--- arrives delay (ms) after the end of the previous turn. With a timestamp and no delay, the delay
--- is the difference of the timestamps. A row without session_id is a separate conversation. Tokens
--- without input_length are derived from the bytes of text_input, text, texts, or messages.
---
--- Each hash id represents 512 new tokens and is shared by the whole file. Only the ids of first
--- turns matter, because a prompt that contains a response is unique.
local texts = { "text_input", "text", "texts", "messages" }

local known = { session_id = 1, timestamp = 1, delay = 1, delay_ms = 1, hash_ids = 1,
  input_length = 1, output_length = 1, text_input = 1, text = 1, texts = 1, messages = 1 }

local function prompt_of(file, row, line)
  if row.input_length == nil then
    for _, key in ipairs(texts) do
      if row[key] ~= nil and row[key] ~= file.null then
        file:count "requests whose tokens were worked out of bytes"
        return file:text_tokens(row, key, line)
      end
    end
  end
  return file:tokens(row, "input_length", line)
end

--- Tokens of a hash id: the option, or 512.
local function block_of(file)
  local tokens = file.options.hash_block_tokens or 0
  return tokens > 0 and tokens or 512
end

--- Checks the hash ids of a row and returns those of the full blocks of its prompt.
local function ids_of(file, row, line, prompt)
  local ids = file:hash_ids(row, "hash_ids", line)
  if not ids then return nil end
  local full = prompt // block_of(file)
  if #ids > full + 1 then
    file:count "requests with more hash ids than tokens, whose last ids are ignored"
  end
  for i = #ids, full + 1, -1 do ids[i] = nil end
  return ids
end

--- The delay of a later turn. session.last_us is the last timestamp of the session.
local function delay_of(file, row, line, session, time_us)
  local delay_us = file:time_us(row, "delay", line, 1000)
  local other_us = file:time_us(row, "delay_ms", line, 1000)
  if delay_us and other_us and delay_us ~= other_us then
    file:fail(line, "key 'delay_ms': %s is not what 'delay' says, expected one of them, or the "
      .. "same in both", row.delay_ms)
  end
  if time_us and session.last_us and time_us < session.last_us then
    file:fail(line, "key 'timestamp': %s is before that of an earlier turn of its session",
      row.timestamp)
  end
  local gap_us = time_us and session.last_us and time_us - session.last_us
  session.last_us = time_us or session.last_us
  delay_us = delay_us or other_us or gap_us or 0
  local cap_us = file.options.delay_cap_us or 0
  return cap_us > 0 and math.min(delay_us, cap_us) or delay_us
end

--- The prompt of a turn contains the session up to this turn, which has a limit.
local function check_length(file, line, session, prompt, output)
  local context = session.tokens + prompt
  if context > file.max_tokens then
    file:fail(line, "the prompt with what it extends has %d tokens; at most %d are allowed",
      context, file.max_tokens)
  end
  session.tokens = context + output
end

--- Adds the turn of a row to its session, which is a graph.
local function add_turn(file, sessions, row, line)
  file:see(row, known)
  local name = file:name(row, "session_id", line)
  local prompt, output = prompt_of(file, row, line), file:tokens(row, "output_length", line)
  local ids = ids_of(file, row, line, prompt)
  local time_us = file:time_us(row, "timestamp", line, 1000)
  local session = name and sessions.by_name[name]
  if not session then
    session = { graph = { name = name or "line_" .. line, start_us = time_us }, tokens = 0 }
    sessions[#sessions + 1] = session
    if name then sessions.by_name[name] = session end
  end
  local delay_us = delay_of(file, row, line, session, time_us)
  check_length(file, line, session, prompt, output)
  local graph = session.graph
  if #graph > 0 then
    graph[#graph + 1] = { prompt_tokens = prompt, output_tokens = output, after = #graph,
      delay_us = delay_us }
  else
    graph[1] = { prompt_tokens = prompt, output_tokens = output, hash_ids = ids,
      hash_block_tokens = ids and block_of(file) }
  end
end

local function read(file)
  local sessions = { by_name = {} }
  for row, line in file:objects() do add_turn(file, sessions, row, line) end
  local i = 0
  return function()
    i = i + 1
    return sessions[i] and sessions[i].graph
  end
end

local function recognize(head)
  local function has(...)
    for _, word in ipairs { ... } do
      if not head:find('"' .. word .. '"', 1, true) then return false end
    end
    return true
  end
  local has_text = has "text_input" or has("text", "output_length") or has("texts", "output_length")
    or has("messages", "output_length")
  return has("session_id", "input_length", "delay") or has("session_id", "input_length", "delay_ms")
    or has_text and head:sub(1, 1) == "{" and not has "turns" -- a session per row: aiperf-turns
end

return {
  name = "mooncake-delta",
  summary = "JSONL of turns with session_id, delay, and the new tokens of each as input_length",
  needs = '"session_id", "input_length", and "delay"; or a text with "output_length"',
  returns = "graphs",
  recognize = recognize,
  read = read,
}
