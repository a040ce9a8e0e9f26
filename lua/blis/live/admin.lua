--- Requests to /admin of a live cluster: its state, faults, the number of instances, the speed.
local core = require "blis.core"
local json = require "blis.json"
local sorted = require "blis.sorted"

local admin = {}
admin.__index = admin

---@class blis.live.Admin
---@field sim blis.Simulation
---@field target? integer instances that are wanted; nil = their number is fixed
---@field max? integer
---@field endpoints blis.live.Endpoint[] by instance

--- An error of a request, with the status of its answer.
local function refuse(status, format, ...)
  error(setmetatable({ status = status, message = format:format(...) }, admin), 0)
end

local function message_of(problem)
  local text = type(problem) == "table" and problem.message or tostring(problem)
  return (text:gsub("^.-:%d+: ", ""):gsub("\nstack traceback.*", ""))
end

local function error_text(status, message)
  return json.encode { error = json.object("message", message, "type",
    status == 404 and "NotFoundError" or "BadRequestError", "param", json.null, "code", status) }
end

--- Returns the parameters of a query, name=value&...
local function parameters_of(query)
  local list = {}
  for name, value in query:gmatch "([^&=]+)=([^&]*)" do
    list[name] = value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  return list
end

local function number_of(parameters, name, min, max, default)
  local text = parameters[name]
  local number = text == nil and default or tonumber(text)
  if not number or not (number >= min and number <= max) then
    refuse(400, "%s=%s: expected a number from %g to %g", name, text or "", min, max)
  end
  return number
end

local function instance_of(self, parameters)
  local number = number_of(parameters, "instance", 0, #self.sim.instances - 1)
  local instance = math.tointeger(number) and self.sim.instances[math.tointeger(number) + 1]
  if not instance then refuse(400, "instance=%s: expected a whole number", parameters.instance) end
  return instance
end

--- Returns the faults of a body, for the core. Times count from now.
local function faults_of(self, body)
  local read = require "blis.feature.faults.read"
  local is_json, given = pcall(json.decode, body == "" and "null" or body)
  if not is_json then refuse(400, "the body is not valid JSON: %s", message_of(given)) end
  if type(given) ~= "table" then
    refuse(400, "the body is not a fault; expected an object such as {\"kind\": \"crash\", "
      .. "\"instance\": \"instance_1\", \"recover_after\": \"30s\"}, or a list of them")
  end
  local list = given.kind == nil and given or { given }
  for i, one in ipairs(list) do
    if type(one) ~= "table" then refuse(400, "faults[%d] is no object", i) end
    if one.mtbf ~= nil then
      refuse(400, "faults[%d]: mtbf is supported only for faults that are declared at the start", i)
    end
    if one.at == nil then one.at = "0s" end
  end
  local firsts = {}
  for i = 1, #self.sim.instances do firsts[i] = i - 1 end
  return read.read(list, #self.sim.instances, false, firsts).declared
end

--- Changes the number of instances that are wanted.
local function set_target(self, target)
  if not self.target then
    refuse(409, "the number of instances is fixed; start blis live with --max-instances N")
  end
  if target < 0 or target > self.max or not math.tointeger(target) then
    refuse(400, "%g instances: expected a whole number from 0 to %d", target, self.max)
  end
  self.target = math.tointeger(target)
  return json.encode { replicas = self.target }
end

--- Each returns the text of the answer, and a speed if it has changed.
local posts = {
  fail = function(self, parameters) instance_of(self, parameters):fail { reroute = false } end,
  drain = function(self, parameters) instance_of(self, parameters):drain() end,
  restore = function(self, parameters) instance_of(self, parameters):restart() end,
  slow = function(self, parameters)
    instance_of(self, parameters):slow(number_of(parameters, "factor", 0.001, 1000000))
  end,
  faults = function(self, _, body)
    local list = faults_of(self, body)
    local now_us = self.sim.now_us
    for _, fault in ipairs(list) do fault.at_us = now_us + 1 + fault.at_us end
    core.add_faults(self.sim, list)
    return json.encode { added = #list }
  end,
  speed = function(_, parameters)
    local speed = number_of(parameters, "value", 1e-6, 1000000)
    return json.encode { speed = speed }, speed
  end,
  add = function(self, parameters)
    return set_target(self, (self.target or 0) + number_of(parameters, "count", 1, 100000, 1))
  end,
  remove = function(self, parameters)
    return set_target(self, (self.target or 0) - number_of(parameters, "count", 1, 100000, 1))
  end,
  scale = function(self, parameters)
    return set_target(self, number_of(parameters, "replicas", 0, 100000))
  end,
}
posts.crash = posts.fail

local function state_of(self, speed)
  local instances = {}
  for i, instance in ipairs(self.sim.instances) do
    local endpoint = self.endpoints[i]
    instances[i] = json.object("id", instance.id, "state", instance.state, "address",
      endpoint and ("%s:%d"):format(endpoint.address, endpoint.port))
  end
  return json.encode(json.object("time_us", self.sim.now_us, "speed", speed, "replicas",
    self.target, "max_instances", self.max, "instances", json.list(instances)))
end

--- Answers a request. Returns the status, the text, a speed or nil, and whether nothing changed.
---@param method string
---@param action string the path after /admin/
---@param query string
---@param body string
---@param speed number
function admin:answer(method, action, query, body, speed)
  if action == "config" and method == "GET" then return 200, state_of(self, speed), nil, true end
  local post = posts[action]
  if not post then
    return 404, error_text(404, ("/admin/%s: expected config, %s"):format(action,
      table.concat(sorted.names(posts), ", "))), nil, true
  end
  if method ~= "POST" then
    return 405, error_text(405, "expected POST"), nil, true
  end
  local is_done, text, new_speed = pcall(post, self, parameters_of(query), body)
  if is_done then return 200, text or "{}", new_speed, false end
  local status = getmetatable(text) == admin and text.status or 409
  if type(text) == "table" and text.code == "invalid" and action == "faults" then status = 400 end
  return status, error_text(status, message_of(text)), nil, true
end

--- Returns the answerer of a simulation.
---@param sim blis.Simulation
---@param endpoints blis.live.Endpoint[] by instance
---@param scaling? { target: integer, max: integer }
function admin.new(sim, endpoints, scaling)
  return setmetatable({ sim = sim, endpoints = endpoints, target = scaling and scaling.target,
    max = scaling and scaling.max }, admin)
end

return admin
