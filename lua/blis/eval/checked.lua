--- A candidate that is watched: what its functions are shown can be read, not written, and it is
--- noted what they read. It is slower, so a short run is done like that, and the others are not.
local checked = {}

---@class blis.eval.Watch
---@field reads table<string, boolean> fields of requests and instances that were read
---@field violation? string where the candidate wrote to what it was shown

-- Tables in tables that a decision may be: { schedule = { { request, tokens }, ... } }.
local deepest = 4

local originals = setmetatable({}, { __mode = "k" })

-- The glass in front of each table: one, so that what is shown twice is equal.
local proxies = setmetatable({}, { __mode = "k" })

local show

--- Raises, and records, that the candidate wrote to a read-only value. The level is relative to the
--- candidate's function, as for error.
local function violate(watch, what, level)
  local ok, problem = pcall(error, ("writes %s, which is read-only"):format(what), level + 1)
  watch.violation = watch.violation or (not ok and problem)
  error(watch.violation, 0)
end

--- Raises where t is shown to the candidate.
---@param t any
---@param watch blis.eval.Watch
function checked.guard(t, watch)
  if originals[t] then violate(watch, "to what it is shown", 5) end
end

local function new_meta(original, watch)
  return {
    __index = function(_, key)
      if type(key) == "string" then watch.reads[key] = true end
      return show(original[key], watch)
    end,
    __newindex = function(_, key)
      violate(watch, ("'%s' to what it is shown"):format(tostring(key)), 3)
    end,
    __len = function() return #original end,
    __pairs = function()
      local step, state, first = pairs(original)
      return function(_, key)
        local next_key, value = step(state, key)
        return next_key, show(value, watch)
      end, original, first
    end,
    __metatable = false,
  }
end

--- Tables behind a wall of glass; everything else as it is.
function show(value, watch)
  if type(value) ~= "table" or originals[value] then return value end
  local proxy = proxies[value]
  if not proxy then
    proxy = setmetatable({}, new_meta(value, watch))
    originals[proxy], proxies[value] = value, proxy
  end
  return proxy
end

--- A library function that reads its first argument, for a candidate under observation. It reads
--- the original value, so the candidate cannot detect the observation.
---@param fn function
---@param watch blis.eval.Watch
---@return function
function checked.reader(fn, watch)
  return function(t, ...)
    local original = originals[t]
    if not original then return fn(t, ...) end
    local results = table.pack(fn(original, ...))
    for i = 1, results.n do results[i] = show(results[i], watch) end
    return table.unpack(results, 1, results.n)
  end
end

--- pairs for a candidate that is watched.
---@param pairs_of function
---@param watch blis.eval.Watch
---@return function
function checked.pairs(pairs_of, watch)
  return function(t)
    local original = originals[t]
    if not original then return pairs_of(t) end
    local step, state, first = pairs_of(original)
    return function(_, key)
      local next_key, value = step(state, key)
      return next_key, show(value, watch)
    end, t, first
  end
end

--- What a function returned, with what it was shown in place of the glass.
local function original_of(value, depth)
  if type(value) ~= "table" or depth == 0 then return value end
  if originals[value] then return originals[value] end
  for key, item in next, value do value[key] = original_of(item, depth - 1) end
  return value
end

local wrap

local function wrap_function(fn, watch)
  return function(...)
    local arguments = table.pack(...)
    for i = 1, arguments.n do
      -- Candidates may write the scores of score_all.
      if not (i == 3 and type(arguments[i]) == "table") then
        arguments[i] = show(arguments[i], watch)
      end
    end
    local results = table.pack(fn(table.unpack(arguments, 1, arguments.n)))
    for i = 1, results.n do results[i] = wrap(original_of(results[i], deepest), watch) end
    return table.unpack(results, 1, results.n)
  end
end

--- A copy in which every function is watched.
---@param value any
---@param watch blis.eval.Watch
---@return any
function wrap(value, watch)
  if type(value) == "function" then return wrap_function(value, watch) end
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = wrap(item, watch) end
  return copy
end

checked.wrap = wrap

---@return blis.eval.Watch
function checked.new() return { reads = {} } end

return checked
