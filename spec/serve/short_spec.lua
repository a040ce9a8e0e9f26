--- Short evaluations behind long ones.
local jobs = require "blis.serve.jobs"
local json = require "blis.json"
local core = require "blis.core"
local program = require "spec.support.program"

local suite = "spec/eval/small_suite.lua"

local function evaluate(id, lua, more)
  local params = { program = { lua = lua }, scenario = "a" }
  for key, value in pairs(more or {}) do params[key] = value end
  return json.encode(json.object("id", id, "method", "evaluate", "params", params))
end

--- Sends lines; returns the answers by id, and the ids in order.
local function talk(lines, flags)
  local by_id, order = {}, {}
  program.with_file(table.concat(lines, "\n") .. "\n", function(path)
    local outcome = program.shell(('cat %s | "$BLIS" serve --stdio --suite %s %s'):format(path,
      suite, flags or ""))
    for line in outcome.out:gmatch "[^\n]+" do
      local object = json.decode(line)
      if object.id then by_id[object.id], order[#order + 1] = object, object.id end
    end
  end)
  return by_id, order
end

local endless = "return function() while true do end end"
local long = { limits = { instructions = 1000000000000, wall_s = 0.8 } }

describe("a short evaluation #host", function()
  it("is answered before the long ones that came first", function()
    local lines, count = {}, 4
    for i = 1, count do lines[i] = evaluate("long" .. i, endless, long) end
    lines[count + 1] = evaluate("short", "return 'round-robin'", { seeds = { 1, 2, 3 } })
    local by_id, order = talk(lines, "--workers 1")
    assert.equal(count + 1, #order)
    assert.equal("short", order[1])
    assert.is_true(by_id.short.ok)
    for i = 1, count do assert.equal("timeout", by_id["long" .. i].error.code) end
  end)

  it("has the result that it has alone", function()
    local short = evaluate("short", "return 'round-robin'", { seeds = { 1, 2 } })
    local alone = talk({ short })
    local behind = talk({ evaluate("long", endless, long), short }, "--workers 1")
    alone.short.result.cpu_s, behind.short.result.cpu_s = nil, nil
    assert.same(alone.short, behind.short)
  end)
end)

describe("jobs", function()
  --- Jobs whose processes are numbers, at a time that the spec sets.
  local function fake(count)
    local submitted, cancelled = {}, {}
    local self = jobs.new(count)
    self.workers = { submit = function(_, number, limit_us)
      submitted[#submitted + 1] = { number = number, limit_us = limit_us }
    end, cancel = function(_, number) cancelled[#cancelled + 1] = number end }
    return self, submitted, cancelled
  end

  local function add(self, wall_s)
    return jobs.add(self, function() end, { name = "x", limits = { wall_s = wall_s, cpu_s = 1,
      memory_mb = 1 } }, function() end)
  end

  --- Lets all tasks that have started count as long.
  local function grow_old(self)
    for _, one in pairs(self.tasks) do one.start_us = core.clock_us() - 10000000 end
  end

  it("get a short time only behind long tasks, the last one first, once", function()
    local self, submitted = fake(1)
    local list = {}
    for i = 1, 7 do list[i] = add(self, 60) end
    jobs.start(self)
    assert.equal(1, #submitted)
    assert.equal(60000000, submitted[1].limit_us)
    jobs.start(self)
    assert.equal(1, #submitted)
    grow_old(self)
    jobs.start(self)
    assert.equal(5, #submitted) -- four short ones
    for i = 2, 5 do
      assert.equal(400000, submitted[i].limit_us)
      assert.equal(list[9 - i], self.tasks[submitted[i].number].job)
    end
    jobs.accept(self, submitted[2].number, "time", "", 0)
    assert.is_false(list[7].is_over)
    jobs.start(self)
    assert.equal(6, #submitted)
    assert.equal(list[3], self.tasks[submitted[6].number].job)
    for i = 3, 6 do jobs.accept(self, submitted[i].number, "time", "", 0) end
    jobs.start(self)
    assert.equal(7, #submitted) -- job 2, and then none again
    jobs.accept(self, submitted[7].number, "time", "", 0)
    jobs.start(self)
    assert.equal(7, #submitted)
    jobs.cancel(self, list[1])
    for i = 2, 7 do -- in order of arrival, with their own limits
      jobs.start(self)
      local last = submitted[#submitted]
      assert.equal(60000000, last.limit_us)
      assert.equal(list[i], self.tasks[last.number].job)
      jobs.cancel(self, list[i])
    end
    assert.equal(0, self.started)
    assert.equal(0, self.short)
    assert.equal(0, self.waiting)
  end)

  it("with a smaller limit time out in their short time", function()
    local self, submitted = fake(1)
    add(self, 60)
    local small = add(self, 0.1)
    jobs.start(self)
    grow_old(self)
    jobs.start(self)
    assert.equal(100000, submitted[2].limit_us)
    jobs.accept(self, submitted[2].number, "time", "", 0)
    assert.is_true(small.is_over)
  end)
end)
