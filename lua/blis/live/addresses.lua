--- The addresses of a live cluster, from their texts.
local errors = require "blis.errors"

local addresses = {}

---@class blis.live.Endpoint
---@field address string
---@field port integer
---@field instance? integer from 0; nil = the routing policy decides

local expected = "expected ADDRESS:PORT such as 127.0.0.1:8000 or [::1]:8000"

local function check_port(option, text, port)
  if port > 65535 then
    errors.invalid("live.%s: '%s' has port %d, expected at most 65535", option, text, port)
  end
  return port
end

--- Splits "ADDRESS:PORT". Returns the address, the port, and what follows each ("+" or "").
local function split(option, text)
  local address, plus, port, port_plus = text:match "^(%[?[%x:.]+%]?)(%+?):(%d+)(%+?)$"
  address = address and address:gsub("^%[(.*)%]$", "%1")
  if not address or #port > 5 then errors.invalid("live.%s: '%s', %s", option, text, expected) end
  return address, check_port(option, text, tonumber(port)), plus, port_plus
end

--- Returns the address that is `by` after an IPv4 address.
local function after(option, text, address, by)
  local a, b, c, d = address:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$"
  if not a then
    errors.invalid("live.%s: '%s': an address for each instance requires an IPv4 address",
      option, text)
  end
  local number = ((tonumber(a) * 256 + b) * 256 + c) * 256 + d + by
  return ("%d.%d.%d.%d"):format(number // 16777216 % 256, number // 65536 % 256,
    number // 256 % 256, number % 256)
end

--- Adds an endpoint for each instance; the first `initial` of them must have a port.
local function add_instances(list, option, text, count, initial)
  local address, port, plus, port_plus = split(option, text)
  if (plus == "+") == (port_plus == "+") and count > 1 then
    errors.invalid("live.%s: '%s' is one address for %d instances, expected 127.0.1.1+:8000 "
      .. "(an address for each instance) or 127.0.0.1:8000+ (a port for each instance)", option,
      text, count)
  end
  for i = 0, count - 1 do
    local one = plus == "+" and after(option, text, address, i) or address
    local its_port = plus == "+" and port or port + i
    if i < initial then check_port(option, text, its_port) end
    if its_port > 65535 then return end
    list[#list + 1] = { address = one, port = its_port, instance = i }
  end
end

local function is_loopback(address)
  return address:find "^127%." ~= nil or address == "::1"
end

--- Returns whether other machines can reach one of the addresses.
local function are_public(list)
  for _, one in ipairs(list) do
    if not is_loopback(one.address) then return true end
  end
  return false
end

--- Returns the endpoints of the options, and whether other machines can reach one of them.
---@param values table the section `live`
---@param count integer of instances, those included that may come
---@param initial integer instances at first
---@return blis.live.Endpoint[] endpoints
---@return boolean is_public
function addresses.of(values, count, initial)
  local list = {}
  if values.port_base and values.listen then
    errors.invalid("live.port_base cannot be combined with live.listen")
  end
  if values.port_base then
    add_instances(list, "port_base", ("127.0.0.1:%d+"):format(values.port_base), count, initial)
  end
  if values.listen then add_instances(list, "listen", values.listen, count, initial) end
  local gateway = values.gateway or not list[1] and "127.0.0.1:8000"
  if gateway then
    local address, port, plus, port_plus = split("gateway", gateway)
    if plus .. port_plus ~= "" then
      errors.invalid("live.gateway: '%s', %s", gateway, expected)
    end
    list[#list + 1] = { address = address, port = port }
  end
  return list, are_public(list)
end

--- A socket where an instance publishes KV events.
---@class blis.live.Feed
---@field address string
---@field port integer
---@field replay_address? string
---@field replay_port? integer
---@field topic string

--- Returns the sockets for KV events, by instance, and whether other machines can reach one of
--- them; nil = there are no events.
---@param values table the section `live`
---@param endpoints blis.live.Endpoint[]
---@param model string
---@param count integer of instances, those included that may come
---@param initial integer instances at first
---@return blis.live.Feed[]? feeds
---@return boolean is_public
function addresses.feeds(values, endpoints, model, count, initial)
  if not values.kv_events then
    for _, name in ipairs { "replay", "topic" } do
      if values["kv_events_" .. name] then
        errors.invalid("live.kv_events_%s requires live.kv_events, the addresses of the events",
          name)
      end
    end
    return nil, false
  end
  local feeds, replays, http = {}, {}, {}
  add_instances(feeds, "kv_events", values.kv_events, count, initial)
  if values.kv_events_replay then
    add_instances(replays, "kv_events_replay", values.kv_events_replay, count, initial)
  end
  for _, one in ipairs(endpoints) do
    if one.instance then http[one.instance + 1] = one end
  end
  for i, feed in ipairs(feeds) do
    local replay, shown = replays[i], http[i] or feed
    feed.replay_address, feed.replay_port = replay and replay.address, replay and replay.port
    feed.topic = values.kv_events_topic
      or ("kv@%s:%d@%s"):format(shown.address, shown.port, model)
  end
  return feeds, are_public(feeds) or are_public(replays)
end

return addresses
