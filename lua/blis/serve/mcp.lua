--- The model context protocol over standard input and output, for coding agents, in both versions.
--- Up to 2025-11-25, a connection begins with `initialize`. Since 2026-07-28, every request states
--- its version, and `server/discover` exists.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local json = require "blis.json"
local tools = require "blis.serve.tools"

local mcp = {}

local modern = "2026-07-28"
local legacy = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" }
local newest_legacy = legacy[#legacy]
local supported = { modern, newest_legacy }

local version_key = "io.modelcontextprotocol/protocolVersion"
local server_key = "io.modelcontextprotocol/serverInfo"

local instructions = "Evaluates routing, admission and scaling policies in Lua for clusters that "
  .. "serve language models. Call describe first, then check and evaluate; docs has the manual."

local function server_info() return json.object("name", "blis", "version", core._VERSION) end

local function send(self, id, kind, value)
  self.write(json.encode(json.object("jsonrpc", "2.0", "id", id, kind, value)))
end

local function fail(self, id, code, message, data)
  send(self, id, "error", json.object("code", code, "message", message, "data", data))
end

--- A result; in the modern era it says what it is, and who made it.
local function reply(self, call, ...)
  local fields = table.pack(...)
  if not call.is_modern then
    return send(self, call.id, "result", json.object(table.unpack(fields, 1, fields.n)))
  end
  table.move(fields, 1, fields.n, 3)
  fields[1], fields[2] = "resultType", "complete"
  fields[fields.n + 3], fields[fields.n + 4] = "_meta", { [server_key] = server_info() }
  send(self, call.id, "result", json.object(table.unpack(fields, 1, fields.n + 4)))
end

--- A name for an id, so that 7 and "7" are two.
local function key_of(id) return math.type(id) and ("%d"):format(id) or "s" .. tostring(id) end

local function is_id(value) return type(value) == "string" or math.type(value) == "integer" end

local methods = {}

function methods.initialize(self, call)
  local asked, version = call.params.protocolVersion, newest_legacy
  for _, known in ipairs(legacy) do
    if known == asked then version = known end
  end
  self.is_initialized = true
  reply(self, call, "protocolVersion", version, "capabilities", { tools = {} },
    "serverInfo", server_info())
end

methods["server/discover"] = function(self, call)
  if not call.is_modern then
    return fail(self, call.id, -32601, "unknown method 'server/discover'")
  end
  reply(self, call, "supportedVersions", supported, "capabilities", { tools = {} },
    "serverInfo", server_info(), "instructions", instructions, "ttlMs", 3600000,
    "cacheScope", "public")
end

function methods.ping(self, call)
  if call.is_modern then return fail(self, call.id, -32601, "unknown method 'ping'") end
  reply(self, call)
end

methods["tools/list"] = function(self, call)
  if call.is_modern then
    return reply(self, call, "tools", tools.list, "ttlMs", 300000, "cacheScope", "public")
  end
  reply(self, call, "tools", tools.list)
end

--- What a tool said, as text and as an object; a failure is a result, too.
local function reply_tool(self, call, value, problem)
  if call.is_cancelled then return end
  local text = problem and problem.message or json.encode(value)
  if problem then
    local error_object = json.object("code", problem.code, "message", problem.message,
      "where", problem.where)
    return reply(self, call, "content", json.list { json.object("type", "text", "text", text) },
      "structuredContent", json.object("error", error_object), "isError", true)
  end
  reply(self, call, "content", json.list { json.object("type", "text", "text", text) },
    "structuredContent", value, "isError", false)
end

local function progress_of(self, call)
  local token = type(call.params._meta) == "table" and call.params._meta.progressToken
  if not token then return nil end
  return function(done)
    if call.is_cancelled then return end
    self.write(json.encode(json.object("jsonrpc", "2.0", "method", "notifications/progress",
      "params", json.object("progressToken", token, "progress", done, "total", 1))))
  end
end

methods["tools/call"] = function(self, call)
  local name, arguments = call.params.name, call.params.arguments
  local tool = type(name) == "string" and tools.by_name[name]
  if not tool then
    return fail(self, call.id, -32602, ("unknown tool %s"):format(tostring(name)))
  elseif arguments ~= nil and type(arguments) ~= "table" then
    return fail(self, call.id, -32602, "arguments is not an object")
  end
  local key = key_of(call.id)
  if self.open[key] then
    return fail(self, call.id, -32600, "a request with this id is still in progress")
  end
  self.open[key] = call
  local function finish(value, problem)
    self.open[key] = nil
    reply_tool(self, call, value, problem)
  end
  local ok, problem = pcall(tool.call, self.tools, arguments or {}, finish, progress_of(self, call))
  if not ok then finish(nil, answer.of_problem(problem)) else call.cancel = problem end
end

local notifications = {
  ["notifications/cancelled"] = function(self, params)
    local call = is_id(params.requestId)
      and self.open[key_of(params.requestId)]
    if not call then return end
    call.is_cancelled = true
    if call.cancel then call.cancel() end
  end,
}

--- The version that a request says; nil in the legacy era.
local function version_of(params)
  local meta = type(params) == "table" and params._meta
  return type(meta) == "table" and meta[version_key] or nil
end

local function handle(self, message)
  local id, method, params = message.id, message.method, message.params
  if message.jsonrpc ~= "2.0" or type(method) ~= "string" then
    return fail(self, id or json.null, -32600, "expected a request of JSON-RPC 2.0")
  end
  params = type(params) == "table" and params or {}
  if id == nil then
    local notify = notifications[method]
    return notify and notify(self, params)
  elseif not is_id(id) then
    return fail(self, json.null, -32600, "id: expected a string or an integer")
  end
  local version = version_of(params)
  if version and version ~= modern then
    return fail(self, id, -32022, "Unsupported protocol version",
      json.object("supported", supported, "requested", version))
  end
  local is_known = methods[method] ~= nil
  if not is_known then return fail(self, id, -32601, ("unknown method '%s'"):format(method)) end
  local is_first = method == "initialize" or method == "ping"
  if not version and not self.is_initialized and not is_first and method ~= "server/discover" then
    return fail(self, id, -32600, "expected initialize first, or params._meta with the version")
  end
  methods[method](self, { id = id, params = params, is_modern = version ~= nil })
end

local function read_line(self, text)
  if not text then return fail(self, json.null, -32600, "the message is too long") end
  if text:match "^%s*$" then return end
  local ok, message = pcall(json.decode, text)
  if not ok then
    return fail(self, json.null, -32700, (tostring(message):gsub("^JSON:1: ", "")))
  elseif type(message) ~= "table" or message[1] ~= nil then
    return fail(self, json.null, -32600, "expected an object; batches are not supported")
  end
  handle(self, message)
end

---@param known table of request.scenarios
---@return fun(work: blis.serve.Jobs, write: fun(line: string)): blis.serve.Session
function mcp.opener(known)
  return function(work, write)
    local self = { write = write, open = {}, is_initialized = false,
      tools = tools.new(work, known) }
    return {
      line = function(text) read_line(self, text) end,
      stop = function()
        for _, call in pairs(self.open) do
          call.is_cancelled = true
          if call.cancel then call.cancel() end
        end
      end,
    }
  end
end

return mcp
