--- The part of a sweep that this process runs: a part of the keys. Processes must agree only on the
--- number of parts.
local errors = require "blis.errors"

local shard = {}

---@class blis.sweep.Shard
---@field index integer from 0
---@field count integer
---@field source string who said so

local function new(index, count, source, path)
  index, count = math.tointeger(tonumber(index)), math.tointeger(tonumber(count))
  if not index or not count or count < 1 or index < 0 or index >= count then
    errors.invalid("%s: expected I/N with I from 0 to N-1", path)
  end
  return { index = index, count = count, source = source }
end

--- "2/8"
---@param text string
---@param name string what gave it, for messages
---@return blis.sweep.Shard
function shard.read(text, name)
  local index, count = text:match("^(%d+)/(%d+)$")
  return new(index, count, name, ("%s: invalid value '%s'"):format(name, text))
end

-- Variables that identify the process in an array job. { index, count, first, last, step }
local engines = {
  { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP" },
  { "JOB_COMPLETION_INDEX" }, -- Kubernetes indexed jobs
  { "HQ_TASK_ID" },
  { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
  { "PMI_RANK", "PMI_SIZE" },
}

--- A variable that is set to something.
local function value_of(getenv, name)
  local text = name and getenv(name)
  return text ~= "" and text or nil
end

local function integer_of(getenv, name)
  return math.tointeger(tonumber(value_of(getenv, name)))
end

--- Some tasks of an array may be repeated, as in --array=0,3, and its first and last number do not
--- change then: an array has as many parts as there are numbers between them.
local function span_of(engine, getenv)
  local first, last = integer_of(getenv, engine[3]), integer_of(getenv, engine[4])
  if not first or not last then return nil end
  return (last - first) // math.max(integer_of(getenv, engine[5]) or 1, 1) + 1
end

local function count_of(engine, getenv)
  local count = span_of(engine, getenv) or value_of(getenv, engine[2])
  if not count then
    errors.invalid("%s is set, but the number of shards is not: set BLIS_SHARDS, or use --shard "
      .. "%s/N (0/1 for all trials)", engine[1], getenv(engine[1]))
  end
  return count
end

--- The part of a task number when BLIS_SHARDS sets the count: each number means the same part,
--- whichever tasks run at the same time.
local function of_many(engine, number, count, getenv)
  local step = math.max(integer_of(getenv, engine[5]) or 1, 1)
  local parts = math.tointeger(tonumber(count))
  local index = engine[3] and parts and parts >= 1 and number // step % parts or number
  return new(index, count, engine[1], ("%s: invalid value %d/%s"):format(engine[1], number, count))
end

--- The shard that the environment variables describe, or nil.
---@param getenv? fun(name: string): string? os.getenv
---@return blis.sweep.Shard?
function shard.from_environment(getenv)
  getenv = getenv or os.getenv
  local text = value_of(getenv, "BLIS_SHARD")
  if text then return shard.read(text, "BLIS_SHARD") end
  for _, engine in ipairs(engines) do
    local given = value_of(getenv, engine[1])
    if given then
      local number = integer_of(getenv, engine[1])
      if not number then
        errors.invalid("%s: invalid value '%s': expected an integer; set --shard I/N to override "
          .. "the environment", engine[1], given)
      end
      local told = value_of(getenv, "BLIS_SHARDS")
      if told then return of_many(engine, number, told, getenv) end
      local first, step = integer_of(getenv, engine[3]) or 0, integer_of(getenv, engine[5]) or 1
      local count = count_of(engine, getenv)
      return new((number - first) // math.max(step, 1), count, engine[1],
        ("%s: invalid value %s/%s"):format(engine[1], given, count))
    end
  end
end

--- True when a trial is this shard's.
---@param self blis.sweep.Shard
---@param key string
---@return boolean
function shard.has(self, key)
  return tonumber(key:sub(1, 12), 16) % self.count == self.index
end

return shard
