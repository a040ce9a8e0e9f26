--- A corpus of coding agents as Weka's are, made up from a seed.
local core = require "blis.core"

local corpus = {}

local block_tokens = 64

--- { "t":, ... } of a leaf request whose prompt is the ids and half a block.
local function leaf(call)
  return ('{"t":%.3f,"type":"%s","model":"m","in":%d,"out":%d,"hash_ids":[%s],"api_time":%.3f,'
    .. '"stop":"%s"}'):format(call.t, call.type, #call.ids * block_tokens + 32, call.out,
    table.concat(call.ids, ","), call.api_s, call.stop)
end

--- Appends ids that no request has had.
local function grow(state, ids, count)
  for _ = 1, count do
    state.next_id = state.next_id + 1
    ids[#ids + 1] = state.next_id
  end
end

--- Calls of one context, each with some blocks more, from t on; returns them and when they ended.
local function calls_of(rng, state, ids, count, t, type)
  local list = {}
  for i = 1, count do
    local api_s = rng:integer(500, 4000) / 1000
    list[i] = leaf { t = t, type = type, ids = ids, out = rng:integer(10, 200), api_s = api_s,
      stop = i < count and "tool_use" or "end_turn" }
    grow(state, ids, rng:integer(1, 4))
    t = t + api_s + rng:integer(50, 2000) / 1000
  end
  return list, t
end

--- A line of at least one request.
local function conversation(rng, number, requests)
  local state, ids = { next_id = 0 }, {}
  grow(state, ids, rng:integer(5, 40))
  local helpers = requests >= 8 and rng:integer(0, 3) or 0
  local own = requests - helpers
  local before = own > 1 and rng:integer(1, own - 1) or own
  local list, t = calls_of(rng, state, ids, before, 0, "s")
  if helpers > 0 then
    local apart = {}
    grow(state, apart, 10)
    local nested, ended = calls_of(rng, state, apart, helpers, t, "n")
    list[#list + 1] = ('{"t":%.3f,"type":"subagent","agent_id":"a","requests":[%s]}'):format(t,
      table.concat(nested, ","))
    t = ended
  end
  local rest = calls_of(rng, state, ids, own - before, t, "s")
  table.move(rest, 1, #rest, #list + 1, list)
  return ('{"id":"c%d","models":["m"],"block_size":%d,"hash_id_scope":"local","requests":[%s]}\n')
    :format(number, block_tokens, table.concat(list, ","))
end

--- Writes conversations with about so many requests each, until there are requests of them.
---@param path string
---@param requests integer
---@param each integer
---@param seed? integer
---@return integer conversations
function corpus.write(path, requests, each, seed)
  local rng = core.rng(seed or 1, "corpus")
  local file <close> = assert(io.open(path, "w"))
  local number = 0
  while requests > 0 do
    number = number + 1
    local count = math.min(requests, rng:integer(math.max(1, each // 2), each + each // 2))
    file:write(conversation(rng, number, count))
    requests = requests - count
  end
  return number
end

return corpus
