--- Roles of a candidate: no value passes from one to another, but for declared signals.
local eval = require "blis.eval"
local small = require "spec.support.small"
local suites = require "blis.eval.suite"

local path = "spec/eval/small_suite.lua"
local known = {}

local function evaluate(lua, parameters)
  local suite = suites.read(path)
  local stage = { name = "train", split = "train", seeds = { 1 },
    scenarios = suite.stages.train.scenarios }
  return eval.run(suite, lua, "policy.lua", { stage = stage, limits = suite.limits, jobs = 2,
    known = known, parameters = parameters })
end

-- What a text does first, where the engine's hooks write, and what a router then reads.
local channels = {
  { "a variable", "local box = {}", "box.x = 1", "box.x" },
  { "a global variable", "", "X = 1", "X" },
  { "the table of globals", "", "rawset(_G, 'X', 1)", "rawget(_G, 'X')" },
  { "the functions for texts", "", "string.leak = 1", "string.leak" },
  { "methods of texts", "", "string.leak = 1", "(('').leak)" },
  { "the functions for numbers", "", "math.leak = 1", "math.leak" },
  { "the functions for tables", "", "table.leak = 1", "table.leak" },
  { "blis", "", "rawset(blis, 'leak', 1)", "rawget(blis, 'leak')" },
  { "functions on vectors", "", "blis.vec.leak = 1", "blis.vec.leak" },
  -- Late, when the run in which writes are noticed would be over.
  { "hints", "local shared = { n = 0 }", [[start = start or c and c.now_us
    if c and request.hints and c.now_us - start > 1100000 then request.hints.x = 1 end]],
    "r.hints and r.hints.x" },
  { "a prefix index", "local index, n = blis.prefix_index {}, 0", "n = n + 1", "n > 0" },
}

-- Hooks of engines, and others that see more than a router or see it earlier.
local hooks = {
  scheduler = [[scheduler = { name = "s", make_batch = function(c)
    local list = {}
    for i = 1, #c.running do list[i] = c.running[i] end
    for i = 1, #c.waiting do if #list < c.max_num_seqs then list[#list + 1] = c.waiting[i] end end
    local request = list[1] or {}
    WRITE
    return { schedule = list }
  end }]],
  order = "scheduler = function(request, b) WRITE return false end",
  preemption = "preemption = function(running) local request = running[1] WRITE return 1 end",
  admission = "admission = function(request) WRITE return blis.admit() end",
  priority = [[priority = function(request)
    if request.hints then WRITE end
    return 1, { n = 0 }
  end]],
}

local form = [[
local blis, n = require "blis", 0
PRELUDE
return { HOOK, routing = function(r, instances)
  local ok, value = pcall(function() return READ end)
  if ok and value then error "leak" end
  return 1 + r.prompt_tokens % #instances
end, MORE }]]

local function candidate_of(channel, hook, more)
  local text = form
  local parts = { MORE = more or "", HOOK = hooks[hook], PRELUDE = channel[2], READ = channel[4] }
  for word, by in pairs(parts) do
    text = text:gsub(word, function() return by end)
  end
  return (text:gsub("WRITE", function() return channel[3] end))
end

describe("roles of a candidate #host", function()
  for _, channel in ipairs(channels) do
    for _, hook in ipairs { "scheduler", "order" } do
      it(("share no value by %s: %s"):format(channel[1], hook), function()
        local priority = channel[1] == "hints"
          and "priority = function() return 1, shared end" or nil
        local result = evaluate(candidate_of(channel, hook, priority))
        assert.is_nil(result.feedback:find("leak", 1, true), result.feedback)
        assert.is_true(result.is_valid, result.feedback)
      end)
    end
  end

  it("share no variable, whatever the roles", function()
    for _, hook in ipairs { "preemption", "admission", "priority" } do
      local result = evaluate(candidate_of(channels[1], hook))
      assert.is_true(result.is_valid, hook .. result.feedback)
    end
  end)

  it("have copies of the hints that were given, one for each request", function()
    local result = evaluate [[
      local hints = { n = 0 }
      return { routing = "random", priority = function()
          hints.n = hints.n + 1
          return 1, hints
        end, scheduler = function(a, b)
          if a.hints.n == b.hints.n then error "shared" end
          return false
        end }]]
    assert.is_true(result.is_valid, result.feedback)
  end)

  it("draw random numbers from streams of their own", function()
    local function printed(draws)
      local result = evaluate(([[
        local n = 0
        return { scheduler = function(a, b) %s return false end, routing = function(r, all)
          n = n + 1
          if n <= 40 then print(math.random(1000000)) end
          return 1
        end }]]):format(draws))
      return result.feedback
    end
    assert.equal(printed "", printed "math.random()")
    assert.equal(printed "", printed "math.random(7)")
  end)

  it("print once while they are loaded, and each while it runs", function()
    local result = evaluate [[
      print "loaded"
      local n, m = 0, 0
      return { admission = function() n = n + 1 if n == 1 then print "admits" end
          return require("blis").admit() end,
        routing = function() m = m + 1 if m == 1 then print "routes" end return 1 end }]]
    for _, word in ipairs { "loaded", "admits", "routes" } do small.says(result.feedback, word) end
  end)
end)

describe("a candidate that is watched #host", function()
  it("is shown what looks as in every run", function()
    local result = evaluate [=[
      local done = false
      local function keys(t)
        local list = {}
        for key in pairs(t) do list[#list + 1] = tostring(key) end
        return table.concat(list, ",")
      end
      local function facts(r, all)
        local first = all[1]
        local ok_concat, joined = pcall(table.concat, all, ",")
        local one, two = table.unpack(all)
        local seen = {}
        for i, item in ipairs(all) do seen[#seen + 1] = i .. tostring(item == all[i]) end
        return table.concat({ type(r), type(all), type(first), #all, rawlen(all), rawlen(first),
          tostring(getmetatable(all)), tostring(getmetatable(first)), tostring(getmetatable(r)),
          tostring(rawequal(all[1], all[1])), tostring(all[1] == first), tostring(one == first),
          tostring(two == all[2]), tostring(rawget(all, 1) == first), tostring(next(all)),
          tostring(ok_concat), tostring(joined == nil), keys(all), keys(first), keys(r),
          table.concat(seen, " "), select("#", table.unpack(all)),
          tostring(({ [first] = true })[all[1]]) }, "|")
      end
      return function(r, all)
        if not done then
          done = true
          local ok, text = pcall(facts, r, all)
          print("facts " .. tostring(ok) .. " " .. tostring(text))
        end
        return 1
      end]=]
    assert.is_true(result.is_valid, result.feedback)
    local seen = {}
    for line in result.feedback:gmatch "  > facts ([^\n]*)" do seen[#seen + 1] = line end
    assert.equal(2, #seen, result.feedback)
    assert.equal(seen[2], seen[1])
    assert.matches("^true ", seen[1])
  end)

  it("is noticed when it writes, whatever it looks at first", function()
    for _, write in ipairs { "all[1].in_flight = 0", "rawset(all[1], 'in_flight', 0)",
      "all[1], all[2] = all[2], all[1]", "r.prompt_tokens = 1", "table.insert(all, all[1])",
      "table.sort(all, function() return false end)", "table.remove(all)" } do
      local result = evaluate(("return function(r, all) if rawlen(all) > 0 then %s end "
        .. "return 1 end"):format(write))
      assert.is_false(result.is_valid, write)
      small.says(result.feedback, "read-only")
    end
  end)
end)

-- Policies of engines. The router sends odd arrivals to one instance, and even ones to another.
local at_engines = {
  make_batch = [[scheduler = { name = "s", make_batch = function(c)
      local list = {}
      for _, one in ipairs(c.running) do list[#list + 1] = one end
      for _, one in ipairs(c.waiting) do
        if #list < c.max_num_seqs then list[#list + 1] = one end
      end
      if list[1] then note(list[1].arrival_us % 2) end
      return { schedule = list }
    end }]],
  on_arrival = [[scheduler = blis.scheduler { name = "s", make_batch = function(c)
      local list = {}
      for _, one in ipairs(c.running) do list[#list + 1] = one end
      for _, one in ipairs(c.waiting) do
        if #list < c.max_num_seqs then list[#list + 1] = one end
      end
      return { schedule = list }
    end, on_arrival = function(request) note(request.arrival_us % 2) end }]],
  goes_before = [[scheduler = function(a, b)
      note(a.arrival_us % 2)
      return false
    end]],
  fresh = [[scheduler = { name = "s", new = function()
      return { goes_before = function(a, b)
        note(a.arrival_us % 2)
        return false
      end }
    end }]],
}

local function odd_and_even(hook, more)
  return ([[
    local blis, seen = require "blis"
    local function note(odd)
      if seen and seen ~= odd then error "leak" end
      seen = odd
    end
    return { %s %s }]]):format(hook, more or "")
end

local by_parity = ", routing = function(r, all) return 1 + r.arrival_us % 2 end"

describe("engines of a candidate #host", function()
  for name, hook in pairs(at_engines) do
    it("share no variable: " .. name, function()
      local result = evaluate(odd_and_even(hook, by_parity))
      assert.is_true(result.is_valid, result.feedback)
    end)
  end

  it("have requests of both kinds without that router", function()
    local mixed = evaluate(odd_and_even(at_engines.make_batch, ', routing = "round-robin"'))
    assert.truthy(mixed.feedback:find("leak", 1, true), mixed.feedback)
  end)

  it("share no table that they are shown", function()
    local result = evaluate(([[
      local start
      return { scheduler = function(a, b)
          start = start or a.arrival_us
          local odd = a.arrival_us %% 2
          local mark = rawget(a, "mark")
          if mark and mark ~= odd then error "leak" end
          if a.arrival_us - start > 1100000 then rawset(a, "mark", odd) end
          return false
        end %s }]]):format(by_parity))
    assert.is_nil(result.feedback:find("leak", 1, true), result.feedback)
    assert.is_true(result.is_valid, result.feedback)
  end)

  it("draw their own random numbers", function()
    local result = evaluate(([[
      local first, is_printed = math.random(1000000000)
      return { scheduler = function(a, b)
          if not is_printed then print("draw " .. first) end
          is_printed = true
          return false
        end %s }]]):format(by_parity))
    local draws, count = {}, 0
    for draw in result.feedback:gmatch "draw (%d+)" do
      count = count + (draws[draw] and 0 or 1)
      draws[draw] = true
    end
    assert.equal(2, count, result.feedback)
  end)
end)
