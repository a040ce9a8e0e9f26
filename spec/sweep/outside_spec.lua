-- Sweeps that are driven from outside: ask and tell, and try.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local json = require "blis.json"
local program = require "spec.support.program"
local small = require "spec.support.small"

local script = [[
local blis = require "blis"
print "what a script prints"
print(blis.sweep {
  name = "s", replications = 2, report = { "y" },
  parameters = { { "a", { 1, 2, 3 } }, { "b", from = 0, to = 1, steps = 2 },
    { "kind", { "x", "z" } },
    { "extra", from = 1, to = 9, steps = 2, integer = true,
      when = function(p) return p.kind == "z" end } },
  where = function(p) return p.a ~= 2.25 end,
  trial = function(p)
    if p.a == 7 then error "seven" end
    return { y = p.a * p.seed + p.b, other = p.seed }
  end,
}:run())
]]

--- Calls body(path of the script, folder that is not there yet).
local function with_script(body)
  files.with(script, function(path)
    folders.with(function(folder) body(path, folder) end)
  end)
end

local function checked(...)
  local run = program.run("sweep", ...)
  assert.equal(0, run.status, run.err)
  return run.out, run.err
end

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = json.decode(line) end
  return list
end

--- The figures of the script's trial.
local function figures_of(one)
  return ("y=%.17g"):format(one.parameters.a * one.seed + one.parameters.b), "other=" .. one.seed
end

describe("blis sweep ask and tell #host", function()
  it("make the table of a run, whoever has run the trials", function()
    with_script(function(path, folder)
      local whole = checked("run", path, "--store", folder .. ".local", "--quiet")
      whole = whole:gsub("^what a script prints\n", "")
      local asked = lines_of(checked("ask", path, "--store", folder, "--count", "100"))
      assert.equal(36, #asked)
      for _, one in ipairs(asked) do checked("tell", folder, one.id, figures_of(one)) end
      assert.equal(whole, (checked("table", folder)))
      local out, err = checked("ask", folder)
      assert.equal("", out)
      small.says(err, "all trials have a result")
      os.execute("rm -rf " .. folder .. ".local")
    end)
  end)

  it("give no trial to two at once", function()
    with_script(function(path, folder)
      checked("ask", path, "--store", folder)
      local run = program.shell(("for i in 1 2 3 4 5 6; do \"$BLIS\" sweep ask %s --count 7 & "
        .. "done; wait"):format(folder))
      local seen, count = {}, 0
      for _, one in ipairs(lines_of(run.out)) do
        assert.is_nil(seen[one.id:match "^%x+"])
        seen[one.id:match "^%x+"], count = true, count + 1
      end
      assert.equal(35, count)
      local _, err = checked("ask", folder)
      small.says(err, "other processes are running the 36 trials")
      small.says(checked("status", folder), "missing  36, 36 reserved")
    end)
  end)

  it("give a trial again when it is released, or its time is over", function()
    with_script(function(path, folder)
      local all = lines_of(checked("ask", path, "--store", folder, "--count", "36"))
      checked("tell", folder, all[5].id, "--release")
      local again = lines_of(checked("ask", folder, "--count", "36", "--lease", "1s"))
      assert.equal(1, #again)
      assert.equal(all[5].id, again[1].id)
      assert.same(all[5].parameters, again[1].parameters)
      assert(os.execute("sleep 1.1"))
      small.says(checked("status", folder), "missing  36, 35 reserved, 1 overdue")
      local later = lines_of(checked("ask", folder, "--count", "36"))
      assert.equal(1, #later)
      assert.equal(again[1].id:gsub("1$", "2"), later[1].id)
      -- The late one tells first, and counts.
      checked("tell", folder, again[1].id, "y=1")
      local _, err = checked("tell", folder, later[1].id, "y=2")
      small.says(err, "already has a result")
      assert.matches("1,.-,y?", checked("export", folder))
    end)
  end)

  it("keep failures and figures in JSON", function()
    with_script(function(path, folder)
      local asked = lines_of(checked("ask", path, "--store", folder, "--count", "3"))
      checked("tell", folder, asked[1].id, "--failed", "the machine\27 burned")
      local told = program.feed('{"y": 3, "ttft_ms": {"p99": 4.5}, "text": "x"}', "sweep", "tell",
        folder, asked[2].id, "--values", "-")
      assert.equal(0, told.status, told.err)
      small.says(checked("status", folder), "failed   1, 1 by error")
      local rows = json.decode((checked("export", folder, "--format", "json")))
      assert.equal("the machine\\027 burned", rows[1].reason)
      assert.equal(4.5, rows[2]["ttft_ms.p99"])
    end)
  end)

  it("refuse what is no trial, no figure and no sweep", function()
    with_script(function(path, folder)
      local id = lines_of(checked("ask", path, "--store", folder))[1].id
      for _, case in ipairs {
        { "DIR or FILE is missing", "ask" }, { "--store is missing", "ask", path },
        { "cannot open", "ask", "/no/such.lua", "--store", folder },
        { "runs no sweep called 'other'", "ask", path, "--store", folder, "--sweep", "other" },
        { "DIR is missing", "tell" }, { "ID is missing", "tell", folder },
        { "is not a trial of this sweep", "tell", folder, "abc.1", "y=1" },
        { "is not a trial of this sweep", "tell", folder, "../../x", "y=1" },
        { "is not a trial of this sweep", "tell", folder, id .. ("9"):rep(30), "y=1" },
        { "cannot read /tmp: Is a directory", "tell", folder, id, "--values", "/tmp" },
        { "--store requires a script", "ask", folder, "--store", "/no/such" },
        { "--sweep requires a script", "ask", folder, "--sweep", "s" },
        { "expected one of NAME=VALUE, --values, --failed and --release, got none", "tell", folder,
          id },
        { "got several", "tell", folder, id, "y=1", "--release" },
        { "invalid value 'y': expected NAME=VALUE", "tell", folder, id, "y" },
        { "y: invalid value 'nan': expected a finite number", "tell", folder, id, "y=nan" },
        { "y appears twice", "tell", folder, id, "y=1", "y=2" },
        { "the trial returned no number 'y'", "tell", folder, id, "z=1" },
        { "No such file", "tell", folder, id, "--values", "/no/such" },
        { "not a sweep (no file sweep.json)", "tell", "/no/such", id, "y=1" },
      } do
        local run = program.run("sweep", table.unpack(case, 2))
        assert.equal(2, run.status, case[1])
        small.says(run.err, case[1])
        assert.equal("", run.out)
      end
      small.says(checked("status", folder), "done     0\n")
    end)
  end)
end)

describe("blis sweep try #host", function()
  it("runs a point that somebody else chose, once", function()
    with_script(function(path, folder)
      local function try() return checked("try", path, "a=2.5", "b=0.25", "kind=x", "--store",
        folder) end
      local out, err = try()
      assert.equal("what a script prints\n", err)
      local found = json.decode(out)
      assert.same({ a = 2.5, b = 0.25, kind = "x" }, found.parameters)
      assert.equal("done", found.status)
      assert.equal(2.5 * 42.5 + 0.25, found.values.y)
      assert.is_nil(found.values.other)
      assert.equal(2, #found.trials)
      assert.same({ y = 2.5 * 43 + 0.25 }, found.trials[2].values)
      local _, journals = program.shell("ls " .. folder).out:gsub("jsonl", "")
      assert.equal(out, (try()))
      local _, after = program.shell("ls " .. folder).out:gsub("jsonl", "")
      assert.equal(journals, after)
    end)
  end)

  it("has its points in the folder's table, beside those of the script", function()
    with_script(function(path, folder)
      checked("try", path, "a=2.5", "b=0.25", "kind=x", "--store", folder)
      small.says(checked("table", folder), "s: 1 point, 2 replications")
      checked("try", path, "a=1", "b=0", "kind=x", "--store", folder)
      small.says(checked("status", folder), "2 points, 4 trials")
      local whole = checked("run", path, "--store", folder, "--quiet")
      small.says(whole, "18 points")
      small.says(checked("status", folder), "19 points, 38 trials")
      checked("merge", folder .. ".merged", folder)
      small.says(checked("status", folder .. ".merged"), "19 points, 38 trials")
      os.execute("rm -rf " .. folder .. ".merged")
    end)
  end)

  it("prints the figures that are asked for, and an interval of four seeds", function()
    files.with(script:gsub("replications = 2", "replications = 5"), function(path)
      local found = json.decode((checked("try", path, "a=1", "b=0", "kind=z", "extra=3",
        "--figure", "other", "--jobs", "2")))
      assert.same({ other = 44 }, found.values)
      assert.equal(2, #found.intervals.other)
      assert.is_true(found.intervals.other[1] < 44 and found.intervals.other[2] > 44)
    end)
  end)

  it("tells of a trial that fails, with status 1", function()
    with_script(function(path)
      local run = program.run("sweep", "try", path, "a=7", "b=0", "kind=x")
      assert.equal(1, run.status)
      local found = json.decode(run.out)
      assert.equal("failed", found.status)
      small.says(found.trials[1].reason, "seven")
    end)
  end)

  it("says what is no point", function()
    with_script(function(path)
      for _, case in ipairs {
        { "b is missing", "a=1" }, { "b: invalid value 2: expected a number from 0 to 1", "a=1",
          "b=2", "kind=x" },
        { "kind: invalid value 'y': expected one of x, z", "a=1", "b=0", "kind=y" },
        { "extra: does not apply", "a=1", "b=0", "kind=x", "extra=3" },
        { "extra: invalid value 2.5: expected a whole number from 1 to 9", "a=1", "b=0",
          "kind=z", "extra=2.5" },
        { "unknown parameter 'kinds'; did you mean 'kind'", "a=1", "b=0", "kinds=x" },
        { "unknown parameter 'seed'", "a=1", "b=0", "kind=x", "seed=3" },
        { "where returns false", "a=2.25", "b=0", "kind=x" },
        { "a: invalid value 'much': expected one of 1, 2, 3", "a=much", "b=0", "kind=x" },
        { "invalid value 'a': expected NAME=VALUE", "a" }, { "a appears twice", "a=1", "a=2" },
        { "unknown metric 'z'", "a=1", "b=0", "kind=x", "--figure", "z" },
      } do
        local run = program.run("sweep", "try", path, table.unpack(case, 2))
        assert.equal(2, run.status, case[1] .. run.out)
        small.says(run.err, case[1])
        assert.equal("", run.out)
      end
    end)
  end)
end)
