-- Sweeps as processes of their own: killed, interrupted, sharded.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local small = require "spec.support.small"

local script = [[
local blis = require "blis"
print(blis.sweep {
  name = "slow", parameters = { { "x", { 1, 2, 3, 4, 5, 6 } } }, replications = 3,
  trial = function(p)
    local trial_us = tonumber(os.getenv "TRIAL_US") or 15000
    local until_us = require("blis.core").clock_us() + trial_us
    while require("blis.core").clock_us() < until_us do end
    return { y = p.x * p.seed }
  end,
}:run { jobs = 2, store = arg[1] })
]]

--- Calls body with the path of the script, a folder for its store and what it prints undisturbed.
local function with_script(body)
  files.with(script, function(path)
    folders.with(function(folder)
      folders.with(function(store)
        local whole = program.run(path, store)
        assert.equal(0, whole.status)
        body(path, folder, whole.out)
      end)
    end)
  end)
end

describe("a sweep as a process #host", function()
  it("prints the same after having been killed again and again", function()
    with_script(function(path, folder, whole)
      local kills = 0
      for delay = 1, 30 do
        local line = ("\"$BLIS\" %s %s & sleep 0.0%d; kill -9 $! 2>/dev/null; wait $!"):format(
          program.quote(path), program.quote(folder), 1 + delay % 9)
        local outcome = program.shell(line)
        if outcome.status == 137 then kills = kills + 1 else break end
      end
      assert.is_true(kills > 0)
      local outcome = program.run(path, folder)
      assert.equal(0, outcome.status)
      assert.equal(whole, outcome.out)
    end)
  end)

  describe("with a trial whose process is killed", function()
    local killed = [[
local blis = require "blis"
print(blis.sweep { name = "killed", parameters = { { "x", { 1, 2, 3 } } }, trial = function(p)
  if p.x == 2 then
    local file <close> = assert(io.open(arg[2], "a+"))
    local kills = #file:read "a"
    if kills < tonumber(arg[3]) then
      file:write "x"
      file:flush()
      os.execute "kill -KILL $PPID"
    end
  end
  return { y = p.x }
end }:run { jobs = 2, store = arg[1], quiet = true })
]]

    local function with_kills(count, body)
      files.with(killed, function(path)
        folders.with(function(folder)
          local log = os.tmpname()
          local function run(most)
            return program.run("sweep", "run", path, folder, log, tostring(most))
          end
          body(run(count), run, function() return #files.read(log) end)
          os.remove(log)
        end)
      end)
    end

    it("repeats the trial", function()
      for kills = 1, 2 do
        with_kills(kills, function(outcome)
          assert.equal(0, outcome.status, outcome.err)
          assert.is_nil(outcome.out:find("failed", 1, true))
          small.says(outcome.out, "2  2.000")
        end)
      end
    end)

    it("fails when three processes were killed, and does the trial next time", function()
      with_kills(9, function(outcome, run, killed_count)
        assert.equal(1, outcome.status)
        assert.equal(3, killed_count())
        small.says(outcome.out, "its process was killed by signal 9 (SIGKILL)")
        small.says(outcome.err, "sweep run: 1 trial failed; ")
        outcome = run(0)
        assert.equal(0, outcome.status)
        small.says(outcome.out, "2  2.000")
      end)
    end)

    it("makes a script fail that lacks it, until another run has it", function()
      local kills = [[local blis = require "blis"
        local function run(is_killed)
          return blis.sweep { name = "s", parameters = { { "x", { 1, 2 } } }, trial = function(p)
            if p.x == 2 and is_killed then os.execute "kill -KILL $PPID" end
            return { y = p.x }
          end }:run { jobs = 2, quiet = true }
        end
        run(true)
        if arg[1] then run(false) end
        print "end"]]
      files.with(kills, function(path)
        local outcome = program.run(path)
        assert.equal(1, outcome.status)
        assert.equal("end\n", outcome.out)
        small.says(outcome.err, "blis: 1 trial of the script ended without a result, since a "
          .. "signal killed its process")
        assert.equal(0, program.run(path, "again").status)
      end)
    end)
  end)

  it("fails when a trial raises an error, also when the error was there before", function()
    local raises = [[require("blis").sweep { name = "bad", parameters = { { "x", { 1, 2 } } },
      trial = function(p) return p.x == 1 and { y = 1 } or error "no" end,
    }:run { store = arg[1], quiet = true }]]
    files.with(raises, function(path)
      folders.with(function(folder)
        for _ = 1, 2 do
          local outcome = program.run("sweep", "run", path, folder)
          assert.equal(1, outcome.status)
          small.says(outcome.err, "1 trial failed")
        end
      end)
    end)
  end)

  it("keeps what is done when it is interrupted", function()
    with_script(function(path, folder, whole)
      -- Long enough that there is something left to interrupt on a busy machine.
      local outcome = program.shell(("TRIAL_US=200000 \"$BLIS\" %s %s & p=$!; "
        .. "while [ $(cat %s/*.jsonl 2>/dev/null | wc -l) -lt 4 ]; do sleep 0.01; done; "
        .. "kill -INT $p; wait $p"):format(
        program.quote(path), program.quote(folder), folder))
      assert.equal(130, outcome.status)
      assert.equal("", outcome.out)
      assert.matches("slow: %d+ of 18 trials are stored in .-; run the same command to complete "
        .. "the rest",
        outcome.err)
      outcome = program.run(path, folder)
      assert.equal(whole, outcome.out)
      assert.matches("18 trials, [1-9]%d* of them complete", outcome.err)
    end)
  end)

  it("may be done in shards, one of which is killed and started again", function()
    with_script(function(path, folder, whole)
      local function command(i)
        return ("\"$BLIS\" sweep run %s --shard %d/4 -- %s"):format(program.quote(path), i,
          program.quote(folder))
      end
      program.shell(("%s & %s & %s & wait"):format(command(0), command(1), command(2)))
      program.shell(("%s & sleep 0.05; kill -9 $!; wait $!"):format(command(3)))
      program.shell(command(3))
      local outcome = program.run("sweep", "table", folder)
      assert.equal(whole, outcome.out)
    end)
  end)

  it("takes its part from the environment", function()
    with_script(function(path, folder)
      for i = 1, 2 do
        program.shell(("SLURM_ARRAY_TASK_ID=%d SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_COUNT=2 "
          .. "\"$BLIS\" %s %s"):format(i, program.quote(path), program.quote(folder)))
      end
      local outcome = program.run("sweep", "status", folder)
      assert.matches("done     18,", outcome.out)
      assert.matches("missing  0\njournals 2\n", outcome.out)
    end)
  end)

  it("leaves no workers behind", function()
    files.with([[
      local core = require "blis.core"
      local workers = core.workers { jobs = 2, work = function(i)
        os.execute("echo $PPID >>" .. arg[1]) while true do end
      end }
      workers:submit(1):submit(2)
      while true do workers:wait(1000) end
    ]], function(path)
      files.with("", function(pids)
        program.shell(("\"$BLIS\" %s %s & p=$!; while [ $(wc -l <%s) -lt 2 ]; do sleep 0.01; done; "
          .. "kill -9 $p; wait $p"):format(path, pids, pids))
        for pid in files.read(pids):gmatch("%d+") do
          local function is_alive()
            local state = files.read("/proc/" .. pid .. "/stat")
            return state ~= nil and not state:match("%) Z ")
          end
          for _ = 1, 600 do
            if is_alive() then os.execute "sleep 0.1" end
          end
          assert.is_false(is_alive())
        end
      end)
    end)
  end)
end)
