--- The protocol of `blis serve --stdio`: JSON lines, several requests open at a time, an answer for
--- each in any order.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local describe = require "blis.serve.describe"
local errors = require "blis.errors"
local experiments = require "blis.serve.experiments"
local jobs = require "blis.serve.jobs"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local request = require "blis.serve.request"
local sorted = require "blis.sorted"

local stdio = {}

local methods = {}

--- A name for an id, so that 7 and "7" are two.
local function key_of(id) return math.type(id) and ("%s"):format(id) or "s" .. tostring(id) end

local function fail(self, id, code, message, where)
  self.write(json.encode(answer.failed(id, answer.error(code, message, where))))
end

--- The means of the seeds that are done.
local function interim_of(job)
  local runs, object = {}, {}
  for _, outcome in pairs(job.outcomes) do runs[#runs + 1] = outcome.measures end
  for _, metric in ipairs(job.evaluation.objectives) do
    object[metric.name] = metrics.mean(metric, runs) or json.null
  end
  return object
end

--- The line of an answer; a string result is already encoded.
local function line_of(id, result)
  if type(result) == "string" then
    return ('{"id":%s,"ok":true,"result":%s}'):format(json.encode(id), result)
  end
  return json.encode(json.object("id", id, "ok", true, "result", result))
end

--- Starts an evaluation whose answers have an id; is_over is called when it is answered.
---@param read fun(): blis.serve.Evaluation raises what is wrong with it
---@param outline blis.serve.Outline
local function start(self, id, read, outline, wants_progress, is_over)
  local key = key_of(id)
  if self.open[key] then
    fail(self, id, "duplicate_id", "a request with this id is still in progress")
    return is_over()
  end
  local function finish(result, problem)
    self.open[key] = nil
    self.write(result and line_of(id, result) or json.encode(answer.failed(id, problem)))
    is_over()
  end
  local function progress(job, done)
    self.write(json.encode(json.object("id", id, "progress", json.object("done", done,
      "interim", interim_of(job)))))
  end
  self.open[key] = jobs.add(self.work, read, outline, finish,
    wants_progress and progress or nil)
  if not self.open[key] then
    fail(self, id, "busy", ("%d evaluations or %d bytes of requests are in progress, "
      .. "the maximum"):format(jobs.most_waiting, jobs.most_bytes))
    is_over()
  end
end

local function nothing() end

function methods.evaluate(self, id, message, text)
  -- A string takes less memory than the decoded value.
  start(self, id, function() return request.read(json.decode(text).params, self.known) end,
    request.outline(message.params, self.known), message.progress == true, nothing)
end

for _, name in ipairs { "run", "compare" } do
  methods[name] = function(self, id, message, text)
    start(self, id, function() return experiments.read(name, json.decode(text).params) end,
      experiments.outline(name, message.params), false, nothing)
  end
end

function methods.evaluate_batch(self, id, message)
  local items = type(message.params) == "table" and message.params.items or message.items
  if type(items) ~= "table" or (#items == 0 and next(items) ~= nil) then
    return fail(self, id, "invalid_params", ("items is %s, expected a list"):format(
      errors.show(items)))
  end
  local missing = #items
  local batch = { ids = {} }
  self.batches[key_of(id)] = batch
  local function done()
    self.batches[key_of(id)] = nil
    self.write(json.encode(json.object("id", id, "ok", true, "done", #items)))
  end
  if missing == 0 then return done() end
  for i, item in ipairs(items) do
    local own = ("%s/%d"):format(id, i - 1)
    batch.ids[i] = own
    local function read() return request.read(item, self.known) end
    start(self, own, read, request.outline(item, self.known), message.progress == true, function()
      missing = missing - 1
      if missing == 0 then done() end
    end)
  end
end

function methods.cancel(self, id, message)
  local params = type(message.params) == "table" and message.params or message
  local target = params.target
  local batch, job = self.batches[key_of(target)], self.open[key_of(target)]
  for _, own in ipairs(batch and batch.ids or {}) do
    local one = self.open[key_of(own)]
    if one then jobs.cancel(self.work, one) end
  end
  if job then jobs.cancel(self.work, job) end
  self.write(json.encode(json.object("id", id, "ok", true, "result",
    json.object("cancelled", job ~= nil or batch ~= nil))))
end

function methods.describe(self, id)
  self.write(json.encode(json.object("id", id, "ok", true, "result", describe.all(self.known))))
end

local members = { "id", "method", "params", "items", "progress", "jsonrpc" }

--- What is wrong with the members of a message; nil when nothing is.
local function unknown_member(message)
  local is_known = {}
  for _, name in ipairs(members) do is_known[name] = true end
  for _, name in ipairs(sorted.names(message)) do
    if not is_known[name] then
      return ("unknown member '%s'%s"):format(name, errors.suggestion(name, members))
    end
  end
end

local function is_id(value) return type(value) == "string" or math.type(value) ~= nil end

local function handle(self, message, text)
  local id = message.id
  if not is_id(id) then
    return fail(self, json.null, "invalid_request", "id is missing, expected a string or a number")
  end
  if self.open[key_of(id)] or self.batches[key_of(id)] then
    return fail(self, id, "duplicate_id", "a request with this id is still in progress")
  end
  local unknown = unknown_member(message)
  if unknown then return fail(self, id, "invalid_request", unknown) end
  local method = methods[message.method]
  if type(message.method) ~= "string" then
    return fail(self, id, "invalid_request", "method is missing")
  elseif not method then
    return fail(self, id, "unknown_method", ("unknown method '%s'; there are evaluate, "
      .. "evaluate_batch, run, compare, cancel and describe"):format(message.method))
  end
  method(self, id, message, text)
end

--- The ID of an invalid JSON line: its first number, so that the client does not wait without an
--- answer.
local function id_at_start(text)
  return math.tointeger(tonumber(text:match '^%s*{%s*"id"%s*:%s*(%d+)%s*,')) or json.null
end

local function read_line(self, text)
  if not text then
    return fail(self, json.null, "too_large", "the line has more than 67108864 bytes")
  elseif text:match "^%s*$" then
    return
  end
  local ok, message = pcall(json.decode, text)
  if not ok then
    local problem = tostring(message):gsub("^JSON:1: ", "")
    return fail(self, id_at_start(text), "parse_error", problem)
  elseif type(message) ~= "table" or message[1] ~= nil then
    return fail(self, json.null, "invalid_request", "expected an object")
  end
  handle(self, message, text)
end

--- A session; says that it is ready.
---@param known table of request.scenarios
---@param count integer
---@return fun(work: blis.serve.Jobs, write: fun(line: string)): blis.serve.Session
function stdio.opener(known, count)
  return function(work, write)
    local self = { work = work, write = write, known = known, open = {}, batches = {} }
    write(json.encode(json.object("ready", true, "protocol", 1, "version", core._VERSION,
      "capabilities", { "evaluate", "run", "compare", "cancel", "progress",
        "describe" }, "workers", count)))
    return {
      line = function(text) read_line(self, text) end,
      stop = function()
        local open = {}
        for _, job in pairs(self.open) do open[#open + 1] = job end
        table.sort(open, function(a, b) return a.order < b.order end)
        for _, job in ipairs(open) do jobs.cancel(work, job) end
      end,
    }
  end
end

return stdio
