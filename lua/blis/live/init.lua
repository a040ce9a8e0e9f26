--- A cluster that serves real clients over HTTP while its clock runs.
local addresses = require "blis.live.addresses"
local admin = require "blis.live.admin"
local core = require "blis.core"
local csv = require "blis.csv"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local schema = require "blis.config.schema"
local section = require "blis.config.live"

local live = {}

-- Tokens of texts are below this; word tokens of every model have room.
local vocabulary = 128256

-- Number of lengths from which those of answers are drawn.
local length_count = 4096

-- Longest sequence of an engine without a limit, such as one with a latency model in Lua.
local usual_max_model_len = 131072

-- Greatest number of instances with an address, those included that come later.
local most_addresses = 1024

-- Names of engines for llm-d's endpoint picker, by flavor of the metrics.
local engine_types = { vllm = "vllm", ["vllm-0.8"] = "vllm", sglang = "sglang",
  trtllm = "trtllm-serve" }

--- The traffic before the first client; the desk replaces it.
local function no_requests() return nil end

local traffic_text = "requests of clients"

--- Returns the lengths of answers, in an order that depends only on the seed.
local function lengths_of(values, seed)
  local stream, list = core.rng(seed, "live reply lengths"), {}
  for i = 1, length_count do
    local length = values.output_tokens + values.output_tokens_stddev * stream:normal()
    list[i] = math.max(1, math.floor(length + 0.5))
  end
  return list
end

--- Returns the names of the model for clients.
local function names_of(values)
  local list = {}
  for name in (values.served_model_name or values.model or "blis"):gmatch "[^,]+" do
    list[#list + 1] = name
  end
  if not list[1] then
    errors.invalid("live.served_model_name: '%s' has no name, expected NAME,...",
      values.served_model_name)
  end
  return list
end

--- Returns the names of the LoRA adapters of a cluster.
local function adapters_of(cluster)
  local list = {}
  local lora = cluster.lora or cluster.groups and cluster.groups[1].lora
  for i, adapter in ipairs(lora and lora.adapters or {}) do list[i] = adapter.id end
  return list
end

--- Returns the longest sequence that an engine accepts: its maximum sequence length, or all tokens
--- of its KV cache if that is unlimited.
local function longest_of_engine(options)
  local whole = { horizon_us = math.maxinteger }
  for key, value in pairs(options) do whole[key] = value end
  local is_known, facts = pcall(core.engine_facts, whole)
  local longest = is_known and facts.max_model_len or options.max_model_len or 0
  if longest > 0 then return longest end
  return is_known and facts.kv_tokens or usual_max_model_len
end

--- Returns the longest sequence that each instance of a cluster accepts.
local function longest_of(cluster)
  local longest = math.maxinteger
  for _, options in ipairs(cluster.groups or { cluster }) do
    longest = math.min(longest, longest_of_engine(options))
  end
  return longest
end

--- Returns the desk of a cluster (src/live/desk.h).
local function desk_of(values, config)
  local cluster = config.cluster
  return core.live_desk {
    models = names_of(values), adapters = adapters_of(cluster),
    max_model_len = longest_of(cluster), vocabulary = vocabulary,
    media_tokens = values.media_tokens,
    block_tokens = cluster.block_size, seed = config.seed,
    lengths = lengths_of(values, config.seed), instances = cluster.instances,
    flavor = values.metrics_flavor,
    pull_bytes_per_us = (values.kv_handoff_gb_s or 0) * 1000,
    pull_latency_us = values.kv_handoff_latency_us,
    kv_format = values.kv_events and values.kv_events_format or "none",
  }
end

---@class blis.live.Service
---@field sim blis.Simulation
---@field endpoints blis.live.Endpoint[]
---@field feeds? blis.live.Feed[] by instance; nil = no KV events
---@field initial integer instances at first
---@field is_public boolean whether other machines can reach it
---@field outcome? table how it ended: signal, requests, dropped, interventions, lags

local service = {}
service.__index = service

local function text_of(endpoint)
  local address = endpoint.address:find ":" and ("[%s]"):format(endpoint.address)
    or endpoint.address
  return ("http://%s:%d"):format(address, endpoint.port)
end

--- Returns lines that describe the endpoints.
function service:lines()
  local lines, first, last = {}, nil, nil
  for _, endpoint in ipairs(self.endpoints) do
    if endpoint.instance and endpoint.instance < self.initial then
      first, last = first or endpoint, endpoint
    elseif not endpoint.instance then
      lines[#lines + 1] = "gateway at " .. text_of(endpoint)
    end
  end
  if first then
    local ids = { self.sim.instances[1].id, self.sim.instances[last.instance + 1].id }
    table.insert(lines, 1, last.instance == 0 and ("%s at %s"):format(ids[1], text_of(first))
      or ("%s to %s at %s to %s"):format(ids[1], ids[2], text_of(first), text_of(last)))
  end
  local feed = self.feeds and self.feeds[1]
  if feed then
    lines[#lines + 1] = ("KV events of %s at tcp://%s:%d, topic '%s'"):format(
      self.sim.instances[1].id, feed.address, feed.port, feed.topic)
  end
  if self.is_public then
    lines[#lines + 1] = "warning: other machines can connect, without authentication"
  end
  return lines
end

--- Serves until a signal ends it.
---@param tell fun(line: string): string makes a line of a text, for standard error
function service:run(tell)
  local values, lines = self.values, {}
  if values.write_endpoints then self:write_endpoints() end
  for i, line in ipairs(self:lines()) do lines[i] = tell(line) end
  self.outcome = errors.located(core.live_serve, self.sim, self.desk, {
    endpoints = self.endpoints, feeds = self.feeds, speed = values.speed, version = values.version,
    stall_timeout_us = values.stall_timeout_us, grace_us = values.grace_us,
    duration_us = values.duration_us,
    splits = values.kv_handoff_gb_s ~= nil, block_tokens = self.block_tokens,
    shows_cached = not values.hide_cached, echoes_request_ids = values.request_ids,
    ready = table.concat(lines),
    changed = values.write_endpoints and function() self:write_endpoints() end,
    control = function(...) return self.admin:answer(...) end,
  })
end

--- Writes the endpoints of the instances that serve, as the plugin `file-discovery` of llm-d's
--- endpoint picker reads them.
function service:write_endpoints()
  local lines = { "endpoints:" }
  for _, one in ipairs(self.endpoints) do
    local instance = one.instance and self.sim.instances[one.instance + 1]
    if instance and instance.state == "active" then
      lines[#lines + 1] = ("- {name: %s, namespace: default, address: %s, port: \"%d\", labels: "
        .. "{llm-d.ai/engine-type: %s}}"):format(instance.id, one.address, one.port,
          engine_types[self.values.metrics_flavor])
    end
  end
  if not lines[2] then lines[1] = "endpoints: []" end
  local output <close> = core.output(self.values.write_endpoints)
  output:write(table.concat(lines, "\n") .. "\n")
  output:commit()
end

--- Writes the decisions of ports, which a replay of the trace needs: request_number,instance.
---@param path string
function service:write_pins(path)
  local pins = self.desk:pins()
  if not pins[1] then return end
  local output <close> = core.output(path)
  output:write "request_number,instance\n"
  for _, pin in ipairs(pins) do
    output:write(csv.field(pin[1]) .. "," .. csv.field(("instance_%d"):format(pin[2])) .. "\n")
  end
  output:commit()
end

--- Returns the decisions in a file that write_pins wrote, for `sim:pin`.
---@param path string
---@return { request: string, instance: string }[]
function live.read_pins(path)
  local list = {}
  local columns = { { name = "request_number" }, { name = "instance", is_text = true } }
  for _, row in ipairs(errors.located(core.csv_read, path, columns)) do
    list[#list + 1] = { request = ("request_%d"):format(row.request_number),
      instance = row.instance }
  end
  return list
end

--- Raises an error if this build cannot serve.
function live.check_build()
  if not core.live_library() then
    errors.invalid("live: this build has no libevent; install libevent-dev and build blis again")
  end
end

--- The autoscaler of a command line with --max-instances; `live.open` replaces it.
live.by_request = { "by-request" }

--- Makes the number of instances follow requests to /admin, as an autoscaler.
---@param spec blis.Experiment changed
---@param scaling { max: integer }
---@param target fun(): integer?
local function scale_by_request(spec, scaling, target)
  if spec.autoscaler and spec.autoscaler ~= live.by_request then
    errors.invalid("live.max_instances cannot be combined with an autoscaler")
  end
  local options = {}
  for key, value in pairs(spec.scaling or {}) do options[key] = value end
  options.min_replicas, options.max_replicas = 0, scaling.max
  options.interval_us = options.interval_us or 1000000
  spec.scaling = options
  spec.autoscaler = function() return target() end
end

--- Returns the endpoints of instances, by place.
local function by_instance(endpoints)
  local list = {}
  for _, one in ipairs(endpoints) do
    if one.instance then list[one.instance + 1] = one end
  end
  return list
end

--- Opens a cluster for clients; `service:run` serves them.
---@param spec blis.Experiment its workload is ignored
---@param options? table the section `live`
---@param model? string
---@return blis.live.Service
function live.open(spec, options, model)
  live.check_build()
  local values = schema.read(section, options, "live")
  values.model = model
  local self = setmetatable({ values = values }, service)
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  copy.workload = no_requests
  local scaling = values.max_instances and { max = values.max_instances }
  if scaling then
    scale_by_request(copy, scaling, function() return self.admin and self.admin.target end)
  end
  self.sim = experiment.served(copy, traffic_text, function(config)
    self.desk = desk_of(values, config)
    self.block_tokens = config.cluster.block_size
    if scaling then scaling.target = config.cluster.instances end
    self.initial = config.cluster.instances
    local most = config.scaling and math.min(config.scaling.max_starts, most_addresses)
    local count, is_public, are_feeds_public = most or self.initial
    self.endpoints, is_public = addresses.of(values, count, self.initial)
    self.feeds, are_feeds_public = addresses.feeds(values, self.endpoints, names_of(values)[1],
      count, self.initial)
    self.is_public = is_public or are_feeds_public
    return self.desk
  end)
  self.admin = admin.new(self.sim, by_instance(self.endpoints), scaling)
  return self
end

return live
