--- What scripts from others may use: `blis --sandbox FILE`.
---
--- The script gets a separate environment with the functions of this file. They cannot hang, reach
--- files, or return addresses. Work in C is charged to the instruction budget by its size. The
--- script runs in a separate state, so it cannot undo these restrictions.
local chunks = require "blis.chunk"
local core = require "blis.core"
local errors = require "blis.errors"

local sandbox = {}

local charge = core.sandbox_charge
local max_source, max_line, max_text, max_results, max_output = 65536, 1000, 65536, 10000, 1 << 20

sandbox.most_bytes = max_source

local function fail(format, ...)
  error(("sandbox: " .. format):format(...), 3)
end

local function check_text(value, position, name)
  if type(value) == "number" then value = tostring(value) end
  if type(value) ~= "string" then
    error(("bad argument #%d to '%s' (string expected, got %s)"):format(position, name,
      type(value)), 3)
  end
  return value
end

local function check_integer(value, position, name, default)
  if value == nil and default then return default end
  local integer = math.tointeger(value)
  if not integer then
    error(("bad argument #%d to '%s' (integer expected, got %s)"):format(position, name,
      type(value)), 3)
  end
  return integer
end

local function check_table(value, position, name)
  if type(value) ~= "table" then
    error(("bad argument #%d to '%s' (table expected, got %s)"):format(position, name,
      type(value)), 3)
  end
  return value
end

--- A list whose length and items are what they seem.
local function check_plain(value, position, name)
  check_table(value, position, name)
  if getmetatable(value) ~= nil then fail("table.%s works on tables without a metatable", name) end
  return value
end

-- Strings. --------------------------------------------------------------------------------------

local text = {}

--- A function of the string library that takes as long as its text.
local function charged(name)
  local original = string[name]
  text[name] = function(s, ...)
    s = check_text(s, 1, name)
    charge(#s // 8)
    return original(s, ...)
  end
end

for _, name in ipairs { "len", "lower", "upper", "sub", "reverse" } do charged(name) end

function text.byte(s, i, j)
  s = check_text(s, 1, "byte")
  i = check_integer(i, 2, "byte", 1)
  j = check_integer(j, 3, "byte", i)
  if j - i >= max_results then fail("string.byte returns at most %d numbers", max_results) end
  return string.byte(s, i, j)
end

function text.char(...)
  if select("#", ...) > max_results then fail("string.char accepts at most %d", max_results) end
  return string.char(...)
end

function text.rep(s, n, separator)
  s = check_text(s, 1, "rep")
  n = check_integer(n, 2, "rep")
  separator = separator == nil and "" or check_text(separator, 3, "rep")
  local size = #s + #separator
  if size == 0 or n <= 0 then return "" end
  if n > max_text // size then fail("string.rep returns at most %d bytes", max_text) end
  charge(n * size // 8)
  return string.rep(s, n, separator)
end

--- Plain search: patterns can take unlimited time.
function text.find(s, wanted, init)
  s, wanted = check_text(s, 1, "find"), check_text(wanted, 2, "find")
  charge(#s * math.max(1, #wanted // 64))
  return string.find(s, wanted, check_integer(init, 3, "find", 1), true)
end

-- Writing the digits of a number takes about as long as this number of instructions.
local digits_cost = 16

local directives = {
  d = function(value) return ("%d"):format(check_integer(value, 2, "format")) end,
  s = function(value) return sandbox.tostring(value) end,
}

--- %d, %s, %.Nf and %%, with a width of at most 20.
function text.format(format, ...)
  format = check_text(format, 1, "format")
  charge(#format)
  local arguments, used, parts, from = table.pack(...), 0, {}, 1
  while true do
    local first, last, width, digits, kind = format:find("%%(%-?%d?%d?)%.?(%d?%d?)([%a%%])", from)
    local percent = format:find("%", from, true)
    if not percent then break end
    if percent ~= first then fail("string.format supports only %%d, %%s, %%.Nf, and %%%%") end
    parts[#parts + 1] = format:sub(from, first - 1)
    local value = "%"
    if kind ~= "%" then
      used = used + 1
      charge(digits_cost)
      local argument = arguments[used]
      if kind == "f" and math.type(argument) and math.abs(argument) < 1e18 then
        value = ("%." .. math.min(tonumber(digits) or 6, 17) .. "f"):format(argument)
      elseif kind == "f" then
        value = sandbox.tostring(argument)
      elseif directives[kind] then
        value = directives[kind](argument)
      else
        fail("string.format supports only %%d, %%s, %%.Nf, and %%%%")
      end
      if math.abs(tonumber(width) or 0) > 20 then fail("a width is at most 20") end
      if #value < 20 then value = ("%" .. width .. "s"):format(value) end
    end
    parts[#parts + 1] = value
    from = last + 1
  end
  parts[#parts + 1] = format:sub(from)
  return table.concat(parts)
end

-- Tables. ---------------------------------------------------------------------------------------

local lists = { pack = table.pack }

function lists.concat(t, separator, i, j)
  check_plain(t, 1, "concat")
  local size = separator == nil and 0 or #check_text(separator, 2, "concat")
  i, j = check_integer(i, 3, "concat", 1), check_integer(j, 4, "concat", rawlen(t))
  for k = i, j do
    local item = t[k]
    size = size + (type(item) == "string" and #item or 16)
    charge(size // 8)
    if size > 1 << 24 then fail("table.concat returns at most %d bytes", 1 << 24) end
    size = separator == nil and 0 or #separator
  end
  return table.concat(t, separator, i, j)
end

function lists.insert(t, ...)
  check_plain(t, 1, "insert")
  local count = rawlen(t)
  if select("#", ...) > 1 then
    local position = check_integer((...), 2, "insert")
    charge(math.max(0, count - math.max(position, 1) + 1))
  end
  return table.insert(t, ...)
end

function lists.remove(t, position)
  check_plain(t, 1, "remove")
  local count = rawlen(t)
  position = check_integer(position, 2, "remove", count)
  charge(math.max(0, count - math.max(position, 1)))
  return table.remove(t, position)
end

local function is_less(a, b) return a < b end

--- Merges two sorted runs of from into to: [first, middle) and [middle, last].
local function merge(from, to, first, middle, last, less)
  local i, j = first, middle
  for k = first, last do
    if i < middle and (j > last or not less(from[j], from[i])) then
      to[k], i = from[i], i + 1
    else
      to[k], j = from[j], j + 1
    end
  end
end

--- Stable. The sort of the library takes pivots from the clock, so that equal items end in an order
--- that differs from run to run.
function lists.sort(t, less)
  check_plain(t, 1, "sort")
  if less == nil then
    less = is_less
  elseif type(less) ~= "function" then
    error(("bad argument #2 to 'sort' (function expected, got %s)"):format(type(less)), 2)
  end
  local count, width = rawlen(t), 1
  charge(count * 4)
  local from, to = table.move(t, 1, count, 1, {}), {}
  while width < count do
    for first = 1, count, 2 * width do
      merge(from, to, first, math.min(first + width, count + 1),
        math.min(first + 2 * width - 1, count), less)
    end
    from, to, width = to, from, 2 * width
  end
  table.move(from, 1, count, 1, t)
end

function lists.unpack(t, i, j)
  check_table(t, 1, "unpack")
  i, j = check_integer(i, 2, "unpack", 1), check_integer(j, 3, "unpack", rawlen(t))
  if i <= j and j - i >= max_results then
    fail("table.unpack returns at most %d values", max_results)
  end
  charge(math.max(0, j - i))
  return table.unpack(t, i, j)
end

-- The base library. -----------------------------------------------------------------------------

local base = {
  assert = assert, error = error, ipairs = ipairs, rawequal = rawequal, rawget = rawget,
  rawlen = rawlen, rawset = rawset, select = select, type = type,
  _VERSION = _VERSION,
}

function base.tonumber(...)
  local value = ...
  if type(value) == "string" then charge(#value * 4) end
  return tonumber(...)
end

local refused_fields = { "__gc", "__close", "__mode", "__metatable" }

--- Gives t a private copy of the metatable: what is added to the given one later has no effect.
function base.setmetatable(t, metatable)
  check_table(t, 1, "setmetatable")
  if getmetatable(t) ~= nil then fail("this metatable is protected") end
  if metatable == nil then return t end
  check_table(metatable, 2, "setmetatable")
  for _, name in ipairs(refused_fields) do
    if rawget(metatable, name) ~= nil then fail("a metatable may not have %s", name) end
  end
  local copy = {}
  for key, value in next, metatable do copy[key] = value end
  copy.__metatable = false
  return setmetatable(t, copy)
end

--- Whether there is a metatable, never the metatable.
function base.getmetatable(value)
  if getmetatable(value) ~= nil then return false end
  return nil
end

--- No addresses.
function sandbox.tostring(value)
  local kind = type(value)
  local is_shown = kind == "number" or kind == "string" or kind == "boolean" or kind == "nil"
  if is_shown then return tostring(value) end
  local shown = tostring(value)
  if string.find(shown, "0x", 1, true) or string.find(shown, "builtin: ", 1, true) then
    return kind
  end
  return shown
end

function base.tostring(value)
  if type(value) == "number" then charge(digits_cost) end
  return sandbox.tostring(value)
end

function base.pcall(...)
  local results = table.pack(pcall(...))
  charge(0) -- a limit that was reached is not to be caught
  return table.unpack(results, 1, results.n)
end

--- Numbers before strings, each in order.
local function goes_before(a, b)
  if type(a) ~= type(b) then return type(a) == "number" end
  return a < b
end

--- All keys in that order; other keys have no order that is the same in every run.
local function sorted_keys(t)
  local keys = {}
  for key in next, t do
    local kind = type(key)
    if kind ~= "number" and kind ~= "string" then
      fail("pairs: a %s as a key has no defined order", kind)
    end
    keys[#keys + 1] = key
  end
  charge(#keys * 24)
  table.sort(keys, goes_before)
  return keys
end

--- In the order of pairs. As in Lua, what has no key after it gives nil.
function base.next(t, key)
  check_table(t, 1, "next")
  local keys = sorted_keys(t)
  for _, candidate in ipairs(keys) do
    if key == nil or goes_before(key, candidate) then return candidate, rawget(t, candidate) end
  end
  return nil
end

function base.pairs(t)
  if type(t) == "userdata" then return pairs(t) end
  check_table(t, 1, "pairs")
  local keys, position = sorted_keys(t), 0
  return function()
    local key, value
    repeat
      position = position + 1
      key = keys[position]
      if key ~= nil then value = rawget(t, key) end
    until key == nil or value ~= nil
    return key, value
  end, t, nil
end

--- print, as long as there are not too many bytes. Nothing that controls a terminal gets through.
---@param write fun(line: string)
local function new_print(write)
  local printed = 0
  return function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = sandbox.tostring(parts[i]) end
    local line = table.concat(parts, "\t", 1, parts.n)
    printed = printed + #line + 1
    if printed > max_output then fail("a script prints at most %d bytes", max_output) end
    write((line:gsub("[%c\127]", function(letter)
      return (letter == "\n" or letter == "\t") and letter or ("\\%d"):format(letter:byte())
    end)) .. "\n")
  end
end

-- blis. -----------------------------------------------------------------------------------------

-- Everything of blis that touches no file and starts no process.
local offered = { "_VERSION", "admission", "admit", "autoscaler", "cascade", "compare", "delay",
  "disaggregation", "event_queue", "filter", "instance", "kv_cache", "kv_capacity", "milliseconds",
  "minutes", "picker", "preemption", "prefix_index", "records", "reject", "rng", "router", "run",
  "scheduler", "scorer", "seconds", "simulation", "token_ids" }

--- blis.compare without replications, which are done by processes of their own.
local function compare_once(spec)
  if type(spec) ~= "table" then return require("blis").compare(spec) end
  local copy = {}
  for key, value in next, spec do copy[key] = value end
  if copy.replications ~= nil then fail("blis.compare: replications are not available") end
  return require("blis").compare(copy)
end

-- What of that is for policies alone: they are run by others.
local for_runs = { compare = true, event_queue = true, kv_cache = true, kv_capacity = true,
  run = true, simulation = true }

-- What makes policies of functions.
local constructors = { "admission", "autoscaler", "cascade", "disaggregation", "filter", "picker",
  "preemption", "router", "scheduler", "scorer" }

--- The seed of a stream that only these values lead to.
local function salted_seed(kind, salt, seed, name)
  local hash = core.hash128(("%s %d %d %s"):format(kind, salt, seed, name))
  return tonumber(hash:sub(1, 13), 16)
end

--- blis.rng for policies that are judged: streams of their own. Traffic is drawn from streams that
--- have a seed and a name, too; a policy that could make these would predict the traffic.
local function own_streams(salt)
  return function(seed, name)
    local whole = math.type(seed) and math.tointeger(seed)
    if not whole then
      error(("bad argument #1 to 'rng' (number expected, got %s)"):format(type(seed)), 2)
    elseif name ~= nil and type(name) ~= "string" then
      error(("bad argument #2 to 'rng' (string expected, got %s)"):format(type(name)), 2)
    end
    return core.rng(salted_seed("rng", salt, whole, name or ""), name)
  end
end

--- math.random for one role of a candidate. A common stream would carry information between roles:
--- the number of values drawn.
local function own_random(salt, role)
  local rng = core.rng(salted_seed("role", salt, 0, role), role)
  return function(...)
    local count = select("#", ...)
    if count == 0 then return rng:number() end
    local low, high = ...
    if count == 1 then low, high = 1, low end
    return rng:integer(check_integer(low, 1, "random"), check_integer(high, count, "random"))
  end
end

local function facade(options)
  local blis, is_policy = require "blis", options.is_policy
  local shown = { vec = {} }
  for _, name in ipairs(offered) do
    if not (is_policy and for_runs[name]) then shown[name] = rawget(blis, name) end
  end
  if not is_policy then shown.compare = compare_once end
  if is_policy and options.seed then shown.rng = own_streams(options.seed) end
  for _, name in ipairs(options.wrap and constructors or {}) do
    local construct = shown[name]
    shown[name] = function(spec) return construct(options.wrap(spec)) end
  end
  for name, fn in pairs(core.vec) do shown.vec[name] = fn end
  return setmetatable(shown, {
    __metatable = false,
    __index = function(_, name)
      fail("blis has no '%s' here%s", sandbox.tostring(name),
        type(name) == "string" and rawget(blis, name) ~= nil and ": it is not offered" or "")
    end,
  })
end

--- Asks before functions that write to their first argument do.
local function add_guard(environment, guard, readers)
  for _, name in ipairs { "rawlen", "rawget", "next", "getmetatable" } do
    environment[name] = readers.reader(environment[name])
  end
  for _, name in ipairs { "concat", "unpack" } do
    environment.table[name] = readers.reader(environment.table[name])
  end
  environment.pairs = readers.pairs(environment.pairs)
  local function guarded(fn)
    return function(t, ...)
      guard(t)
      return fn(t, ...)
    end
  end
  environment.rawset = guarded(environment.rawset)
  for _, name in ipairs { "insert", "remove", "sort" } do
    environment.table[name] = guarded(environment.table[name])
  end
end

local function copy_of(values)
  local copy = {}
  for name, value in next, values do copy[name] = value end
  return copy
end

local function write_to_output(line) io.write(line) end

---@class blis.SandboxOptions
---@field write? fun(line: string) gets what it prints; default: standard output does
---@field seed? integer of math.random, default 0
---@field is_policy? boolean it makes policies, and runs nothing itself
---@field wrap? fun(spec: any): any is put around what it makes policies of
---@field role? string of a candidate: its math.random is a stream of its own
---@field guard? fun(t: any) raises where a function of the library may not write to t
---@field finish? fun(environment: table): table returns the environment that the script gets
---@field readers? { reader: fun(fn: function): function; pairs: fun(fn: function): function } are
--- put around functions that read tables, where there is a guard

--- The environment of a script.
---@param options? blis.SandboxOptions
---@return table
function sandbox.environment(options)
  options = options or {}
  local shown = facade(options)
  local environment = {}
  for name, value in pairs(base) do environment[name] = value end
  environment.print = new_print(options.write or write_to_output)
  environment.string, environment.table = {}, {}
  for name, fn in pairs(text) do environment.string[name] = fn end
  for name, fn in pairs(lists) do environment.table[name] = fn end
  environment.math = {}
  for _, name in ipairs { "abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger",
    "min", "mininteger", "modf", "pi", "random", "sqrt", "tointeger", "type", "ult", "cos", "sin",
    "tan", "acos", "asin", "atan", "deg", "rad" } do
    environment.math[name] = math[name]
  end
  if options.role then
    environment.math.random = own_random(options.seed or 0, options.role)
  end
  function environment.require(name)
    if name ~= "blis" then fail("require '%s': only 'blis' is offered", sandbox.tostring(name)) end
    return shown
  end
  if options.guard then add_guard(environment, options.guard, options.readers) end
  environment._G = environment
  return environment
end

local function check_source(source)
  if #source > max_source then
    errors.raise("sandbox", ("sandbox: the script has %d bytes, at most %d are allowed"):format(
      #source, max_source))
  end
  local number = 0
  for line in source:gmatch "[^\n]*" do
    number = number + 1
    if #line > max_line then
      errors.raise("sandbox", ("sandbox: line %d has more than %d letters"):format(number,
        max_line))
    end
  end
end

--- Loads a script; raises for syntax errors. After this call, scripts have only the offered methods
--- of strings, no code of the process can open files, and math.random starts with the seed. Call it
--- only in a separate process.
---@param source string
---@param name string for messages
---@param options? blis.SandboxOptions
---@return function
function sandbox.load(source, name, options)
  options = options or {}
  source = source:gsub("^#[^\n]*", "")
  check_source(source)
  local environment = sandbox.environment(options)
  if options.finish then environment = options.finish(environment) end
  local function refuse(path) return nil, path .. ": the sandbox has no files" end
  io.open, core.open_input = refuse, refuse
  -- A table that no script can write to: methods of strings are the same for all scripts.
  core.sandbox_seal(copy_of(text))
  math.randomseed(options.seed or 0)
  local chunk, problem = chunks.load(source, "=" .. name, environment)
  if not chunk then errors.raise("load", problem) end
  return chunk
end

return sandbox
