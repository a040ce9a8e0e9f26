--- Functions over columns, for test_column_program.c, which gives `vec` and `translate`.
---
--- translate(function, request, columns, base) gives "never", "not now" or try(request, columns,
--- base), which fails unless program and function agree, and says whether the program has run and
--- whether the function has returned.

local seed = tonumber(os.getenv("BLIS_SEED") or 1)
local rounds = tonumber(os.getenv("BLIS_ROUNDS") or 3000)
math.randomseed(seed)

local function one_of(list) return list[math.random(#list)] end

local usual = { 0, -0.0, 1, 2, -1, 0.5, 3, 1 / 3, 1e-3, 7, 100, 2 ^ 53, -2.5, 12345 }
local odd = { 1 / 0, -1 / 0, 0 / 0, 1e308, 5e-324, math.maxinteger, math.mininteger }

local function number()
  return math.random() < 0.06 and one_of(odd) or math.random() < 0.3 and math.random()
    or one_of(usual)
end

local function column(count)
  local items = {}
  for i = 1, count do items[i] = number() end
  return vec.new(items)
end

local function request() return { n = number(), m = number() } end

local function columns(count)
  return { a = column(count), b = column(count), c = column(count) }
end

-- What random functions refer to; changed between their calls.
local outside = {}

local function settle()
  outside.w, outside.k = number(), number()
  outside.cfg = { weight = number(), deep = { x = number() } }
  outside.vec, outside.norm = vec, vec.norm
  scale = number() -- luacheck: ignore
end

local expression

local function scalar(depth)
  if depth <= 0 or math.random() < 0.3 then
    return one_of { "2", "0.5", "3", "-1", "1e3", "300", "70000", "0", "r.n", "r.m", "w", "k",
      "cfg.weight", "cfg.deep.x", "scale", "vec.min(c.a)", "vec.max(c.b)", "vec.sum(c.c)" }
  end
  local pick = math.random(6)
  if pick == 1 then return "-(" .. scalar(depth - 1) .. ")" end
  if pick == 2 then
    return ("vec.%s(%s)"):format(one_of { "min", "max", "sum" }, expression(depth - 1))
  end
  return ("(%s %s %s)"):format(scalar(depth - 1), one_of { "+", "-", "*", "/", "^" },
    scalar(depth - 1))
end

local function either(depth)
  return math.random() < 0.4 and scalar(depth) or expression(depth)
end

--- A text whose value is a vector.
function expression(depth)
  if depth <= 0 or math.random() < 0.15 then return one_of { "c.a", "c.b", "c.c", "base" } end
  local pick = math.random(10)
  if pick <= 5 then
    local a, b = expression(depth - 1), either(depth - 1)
    if math.random() < 0.5 then a, b = b, a end
    return ("(%s %s %s)"):format(a, one_of { "+", "-", "*", "/", "^" }, b)
  elseif pick == 6 then
    return ("-(%s)"):format(expression(depth - 1))
  elseif pick == 7 then
    return ("%s(%s%s)"):format(one_of { "norm", "vec.norm" }, expression(depth - 1),
      one_of { "", ", 1", ", " .. scalar(1) })
  elseif pick == 8 then
    return ("vec.clamp(%s%s)"):format(expression(depth - 1),
      one_of { "", ", 0", ", 0.25, 0.75", ", -1, 8", ", w, k" })
  elseif pick == 9 then
    return ("vec.where(%s, %s, %s)"):format(expression(depth - 1), either(depth - 1),
      either(depth - 1))
  end
  return ("vec.%s(%s, %s)"):format(one_of { "min", "max", "lt", "le", "gt", "ge", "eq" },
    expression(depth - 1), either(depth - 1))
end

-- Statements that end or forbid a program, or are harmless.
local statements = {
  "local x = %s", "local x, y = %s, c.a", "local x = w x = %s", "if r.n then w = w end",
  "for i = 1, 2 do k = i end", "local x = #c.a", "local f = function() return w end",
  "r.n = 1", "w = 3", "local x = math.floor(2.5)", "local x = c.a[1]", "local x = {}",
  "local x = r.n and 1 or 2", "local x = c['a']",
}

local function source()
  local body = {}
  for _ = 1, math.random(0, 2) do
    local text = math.random() < 0.8 and statements[math.random(2)] or one_of(statements)
    body[#body + 1] = text:format(expression(2))
  end
  body[#body + 1] = ("return %s"):format(math.random() < 0.9 and expression(4) or scalar(3))
  return table.concat(body, "\n  ")
end

--- The function of a text, with upvalues that `change` sets from outside.
local function compile(text)
  local made = assert(load(([[
    local vec, norm, w, k, cfg
    local function score(r, c, base)
      %s
    end
    local function change(o) vec, norm, w, k, cfg = o.vec, o.norm, o.w, o.k, o.cfg end
    return score, change]]):format(text)))
  return made()
end

-- What may become of a value between two calls.
local changes = {
  settle, settle, settle,
  function() outside.w = "12" end,
  function() outside.w = nil end,
  function() outside.w = vec.new { 1, 2, 3 } end,
  function() outside.k = {} end,
  function() outside.cfg = 7 end,
  function() outside.cfg = setmetatable({}, { __index = { weight = 2, deep = { x = 1 } } }) end,
  function() outside.cfg = { weight = 1 } end,
  function() outside.cfg = { deep = outside.norm } end,
  function()
    outside.cfg = { weight = 2 }
    outside.cfg.deep = setmetatable({}, { __index = function() return 5 end })
  end,
  function() outside.norm = vec.max end,
  function() outside.norm = function(v) return v * 2 end end,
  function() outside.vec = setmetatable({ norm = function() return 1 end }, { __index = vec }) end,
  function() scale = "1e1" end, -- luacheck: ignore
  function() scale = nil end, -- luacheck: ignore
}

local function odd_arguments(count)
  local r, c, base = request(), columns(count), column(count)
  local pick = math.random(8)
  if pick == 1 then r.n = one_of { "5", false, {} } end
  if pick == 2 then r.m = nil end
  if pick == 3 then c.a = number() end
  if pick == 4 then c.a = column(count + 1) end
  if pick == 5 then base = number() end
  if pick == 6 then setmetatable(r, { __index = function() return 9 end }) r.n = nil end
  return r, c, base
end

local seen = { never = 0, ["not now"] = 0, made = 0, ran = 0, declined = 0, raised = 0 }

local function try_random()
  local text = source()
  local score, change = compile(text)
  local count = math.random(1, 33)
  settle()
  change(outside)
  local try = translate(score, request(), columns(count), column(count))
  if type(try) == "string" then
    seen[try] = seen[try] + 1
    return
  end
  seen.made = seen.made + 1
  for call = 1, 8 do
    if call > 3 then
      one_of(changes)()
      change(outside)
    end
    local has_run, has_returned
    if call < 6 then
      local n = math.random(1, 33)
      has_run, has_returned = try(request(), columns(n), column(n))
    else
      has_run, has_returned = try(odd_arguments(count))
    end
    seen.ran = seen.ran + (has_run and 1 or 0)
    seen.declined = seen.declined + (has_run and 0 or 1)
    seen.raised = seen.raised + (has_returned and 0 or 1)
  end
end

for _ = 1, rounds do try_random() end
assert(seen.never > rounds / 20 and seen.made > rounds / 3 and seen.declined > rounds / 4
  and seen.ran > rounds and seen.raised > rounds / 10,
  ("never %d, not now %d, made %d, ran %d, declined %d, raised %d"):format(seen.never,
    seen["not now"], seen.made, seen.ran, seen.declined, seen.raised))

--- What becomes of a text with usual arguments.
local function outcome(text)
  settle()
  outside.w, outside.k = 0.25, 2
  outside.cfg, scale = { weight = 3, deep = { x = 4 } }, 2 -- luacheck: ignore
  local score, change = compile(text)
  change(outside)
  local r = { n = 7, m = 1.5 }
  local c = { a = vec.new { 1, 2, 3 }, b = vec.new { 0.5, 4, 2 }, c = vec.new { 1, 1, 1 } }
  local base = vec.new { 0, 1, 0.5 }
  local try = translate(score, r, c, base)
  if type(try) == "string" then return try end
  return try(r, c, base) and "ran" or "declined"
end

local function expect(expected, texts)
  for _, text in ipairs(texts) do
    local found = outcome(text)
    assert(found == expected, ("%s: expected %s, got %s"):format(text, expected, found))
  end
end

expect("ran", {
  "return 0.4 / (1 + c.a) + 0.6 * c.b",
  "local work = c.a + r.n - c.b return vec.norm(-work, 1)",
  "return norm(-(c.a + r.n) * (c.b + 1), 1)",
  "return c.a",
  "return base",
  "return 5",
  "return r.n * 2 + 1",
  "return 1 - c.a / vec.max(c.a), 5, 6",
  "return (vec.clamp(c.a * w + base * cfg.weight, 0, k))",
  "return vec.where(vec.gt(c.a, 1), 1, base) ^ 2 - cfg.deep.x * scale",
  "local x = w x = x + 1 return c.a * x",
})

expect("never", {
  "if r.n > 3 then return c.a end return c.b", -- a branch
  "return r.n > 3 and c.a or c.b",
  "w = w + 1 return c.a * w", -- a change
  "scale = 3 return c.a",
  "r.n = 4 return c.a",
  "cfg.weight = 4 return c.a",
  "for _ = 1, 2 do end return c.a",
  "return vec.new { 1, 2, 3 } + c.a",
  "return c.a + #c.a",
  "return c.a * c.a[1]",
  "return c[r.n]",
  "return r:n()",
  "local f = function() return 1 end return c.a",
  "return c.a + (r.n // 2)",
  "return c.a + (r.n & 2)",
  "return c.a + #'abc'",
  "return c.a + '1'",
  "return c.a .. 'x'",
  "return vec.norm(5)",
  "return vec.where(1, c.a, c.b)",
  "return vec.clamp(c.a, c.b)",
  "return vec.totable(c.a)",
  "return not c.a",
  "return nil",
  "return",
  "return c.a + nil",
  "local x <close> = nil return c.a",
  "return c.a.x",
  "return c.a" .. (" + c.b"):rep(80), -- long
  "return c.a" .. (" * w"):rep(20) .. (" + 0.125 * c.a"):rep(30),
})

expect("not now", { "return c.nothing", "return r.nothing + c.a", "return c.a * nothing",
  "return c.a + tostring(3)", "return c.a * math.floor(r.n)" })

expect("declined", { "return c.a + 0 / 0", "return vec.clamp(c.a, 2, 1)", "return 0 / 0",
  "return (c.a - 1) / (c.c - 1)" })

--- Functions of one candidate: the same texts, where c is the table of an instance.
local function single(depth)
  if depth <= 0 or math.random() < 0.2 then
    return one_of { "c.a", "c.b", "c.c", "c.a", "r.n", "w", "cfg.weight", "2", "0.5", "0", "-1" }
  end
  local pick = math.random(8)
  if pick == 1 then return ("-(%s)"):format(single(depth - 1)) end
  if pick == 2 then return ("vec.clamp(%s, %s)"):format(single(depth - 1), one_of { "0", "w" }) end
  if pick == 3 then
    return ("vec.%s(%s, %s)"):format(one_of { "min", "max", "lt" }, single(depth - 1),
      single(depth - 1))
  end
  return ("(%s %s %s)"):format(single(depth - 1), one_of { "+", "-", "*", "/", "^" },
    single(depth - 1))
end

local function signals(count)
  local values, instances = { a = {}, b = {}, c = {} }, {}
  for i = 1, count do
    instances[i] = { a = 1, b = 2, c = 3 }
    for _, list in pairs(values) do list[i] = number() + 0.0 end
  end
  return values, instances
end

local each = { never = 0, ["not now"] = 0, made = 0, ran = 0, declined = 0 }

for _ = 1, rounds do
  settle()
  local score, change = compile("return " .. single(5))
  change(outside)
  local values, instances = signals(math.random(1, 20))
  local try = translate_each(score, request(), instances[1])
  if type(try) == "string" then
    each[try] = each[try] + 1
  else
    each.made = each.made + 1
    for call = 1, 4 do
      local has_run = try(request(), instances, values)
      each.ran = each.ran + (has_run and 1 or 0)
      each.declined = each.declined + (has_run and 0 or 1)
      values, instances = signals(math.random(1, 20))
      one_of(changes)()
      if call > 1 then change(outside) end
    end
  end
end
assert(each.made > rounds * 0.8 and each.ran > rounds / 2 and each.declined > rounds / 2,
  ("never %d, not now %d, made %d, ran %d, declined %d"):format(each.never, each["not now"],
    each.made, each.ran, each.declined))

for text, expected in pairs {
  ["return c.a > 1 and 1 or 0"] = "never",
  ["return c"] = "never",
  ["c.a = 2 return c.b"] = "never",
  ["return c.a + c[1]"] = "never",
  ["return c.missing"] = "not now",
  ["return c.id"] = "not now",
  ["return vec.norm(c.a)"] = "never",
} do
  settle()
  local score, change = compile(text)
  change(outside)
  assert(translate_each(score, {}, { a = 1, b = 2, id = "x" }) == expected, text)
end

--- Vectors that have operators of somebody else's.
local meta = debug.getmetatable(vec.new { 1 })
local add = meta.__add
meta.__add = function() return vec.new { 9, 9, 9 } end
assert(outcome("return c.a + c.b") == "never")
meta.__add = add
assert(outcome("return c.a + c.b") == "ran")

--- A hook of the script's sees the function called.
debug.sethook(function() end, "c")
assert(outcome("return c.a + c.b") == "declined")
debug.sethook()

--- Functions without a parameter for what they are given, and with any number.
local c = { b = vec.new { 1, 2 } }
assert(type(translate(function() return 1 end, {}, c)) == "function")
assert(translate(function(...) return (select(2, ...)).b end, {}, c) == "never")
assert(translate(print, {}, c) == "never")
