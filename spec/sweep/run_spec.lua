local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local notices = require "blis.notices"
local order = require "blis.sweep.order"
local program = require "blis.sweep.program"
local small = require "spec.support.small"
local store = require "blis.sweep.store"

local function square(p)
  return { square = p.x * p.x + p.seed / 1000, cube = p.x ^ 3 }
end

local function new_sweep(changes)
  local spec = {
    name = "squares", parameters = { { "x", { 1, 2, 3, 4, 5 } } }, replications = 3, trial = square,
    identity = "squares 1",
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.sweep(spec)
end

local function run(sweep, options)
  local given = { quiet = true, jobs = 2, shard = "0/1" }
  for key, value in pairs(options or {}) do given[key] = value end
  return sweep:run(given)
end

local function journals(folder)
  local list = {}
  for _, name in ipairs(core.folder(folder)) do
    if name:match("%.jsonl$") then list[#list + 1] = folder .. "/" .. name end
  end
  return list
end

local function has_sanitizer()
  local maps = files.read("/proc/self/maps")
  return maps and maps:find("libasan", 1, true) ~= nil
end

local function append_to(path, text)
  local file = assert(io.open(path, "ab"))
  file:write(text)
  file:close()
end

describe("blis.sweep", function()
  it("gives the same bytes for every number of workers", function()
    local one = run(new_sweep(), { jobs = 1 })
    for _, jobs in ipairs { 2, 7 } do
      local other = run(new_sweep(), { jobs = jobs })
      assert.equal(tostring(one), tostring(other))
      assert.equal(one:csv(), other:csv())
      assert.equal(one:markdown(), other:markdown())
    end
    assert.equal([[
squares: 5 points, 4 replications; mean ± half of the 95 % confidence interval (Student's t)

x            square
1   1.0435 ± 0.0021
2   4.0435 ± 0.0021
3   9.0435 ± 0.0021
4  16.0435 ± 0.0021
5  25.0435 ± 0.0021]], tostring(run(new_sweep { replications = 4, report = { "square" } },
      { jobs = 1 })))
  end)

  it("shows mean and range of few replications, and how many are needed", function()
    assert.equal([[
squares: 5 points, 3 replications; mean and range, because this is too few for intervals

x                        square
1     1.0430 (1.0420 to 1.0440)
2     4.0430 (4.0420 to 4.0440)
3     9.0430 (9.0420 to 9.0440)
4  16.0430 (16.0420 to 16.0440)
5  25.0430 (25.0420 to 25.0440)

intervals require at least 4 replications; detecting a change of 5 % in square takes about 4, ]]
      .. "of 10 % about 4 (blis.statistics.power)",
      tostring(run(new_sweep { report = { "square" } }, { jobs = 1 })))
  end)

  it("runs simulations and shows the figures that matter", function()
    local result = blis.sweep {
      parameters = { { "rate", { 20, 40 } } }, replications = 2,
      trial = function(p)
        local spec = small.experiment { seed = p.seed }
        spec.workload.rate = p.rate
        return blis.run(spec)
      end,
    }:run { quiet = true, jobs = 2 }
    assert.same({ "ttft_ms.mean", "ttft_ms.p99", "itl_ms.mean", "e2e_ms.mean", "e2e_ms.p99",
      "tokens_per_sec", "cache_hit_rate_overall" }, result.shown)
    local direct = blis.run(small.experiment { seed = 43 })
    assert.equal(direct.ttft_ms.p99, result:point({ rate = 40 }).values["ttft_ms.p99"][2])
  end)

  it("tells what became of trials that fail, and goes on", function()
    local kinds = { "good", "error", "object", "exit", "abort", "nothing" }
    -- A program with sanitizers does not survive a limit on its address space.
    local limit_mb = not has_sanitizer() and 100 or nil
    if limit_mb then kinds[#kinds + 1] = "memory" end
    local result = blis.sweep {
      name = "faults", parameters = { { "kind", kinds } },
      trial = function(p)
        if p.kind == "error" then error("so it is") end
        if p.kind == "object" then error { message = "an object" } end
        if p.kind == "exit" then os.exit(3) end
        if p.kind == "abort" then os.execute("kill -ABRT $PPID") end
        if p.kind == "memory" then
          local kept = {}
          while true do kept[#kept + 1] = ("x"):rep(1000):rep(1000) .. #kept end
        end
        if p.kind ~= "nothing" then return { value = 1 } end
      end,
    }:run { quiet = true, jobs = 2, memory_limit_mb = limit_mb }
    local reasons = {}
    for _, failure in ipairs(result.failures) do
      reasons[failure.name:match("kind=(%a+) seed=42")] = failure.reason
    end
    assert.matches("run_spec.lua:%d+: so it is$", reasons.error)
    assert.equal("an object", reasons.object)
    assert.equal("it ended its process with exit status 3", reasons.exit)
    assert.equal("its process was killed by signal 6 (SIGABRT)", reasons.abort)
    if limit_mb then assert.equal("out of memory (limit 100 MB)", reasons.memory) end
    assert.equal("the trial returned nil, expected a result, a table of numbers or a number",
      reasons.nothing)
    assert.equal(#kinds - 1, #result.failures)
    assert.equal(1, result:point({ kind = "good" }).n)
    small.says(tostring(result), #kinds - 1 .. " trials failed:\n  kind=error seed=42: ")
  end)

  it("ends trials that take too long", function()
    local result = blis.sweep {
      parameters = { { "x", { 1, 2, 3 } } },
      trial = function(p)
        while p.x == 2 do end -- luacheck: ignore
        return { y = p.x }
      end,
    }:run { quiet = true, jobs = 1, time_limit_us = 1000000 }
    assert.same({ "x=2 seed=42", "time", "it took longer than the time limit of 1 s" },
      { result.failures[1].name, result.failures[1].status, result.failures[1].reason })
    assert.equal(1, #result.failures)
  end)

  it("calls a figure that nobody returned by its nearest name", function()
    local result = run(new_sweep { report = { "squared" } })
    small.says(result.failures[1].reason,
      "report: the trial returned no number 'squared'; did you mean 'square'?")
  end)

  it("gives every trial the same random numbers, whoever runs it", function()
    local function draws(jobs)
      local sweep = new_sweep { trial = function() return { draw = math.random() } end }
      return run(sweep, { jobs = jobs }):csv()
    end
    assert.equal(draws(1), draws(3))
  end)

  it("keeps order where there are no workers to spare", function()
    local sweep = blis.sweep { parameters = { { "x", { 1 } } }, trial = function(p) return p.x end }
    assert.equal("sweep: 1 point, 1 replication\n\nx  value\n1  1.000", tostring(run(sweep)))
  end)
end)

describe("the store of a sweep", function()
  it("makes a second run do what is missing only", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep()))
      run(new_sweep { parameters = { { "x", { 1, 3 } } } }, { store = folder })
      assert.equal(1, #journals(folder))
      local refuse = new_sweep { trial = function(p)
        if p.x == 1 or p.x == 3 then error("known") end
        return square(p)
      end }
      assert.equal(whole, tostring(run(refuse, { store = folder })))
      local nothing_left = new_sweep { trial = function() error("known") end }
      assert.equal(whole, tostring(run(nothing_left, { store = folder })))
      assert.equal(2, #journals(folder)) -- none for a run without trials
    end)
  end)

  it("does not mind a torn last line", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep(), { store = folder }))
      local path = journals(folder)[1]
      local text = files.read(path)
      for _, cut in ipairs { 1, 2, 100, 1000, #text - 40 } do
        os.remove(path)
        append_to(path, text:sub(1, -1 - cut))
        assert.equal(whole, tostring(run(new_sweep(), { store = folder })))
        for _, name in ipairs(journals(folder)) do
          if name ~= path then os.remove(name) end
        end
      end
    end)
  end)

  --- What run tells on the side.
  local function notes_of(body)
    local lines = {}
    local tell = notices.tell
    notices.tell = function(text) lines[#lines + 1] = text end
    local ok, problem = pcall(body)
    notices.tell = tell
    assert.is_true(ok, problem)
    return table.concat(lines, "\n")
  end

  it("does not mind other files, and says which one it cannot read", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep(), { store = folder }))
      append_to(folder .. "/README", "notes")
      append_to(folder .. "/other.json", "{}")
      append_to(folder .. "/empty.jsonl", "")
      core.make_folder(folder .. "/sub")
      assert.equal(whole, tostring(run(new_sweep { trial = error }, { store = folder })))
      core.make_folder(folder .. "/sub.jsonl")
      small.says(small.message_of(run, new_sweep(), { store = folder }),
        folder .. "/sub.jsonl: Is a directory")
    end)
  end)

  it("leaves out lines that are not as they were written, and says which", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep(), { store = folder }))
      local path = journals(folder)[1]
      local text = files.read(path)
      local stream = blis.rng(1)
      local first = text:find("\n", 1, true)
      for k = 1, 40 do
        local at = stream:integer(first + 1, #text - 1)
        local byte = text:byte(at)
        -- A digit for a digit is JSON as before, and another figure.
        local is_digit = byte >= 48 and byte <= 57
        local other = is_digit and 48 + (byte - 47) % 10 or k % 2 * 65
        os.remove(path)
        append_to(path, text:sub(1, at - 1) .. string.char(other) .. text:sub(at + 1))
        local result
        local notes = notes_of(function() result = run(new_sweep(), { store = folder }) end)
        assert.equal(whole, tostring(result))
        local line = 1 + select(2, text:sub(1, at - 1):gsub("\n", ""))
        small.says(notes, ("%s: line %d is damaged"):format(path, line))
        for _, name in ipairs(journals(folder)) do
          if name ~= path then os.remove(name) end
        end
      end
      os.remove(path)
      append_to(path, text .. ("x\n"):rep(7))
      local notes = notes_of(function() run(new_sweep(), { store = folder }) end)
      small.says(notes, ("%s: lines 17, 18, 19, 20, 21 ... are damaged and skipped; trials without "
        .. "another record will run again"):format(path))
    end)
  end)

  it("keeps what trials return and say, whatever it is", function()
    folders.with(function(folder)
      local given = {
        numbers = { big = 2 ^ 63, bigger = 1e19, huge = 1e300, small = 5e-324, low = -2 ^ 70,
          integer = math.mininteger, none = 0 / 0, infinite = -math.huge, flag = true },
        deep = (function() local t = { y = 1 } t.t = t return t end)(),
        list = { 1, 2, 3, x = 4 }, empty = {},
      }
      local sweep = { name = "any", identity = "any",
        parameters = { { "kind", { "numbers", "deep", "list", "empty", "bytes", "zero", "long",
          "name", "twice" } } },
        trial = function(p)
          if p.kind == "bytes" then error("\xff\xfe\27[31m", 0) end
          if p.kind == "zero" then error("a\0b", 0) end
          if p.kind == "long" then error(("x"):rep(1000000), 0) end
          if p.kind == "name" then return { ["a\nb"] = 1 } end
          if p.kind == "twice" then return { ["a.b"] = 1, a = { b = 2 } } end
          return given[p.kind]
        end }
      local first = run(blis.sweep(sweep), { store = folder })
      sweep.trial = error
      local again = run(blis.sweep(sweep), { store = folder })
      assert.equal(tostring(first), tostring(again))
      local values = again:point({ kind = "numbers" }).values
      for name, value in pairs { big = 2 ^ 63, bigger = 1e19, huge = 1e300, small = 5e-324,
        low = -2 ^ 70, integer = math.mininteger, flag = 1 } do
        assert.equal(value, values[name][1])
      end
      assert.is_nil(values.none)
      local reasons = {}
      for _, failure in ipairs(again.failures) do
        reasons[failure.name:match("=(%a+)")] = failure.reason
      end
      assert.equal("\u{fffd}\u{fffd}\\027[31m", reasons.bytes)
      assert.equal("a\\000b", reasons.zero)
      assert.equal(("x"):rep(4000) .. " ...", reasons.long)
      small.says(reasons.name, "the trial returned a metric named \"a\\\nb\", expected a name "
        .. "without control characters")
      assert.equal("the trial returned two metrics 'a.b'", reasons.twice)
      assert.is_true(#tostring(again) < 3000)
    end)
  end)

  it("is of the version whose sources computed it", function()
    local version = program.id()
    assert.matches("^%d+%.%d+%.%d+[-%w]*%+%x+%.%x+$", version)
    assert.equal(24, #version:match("%+(.*)"):gsub("%.", ""))
    folders.with(function(folder)
      run(new_sweep(), { store = folder })
      assert.equal(version, store.plan(folder).program)
      assert.equal(version, core.json_read(files.read(journals(folder)[1]):match("[^\n]+")).program)
    end)
  end)

  -- A store that another version has left behind, with its figures a thousand times larger.
  local function with_old_store(body)
    folders.with(function(folder)
      local id = program.id
      program.id = function() return "0.0.9+old" end
      run(new_sweep { trial = function(p) return { square = p.x * 1000, cube = 0 } end },
        { store = folder })
      program.id = id
      body(folder)
    end)
  end

  it("refuses results of another version politely", function()
    with_old_store(function(folder)
      small.says(small.message_of(run, new_sweep(), { store = folder }),
        ("%s: it contains results of blis 0.0.9+old, but metrics of blis %s may differ. To run "
          .. "their trials again, use --other-versions ignore (in a script: other_versions = "
          .. "\"ignore\"). To use them, use --other-versions keep. Or use another folder"):format(
          folder, program.id()))
      assert.equal("0.0.9+old", store.plan(folder).program)
      assert.equal(1, #journals(folder))
    end)
    folders.with(function(folder)
      run(new_sweep(), { store = folder })
      local path = journals(folder)[1]
      os.remove(path)
      append_to(path, "hello\n")
      small.says(small.message_of(run, new_sweep(), { store = folder }),
        path .. ":1: not the journal of a sweep")
    end)
  end)

  it("runs the trials of another version again when asked to, and remembers that", function()
    with_old_store(function(folder)
      local whole = tostring(run(new_sweep()))
      assert.equal(whole,
        tostring(run(new_sweep(), { store = folder, other_versions = "ignore" })))
      assert.equal(whole, tostring(run(new_sweep { trial = error }, { store = folder })))
      assert.equal(2, #journals(folder))
    end)
  end)

  it("counts results of another version when asked to, and does what is missing", function()
    with_old_store(function(folder)
      local more = { parameters = { { "x", { 1, 6 } } } }
      local result = run(new_sweep(more), { store = folder, other_versions = "keep" })
      assert.equal(1000, result:point({ x = 1 }).metrics.square.mean)
      assert.near(36.043, result:point({ x = 6 }).metrics.square.mean, 1e-9)
      more.trial = error
      assert.equal(tostring(result), tostring(run(new_sweep(more), { store = folder })))
    end)
  end)

  it("refuses what is no plan of a sweep", function()
    folders.with(function(folder)
      run(new_sweep(), { store = folder })
      local path = folder .. "/sweep.json"
      local text = files.read(path)
      for _, change in ipairs {
        { '"sweep": 1', '"sweep": 2' }, { '"name": "squares"', '"name": 7' },
        { '"names": %[.-%]', '"names": "x"' }, { '"points": %[', '"points": [7,' },
        { '"replications": 3', '"replications": -3' }, { '"level": 0.95', '"level": 95' },
        { '"interval": "student%-t"', '"interval": "t"' }, { '"seed": 42', '"metric": "y"' },
        { '"names"', '"versions": {"1": "eat"}, "names"' }, { '"names"', '"colour": 1, "names"' },
        { "^{", "[" }, { "..$", "" },
      } do
        local changed, n = text:gsub(change[1], change[2], 1)
        assert.equal(1, n)
        os.remove(path)
        append_to(path, changed)
        small.says(small.message_of(run, new_sweep(), { store = folder }), path .. ":")
      end
    end)
  end)

  it("runs trials again when the script or an input changes", function()
    folders.with(function(folder)
      local function trial_count(changes)
        local sweep = new_sweep(changes)
        run(sweep, { store = folder })
        return #journals(folder)
      end
      assert.equal(1, trial_count())
      assert.equal(1, trial_count())
      assert.equal(2, trial_count { identity = "squares 2" })
      files.with("a", function(path)
        assert.equal(3, trial_count { inputs = path })
        assert.equal(3, trial_count { inputs = path })
        append_to(path, "b")
        assert.equal(4, trial_count { inputs = path })
      end)
    end)
  end)

  it("gives the table of one run when shards have done all", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep()))
      for i = 0, 3 do
        local part = run(new_sweep(), { store = folder, shard = i .. "/4" })
        if i == 0 then small.says(tostring(part), " trials not run yet") end
      end
      assert.equal(whole, tostring(run(new_sweep { trial = error }, { store = folder })))
    end)
  end)

  --- The values of x in the order of a journal of one worker.
  local function order_of(path)
    local list = {}
    for x in files.read(path):gmatch('"parameters":{"x":(%d+)}') do
      if list[#list] ~= tonumber(x) then list[#list + 1] = tonumber(x) end
    end
    return list
  end

  it("has long trials done first, when they are known to be long", function()
    folders.with(function(folder)
      local whole = tostring(run(new_sweep()))
      local cost = function(p) return -math.abs(p.x - 3) end
      assert.equal(whole, tostring(run(new_sweep { cost = cost }, { store = folder, jobs = 1 })))
      assert.same({ 3, 2, 4, 1, 5 }, order_of(journals(folder)[1]))
    end)
  end)

  it("has trials done first that took long before, and before them those nobody knows", function()
    local self = new_sweep().plan
    local known, indices = {}, {}
    for i, wall_us in pairs { [1] = 10, [2] = 30, [4] = 50, [10] = 20 } do
      known[self.trials[i].key] = { status = "done", wall_us = wall_us } -- points 1, 1, 2 and 4
    end
    known[self.trials[7].key] = { status = "time" } -- point 3
    for i = 1, #self.trials do
      if not known[self.trials[i].key] then indices[#indices + 1] = i end
    end
    order.longest_first(self, indices, {}, known)
    assert.same({ 8, 9, 13, 14, 15, 5, 6, 3, 11, 12 }, indices)
  end)

  it("says what is wrong with costs", function()
    small.says(small.message_of(run, new_sweep { cost = function() return "long" end }),
      "cost: the function returned 'long', expected a number")
    small.says(small.message_of(run, new_sweep { cost = function(p) return p.y end }),
      "p: unknown parameter 'y'")
  end)

  it("is needed for shards", function()
    small.says(small.message_of(run, new_sweep(), { shard = "1/2" }),
      "shard: requires a store, to combine the parts")
    for _, text in ipairs { "2/2", "1", "a/b", "-1/2" } do
      small.says(small.message_of(run, new_sweep(), { shard = text, store = "x" }),
        ("shard: invalid value '%s': expected I/N with I from 0 to N-1"):format(text))
    end
  end)
end)

describe("a shard", function()
  local shard = require "blis.sweep.shard"

  local function from(variables)
    local part = shard.from_environment(function(name) return variables[name] end)
    return part and ("%d/%d %s"):format(part.index, part.count, part.source)
  end

  it("is found in the environment of array jobs", function()
    assert.is_nil(from {})
    assert.equal("2/4 SLURM_ARRAY_TASK_ID", from { SLURM_ARRAY_TASK_ID = "5",
      SLURM_ARRAY_TASK_COUNT = "4", SLURM_ARRAY_TASK_MIN = "1", SLURM_ARRAY_TASK_STEP = "2" })
    assert.equal("3/4 SLURM_ARRAY_TASK_ID", from { SLURM_ARRAY_TASK_ID = "3",
      SLURM_ARRAY_TASK_COUNT = "2", SLURM_ARRAY_TASK_MIN = "0", SLURM_ARRAY_TASK_MAX = "3",
      SLURM_ARRAY_TASK_STEP = "1" })
    assert.equal("1/3 SLURM_ARRAY_TASK_ID", from { SLURM_ARRAY_TASK_ID = "4",
      SLURM_ARRAY_TASK_COUNT = "3", SLURM_ARRAY_TASK_MIN = "1", SLURM_ARRAY_TASK_MAX = "7",
      SLURM_ARRAY_TASK_STEP = "3" })
    -- The numbers of the first time mean the same parts, alone or together.
    for number, part in pairs { ["1"] = 1, ["2"] = 2, ["4"] = 0 } do
      assert.equal(part .. "/4 SLURM_ARRAY_TASK_ID", from { SLURM_ARRAY_TASK_ID = number,
        SLURM_ARRAY_TASK_COUNT = "2", SLURM_ARRAY_TASK_MIN = "2", SLURM_ARRAY_TASK_MAX = "4",
        BLIS_SHARDS = "4" })
    end
    small.says(small.message_of(from, { SLURM_ARRAY_TASK_ID = "3", BLIS_SHARDS = "none" }),
      "SLURM_ARRAY_TASK_ID: invalid value 3/none")
    assert.equal("3/8 JOB_COMPLETION_INDEX",
      from { JOB_COMPLETION_INDEX = "3", BLIS_SHARDS = "8" })
    assert.equal("0/2 HQ_TASK_ID", from { HQ_TASK_ID = "0", BLIS_SHARDS = "2" })
    assert.equal("1/3 OMPI_COMM_WORLD_RANK",
      from { OMPI_COMM_WORLD_RANK = "1", OMPI_COMM_WORLD_SIZE = "3" })
    assert.equal("1/3 PMI_RANK", from { PMI_RANK = "1", PMI_SIZE = "3" })
    assert.equal("4/5 BLIS_SHARD", from { BLIS_SHARD = "4/5", PMI_RANK = "1", PMI_SIZE = "3" })
    assert.is_nil(from { BLIS_SHARD = "", SLURM_ARRAY_TASK_ID = "" })
    small.says(small.message_of(from, { SLURM_ARRAY_TASK_ID = "x", SLURM_ARRAY_TASK_COUNT = "2" }),
      "SLURM_ARRAY_TASK_ID: invalid value 'x': expected an integer; set --shard I/N to "
        .. "override the environment")
    small.says(small.message_of(from, { HQ_TASK_ID = "3" }), "HQ_TASK_ID is set, but the number of "
      .. "shards is not: set BLIS_SHARDS, or use --shard 3/N (0/1 for all trials)")
    small.says(small.message_of(from, { PMI_RANK = "3", PMI_SIZE = "3" }),
      "PMI_RANK: invalid value 3/3: expected I/N with I from 0 to N-1")
  end)
end)

describe("replications until an interval is narrow enough", function()
  local function noisy(p)
    return { y = 10 + p.noise * blis.rng(p.seed, "noise"):normal() }
  end

  local function new(changes)
    local spec = { parameters = { { "noise", { 0.01, 1, 20 } } }, trial = noisy, identity = "noisy",
      replications = { min = 5, max = 40, metric = "y", precision = 0.1 } }
    for key, value in pairs(changes or {}) do spec[key] = value end
    return blis.sweep(spec)
  end

  it("are as many as each point needs, whatever the number of workers", function()
    local result = run(new(), { jobs = 1 })
    assert.equal(5, result.points[1].n)
    assert.is_true(result.points[2].n >= 5 and result.points[2].n < 40)
    assert.equal(40, result.points[3].n)
    assert.is_true(result.points[2].metrics.y.half_width <= 0.1 * result.points[2].metrics.y.mean)
    assert.equal(tostring(result), tostring(run(new(), { jobs = 7 })))
  end)

  it("are resumed", function()
    folders.with(function(folder)
      local whole = tostring(run(new()))
      run(new { parameters = { { "noise", { 1 } } } }, { store = folder })
      assert.equal(whole, tostring(run(new(), { store = folder })))
      assert.equal(whole, tostring(run(new { trial = error }, { store = folder })))
    end)
  end)

  it("cannot be sharded", function()
    small.says(small.message_of(run, new(), { shard = "0/2", store = "x" }),
      "set replications to a number")
  end)
end)

describe("the table of a sweep", function()
  local result

  setup(function() result = run(new_sweep { report = { "square" } }) end)

  it("finds points", function()
    assert.equal(4, result:best("square", "max").parameters.x - 1)
    assert.equal("x=1", result:best("square").name)
    assert.near(9.043, result:point({ x = 3 }).metrics.square.mean, 1e-9)
    assert.is_nil(result:point { x = 9 })
    small.says(small.message_of(result.best, result, "sqare"),
      "squares: unknown metric 'sqare'; did you mean 'square'?")
  end)

  it("compares points by common seeds", function()
    local paired = result:paired({ x = 1 }, { x = 2 }, "cube")
    assert.equal("ratio", paired.kind)
    assert.near(7, paired.change, 1e-12)
    assert.equal(3, paired.higher)
  end)

  it("does not compare what does not belong together", function()
    local spec = { parameters = { { "x", { 1, 2 } } }, replications = 3, identity = "gaps",
      trial = function(p)
        return { y = p.replication == p.x and 0 / 0 or p.x, z = p.x + p.replication }
      end }
    local gaps = run(blis.sweep(spec))
    small.says(small.message_of(gaps.paired, gaps, { x = 1 }, { x = 2 }, "y"),
      "sweep: y of x=1 is a number in only 2 of 3 replications, so pairs are incomplete")
    assert.equal(3, gaps:paired({ x = 1 }, { x = 2 }, "z").n)
    small.says(tostring(gaps), "\ny is not a number in 2 of 6 trials; means are over the others")
    assert.is_nil(tostring(gaps):find("z is not a number", 1, true))
  end)

  it("has points and pairs that can be printed", function()
    assert.equal("x=2, 3 of 3 runs\n  square 4.043 (95 % CI 4.04052 to 4.04548, 3 values)",
      tostring(result:point { x = 2 }))
    assert.equal("287.6 % (95 % CI 286.9 % to 288.3 %, 3 pairs, p < 0.0001, effect 1.9e+03)",
      tostring(result:paired({ x = 1 }, { x = 2 }, "square")))
  end)

  it("names each reason of failures once", function()
    local failing = run(new_sweep { trial = function(p)
      if p.x > 1 then error("x is " .. (p.x > 3 and "large" or "small"), 0) end
      return 1
    end })
    small.says(tostring(failing), "\n12 trials failed:\n  x=2 seed=42 and 5 more: x is small\n"
      .. "  x=4 seed=42 and 5 more: x is large")
  end)

  it("shows as many figures as can be read", function()
    local figures = {}
    for i = 1, 15 do figures[("f%02d"):format(i)] = i end
    local wide = run(blis.sweep { trial = function() return figures end })
    small.says(tostring(wide), "f11    f12\n")
    small.says(tostring(wide), "\n3 figures more: select with report = { ... }; CSV has all")
    assert.matches("f15,f15.low,f15.high\n", wide:csv(), 1, true)
  end)

  it("is written as CSV, Markdown and files for gnuplot", function()
    assert.matches("^x,runs,square,square.low,square.high\n1,3,1.043,,\n", result:csv())
    assert.matches("\n2,4,4.0435,4.0414",
      run(new_sweep { replications = 4, report = { "square" } }):csv(), 1, true)
    assert.matches("^| x | square |\n| %-%-%-: | %-%-%-: |\n| 1 | 1.0430 %(1.0420 to 1.0440%) |",
      result:markdown())
    folders.with(function(folder)
      core.make_folder(folder)
      result:write_csv(folder .. "/a.csv")
      assert.equal(result:csv(), files.read(folder .. "/a.csv"))
      result:write_gnuplot(folder .. "/plot")
      assert.equal([[
# means and the range of their runs; run it in its own folder: gnuplot -p FILE
set xlabel "x" noenhanced
set ylabel "square" noenhanced
set key outside noenhanced
set grid
plot \
  "plot.dat" index 0 using 1:2:3:4 with yerrorlines title "square"
]], files.read(folder .. "/plot.gp"))
      local x, mean, low, high = files.read(folder .. "/plot.dat")
        :match "\n(%S+) (%S+) (%S+) (%S+)\n"
      assert.same({ 1, 1.043, 1.042, 1.044 },
        { tonumber(x), tonumber(mean), tonumber(low), tonumber(high) })
      run(new_sweep { replications = 4, report = { "square" } }):write_gnuplot(folder .. "/four")
      small.says(files.read(folder .. "/four.gp"), "# means and 95 % intervals")
    end)
  end)

  it("is plotted with characters", function()
    assert.equal([[
square over x
square
30 |
20 |                             a
   |                      a
10 |       a       a
 0 |a
   +-------+--------------+-------
           2              4
                  x]], result:plot { width = 30, height = 5 })
    local text = result:plot { width = 30, height = 5, log = "xy" }
    small.says(text, "square, logarithmic")
    small.says(text, "x, logarithmic")
    small.says(small.message_of(result.plot, result, { log = "z" }), "expected 'x', 'y' or 'xy'")
    small.says(small.message_of(result.plot, result, { widht = 3 }),
      "plot: unknown option 'widht'; did you mean 'width'?")
    small.says(small.message_of(result.plot, result, { x = "z" }),
      "plot: x: 'z' is not a parameter with numbers at all points; known are x")
  end)
end)
