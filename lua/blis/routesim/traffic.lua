--- The traffic generator of RouteSim: requests at even distances, lengths within a deviation of
--- their means, some of the prompt one of a few prefixes.
local core = require "blis.core"
local errors = require "blis.errors"
local format = require "blis.format"
local trace = require "blis.traffic.trace"

local traffic = {}

local function whole(name, default, min, doc, flag)
  return { name = name, type = "integer", min = min, max = 1000000000, default = default,
    unit = "tokens", flag = flag, doc = doc }
end

---@type blis.Section
traffic.section = {
  name = "synthetic",
  summary = "Traffic as RouteSim generates it.",
  options = {
    { name = "generator", type = "choice", choices = { "uniform" }, default = "uniform",
      doc = "How: lengths are uniform within a standard deviation of their means." },
    { name = "rate", type = "number", above = 0, max = 1e6, default = 100, unit = "requests/s",
      flag = "--rate", doc = "Requests per second, at even distances." },
    { name = "duration_sec", type = "number", above = 0, max = 1e7, default = 300, unit = "s",
      bare_unit = "s", flag = "--duration",
      doc = "How long they come. A number without unit is in seconds." },
    whole("prompt_tokens_mean", 500, 1, "Mean prompt.", "--prompt-mean"),
    whole("prompt_tokens_std", 200, 0, "How far prompts are from it at most.", "--prompt-std"),
    whole("gen_tokens_mean", 150, 1, "Mean output.", "--gen-mean"),
    whole("gen_tokens_std", 50, 0, "How far outputs are from it at most.", "--gen-std"),
    { name = "num_prefixes", type = "integer", min = 0, max = 1000000000, default = 10,
      flag = "--num-prefixes", doc = "Prefixes that prompts begin with; 0 = none." },
    whole("prefix_len_mean", 256, 1, "Tokens of a prefix.", "--prefix-len-mean"),
  },
}

--- Within std of mean, and 1 at least.
local function draw(rng, mean, std)
  if std == 0 then return mean end
  return rng:integer(math.max(1, mean - std), math.max(1, mean + std - 1))
end

local most_requests = 10000000

local function count_of(options) return options.rate * options.duration_sec + 1e-9 end

--- Raises without requests, or with more requests than fit into memory.
---@param options table of traffic.section
---@param place string where they stand
function traffic.check(options, place)
  local count = count_of(options)
  if count < 1 or count >= most_requests + 1 then
    errors.invalid("%s: %.10g requests/s for %.10g s are %.10g requests, expected 1 to %s", place,
      options.rate, options.duration_sec, options.rate * options.duration_sec,
      format.count(most_requests))
  end
end

--- Generated requests as lines of RouteSim's compact format.
---@param options table of traffic.section, checked
---@param seed integer
---@return string
function traffic.lines(options, seed)
  local rng, lines = core.rng(seed, "routesim traffic"), {}
  for i = 1, math.floor(count_of(options)) do
    local prompt = draw(rng, options.prompt_tokens_mean, options.prompt_tokens_std)
    local output = draw(rng, options.gen_tokens_mean, options.gen_tokens_std)
    local prefix = ""
    if options.num_prefixes > 0 then
      prefix = (',"prefix_hash":%d,"prefix_len":%d'):format(rng:integer(1, options.num_prefixes),
        math.min(options.prefix_len_mean, prompt))
    end
    lines[i] = ('{"ts":%d,"prompt_tokens":%d,"gen_tokens":%d%s}\n'):format(
      (i - 1) * 1000 // options.rate, prompt, output, prefix)
  end
  return table.concat(lines)
end

--- The same as a list of requests.
---@param options table
---@param seed integer
---@return blis.Workload
function traffic.requests(options, seed)
  local path, lines = os.tmpname(), traffic.lines(options, seed)
  local file <close> = assert(io.open(path, "w"))
  file:write(lines)
  file:close()
  local ok, requests = pcall(trace.read, path)
  os.remove(path)
  if not ok then error(requests, 0) end
  return requests
end

return traffic
