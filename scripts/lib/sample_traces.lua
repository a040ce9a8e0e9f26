--- Writes the traces of examples and tests that have the forms of public traces. All numbers are
--- drawn here: no row is from another data set.
---   blis scripts/lib/sample_traces.lua            writes the files
---   blis scripts/lib/sample_traces.lua --check    writes nothing; status 1 if a file differs
local blis = require "blis"

local BLOCK_TOKENS = 512

--- A length between two bounds, with a long tail.
local function length(rng, typical, spread, least, most)
  local value = math.floor(typical * math.exp(spread * rng:normal(0, 1)) + 0.5)
  return math.max(least, math.min(most, value))
end

--- Conversations in the form of Mooncake: every prompt begins with one shared block, and a later
--- turn with the prompt of an earlier one. Times are in ms: eight requests every 3 s.
local function mooncake(seed, requests)
  local rng = blis.rng(seed, "mooncake")
  local lines, ended, next_block = {}, {}, 1
  for i = 1, requests do
    local is_later = #ended > 0 and rng:number() < 0.3
    local earlier = is_later and table.remove(ended, rng:integer(1, #ended))
    local tokens = length(rng, 6000, 1.0, 600, 40000)
    local blocks = earlier and { table.unpack(earlier) } or { 0 }
    local input = earlier and #earlier * BLOCK_TOKENS + length(rng, 900, 0.8, 30, 8000) or tokens
    while #blocks * BLOCK_TOKENS < input do
      blocks[#blocks + 1] = next_block
      next_block = next_block + 1
    end
    lines[i] = ('{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [%s]}')
      :format(3000 * ((i - 1) // 8), input, length(rng, 300, 0.7, 1, 1200),
        table.concat(blocks, ", "))
    table.remove(blocks) -- the last block of a prompt is rarely full
    if #blocks > 0 then ended[#ended + 1] = blocks end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Requests in the form of the Azure traces of 2023, with seven digits of a second and the line
--- ends of Windows.
local function azure(seed, requests)
  local rng = blis.rng(seed, "azure")
  local lines, seconds = { "TIMESTAMP,ContextTokens,GeneratedTokens" }, 46.5
  for i = 1, requests do
    lines[i + 1] = ("2023-11-16 18:%02d:%010.7f,%d,%d"):format(15 + seconds // 60, seconds % 60,
      length(rng, 400, 1.2, 20, 4000), length(rng, 100, 0.6, 8, 400))
    seconds = seconds + rng:exponential(0.6)
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

--- Requests of an engine with step times that are known: 9 ms, 33 us per prompt token, 30 us per
--- request, 0.11 us per token in its KV cache, and 2 % of noise. One step computes at most 2,048
--- tokens; 128 requests run at a time.
local function measured(seed, requests)
  local rng = blis.rng(seed, "measured")
  local rows, time = {}, 0
  for i = 1, requests do
    time = time + (i > 1 and rng:exponential(0.1) or 0)
    rows[i] = { prompt = length(rng, 250, 1.1, 8, 6000), output = length(rng, 220, 0.8, 4, 1200),
      queued = time, computed = 0, made = 0 }
  end
  local now, next_row, running, waiting = 0, 1, {}, {}
  --- Adds what has arrived; returns the tokens of a step, and how many are of prompts.
  local function compose()
    while rows[next_row] and rows[next_row].queued <= now do
      waiting[#waiting + 1] = rows[next_row]
      next_row = next_row + 1
    end
    while waiting[1] and #running < 128 do
      local row = table.remove(waiting, 1)
      row.scheduled = row.scheduled or now
      running[#running + 1] = row
    end
    local budget, prompt_tokens, kv_tokens = 2048, 0, 0
    for _, row in ipairs(running) do
      row.chunk = 0
      if row.computed == row.prompt then budget = budget - 1 end
      kv_tokens = kv_tokens + row.computed + row.made
    end
    for _, row in ipairs(running) do
      row.chunk = math.max(0, math.min(budget, row.prompt - row.computed))
      budget, prompt_tokens = budget - row.chunk, prompt_tokens + row.chunk
    end
    return prompt_tokens, kv_tokens
  end
  local function finish()
    local left = {}
    for _, row in ipairs(running) do
      local was_computed = row.computed == row.prompt
      row.computed = row.computed + row.chunk
      if row.computed == row.prompt and (was_computed or row.chunk > 0) then
        row.made = row.made + 1
        row.first = row.first or now
      end
      if row.made == row.output then row.last = now else left[#left + 1] = row end
    end
    running = left
  end
  while rows[next_row] or #running > 0 or #waiting > 0 do
    local prompt_tokens, kv_tokens = compose()
    if #running == 0 then
      now = rows[next_row].queued
    else
      now = now + (0.009 + 33e-6 * prompt_tokens + 30e-6 * #running + 0.11e-6 * kv_tokens)
        * (1 + 0.02 * rng:normal(0, 1))
      finish()
    end
  end
  local lines = { "request,prompt_tokens,output_tokens,arrival_s,queued_s,scheduled_s,"
    .. "first_token_s,last_token_s" }
  for i, row in ipairs(rows) do
    lines[i + 1] = ("%d,%d,%d,%.6f,%.6f,%.6f,%.6f,%.6f"):format(i - 1, row.prompt, row.output,
      row.queued, row.queued, row.scheduled, row.first, row.last)
  end
  return table.concat(lines, "\n") .. "\n"
end

local files = {
  ["tests/data/measured/llama-3.1-8b.csv"] = measured(4, 300),
  ["examples/data/mooncake_sample.jsonl"] = mooncake(1, 200),
  ["tests/data/mooncake.jsonl"] = mooncake(2, 30),
  ["tests/data/azure_2023.csv"] = azure(3, 40),
}

local is_check, differs = arg[1] == "--check", false
for path, text in pairs(files) do
  if is_check then
    local file <close> = assert(io.open(path, "rb"))
    if file:read "a" ~= text then
      io.stderr:write(path, ": differs from scripts/lib/sample_traces.lua\n")
      differs = true
    end
  else
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end
end
os.exit(not differs)
