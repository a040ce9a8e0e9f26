--- How many processors a program may use that makes workers: those that it may run on, and no more
--- than a scheduler of jobs or a container gives it, which processes do not feel but are slowed by.
local core = require "blis.core"

local processors = {}

local function read_line(path)
  local file <close> = io.open(path, "r")
  return file and file:read "l" or nil
end

--- "200000 100000" of cgroup v2, time in us per period, as whole processors; nil without a limit.
local function quota_of(line)
  local quota, period = (line or ""):match "^(%d+) (%d+)$"
  if not quota or tonumber(period) == 0 then return nil end
  return math.max(1, tonumber(quota) // tonumber(period))
end

--- The least quota of the control group and those around it.
local function quota(read)
  local group = (read "/proc/self/cgroup" or ""):match "^0::(/.*)$"
  local least
  while group do
    local found = quota_of(read("/sys/fs/cgroup" .. group:gsub("/$", "") .. "/cpu.max"))
    least = found and math.min(least or found, found) or least
    group = group ~= "/" and (group:match "^(/.*)/[^/]*$" or "/") or nil
  end
  return least
end

--- The number of processors to use, at least 1. SLURM_CPUS_PER_TASK and cpu.max of cgroup v2 make
--- it less than what the machine has.
---@param getenv? fun(name: string): string? os.getenv
---@param read? fun(path: string): string? the first line of a file
---@return integer
function processors.usable(getenv, read)
  local count = core.processors()
  local of_task = math.tointeger(tonumber((getenv or os.getenv) "SLURM_CPUS_PER_TASK"))
  if of_task and of_task >= 1 then count = math.min(count, of_task) end
  return math.min(count, quota(read or read_line) or count)
end

return processors
