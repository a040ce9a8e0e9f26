--- The processes of timelines: the gateway, instances, links and control.
local pids = { gateway = 1, first = 10 }

--- The number at the end of an id of an instance.
---@param id? string
---@return integer?
function pids.number(id) return id and math.tointeger(id:match "(%d+)$") end

--- The process of an instance by its id; nil without one.
---@param id? string
---@return integer?
function pids.of(id)
  local number = pids.number(id)
  return number and pids.first + number
end

--- Links and control have the same numbers in most runs: there where instances do not get that far.
---@param instances integer
---@return { links: integer, control: integer }
function pids.behind(instances)
  local last = pids.first + instances
  return { links = math.max(900, last), control = math.max(990, last + 1) }
end

--- The name of the process of the gateway or of an instance.
---@param pid integer
---@param instances { id: string }[] of the result
---@return string
function pids.name(pid, instances)
  if pid == pids.gateway then return "gateway" end
  local instance = instances[pid - pids.first + 1]
  return instance and instance.id or ("instance_%d"):format(pid - pids.first)
end

return pids
