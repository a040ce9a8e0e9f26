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

local files = {
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
