-- A corpus of coding agents, made up and replayed: what it takes, which is only told.
--   build/blis tests/workload/graph/replay_corpus.lua [REQUESTS [REQUESTS_PER_CONVERSATION]]
local folder = arg[0]:match "^(.*)/tests/" or "."
package.path = folder .. "/?.lua;" .. package.path

local blis = require "blis"
local corpus = require "spec.support.corpus"

local requests = tonumber(arg[1]) or 100000
local each = tonumber(arg[2]) or 25

--- The most memory that the program has had, in MB; nil where nobody tells.
local function most_memory()
  local file = io.open "/proc/self/status"
  local text = file and file:read "a" or ""
  if file then file:close() end
  local kb = text:match "VmHWM:%s*(%d+)"
  return kb and kb // 1024
end

local path = os.tmpname()
local conversations = corpus.write(path, requests, each)
local before = most_memory()
local started = os.clock()
local result = blis.run {
  cluster = { instances = 16 },
  workload = { graphs = path, concurrency = 64, timeout_us = 0 },
  routing = "least-loaded",
  keep_records = false,
}
local seconds = os.clock() - started
os.remove(path)
local tasks = result.tasks
print(("# %d of %d cases: %d conversations in %.2f s, at most %s MB (%s MB before)"):format(
  result.completed, requests, conversations, seconds, most_memory() or "?", before or "?"))
os.exit(result.completed == requests and tasks.completed == conversations)
