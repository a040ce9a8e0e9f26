local blis = require "blis"
local commands = require "spec.support.commands"
local files = require "spec.support.files"
local progress = require "blis.cli.progress"
local program = require "spec.support.program"
local small = require "spec.support.small"

local function long_run(changes)
  changes.cluster = { instances = 4 }
  changes.workload = { rate = 100, requests = 2000, prompt_tokens = 200, output_tokens = 20 }
  return small.experiment(changes)
end

describe("progress", function()
  it("is a line", function()
    assert.equal("12,345 of 100,000 requests done, 210 in the cluster, 35.2 s simulated",
      progress.text(12345, 12555, 35200000, 100000))
    assert.equal("1 requests done, 0 in the cluster, 0.0 s simulated", progress.text(1, 1, 0))
  end)

  it("is told to a function, and changes nothing", function()
    local calls, last_us = 0, -1
    local told = blis.run(long_run {
      progress_interval_ms = 0,
      progress = function(ended, arrived, now_us)
        calls = calls + 1
        assert(ended <= arrived and arrived <= 2000 and now_us >= last_us)
        last_us = now_us
      end,
    })
    assert.is_true(calls > 3)
    assert.equal(blis.run(long_run {}).hash, told.hash)
  end)

  it("is not told of short runs", function()
    blis.run(long_run { progress = function() error "too early" end })
  end)

  it("stops the run when its function fails", function()
    small.says(small.message_of(blis.run, long_run {
      progress_interval_ms = 0, progress = function() error "no more" end,
    }), "no more")
    small.says(small.message_of(blis.run, long_run { progress = 5 }),
      "progress: invalid value 5: expected a function")
  end)

  it("is for terminals alone #host", function()
    assert.equal("", program.run("run", "--num-requests", "20").err)
  end)
end)

describe("outputs of commands", function()
  local function message_of(...)
    local _, message = commands.error_of("run", "--num-requests", "3", ...)
    return message
  end

  it("do not meet each other or what is read", function()
    files.with("clients: []\n", function(path)
      for _, flags in ipairs {
        { "--metrics-path", path, "--results-path", path },
        { "--metrics-path", path, "--save", "./" .. path },
        { "--workload-spec", path, "--metrics-path", path },
        { "--policy-config", path, "--save", path },
        { "--metrics-path", "-", "--save", "-" },
      } do
        assert.is_truthy(message_of(table.unpack(flags)):find("are both", 1, true)
          or flags[4]:match("^%./"))
      end
      assert.equal("clients: []\n", files.read(path))
    end)
  end)

  it("are tried before anything is simulated", function()
    assert.matches("^/nosuch/x: cannot be written: ", message_of("--save", "/nosuch/x"))
    assert.matches("^/: cannot be written: ", message_of("--metrics-path", "/"))
  end)

  it("may be the null device, more than once", function()
    commands.output_of("run", "--num-requests", "3", "--metrics-path", "/dev/null",
      "--results-path", "/dev/null")
  end)

  it("take standard output for themselves #host", function()
    local run = program.run("run", "--num-requests", "3", "--metrics-path", "-")
    assert.equal(0, run.status)
    assert.matches("^{\n.*\n}\n$", run.out)
  end)

  it("fail on a full disk #host", function()
    local run = program.run("run", "--num-requests", "3", "--metrics-path", "/dev/full")
    assert.equal(1, run.status)
    assert.equal("", run.out)
    assert.matches("^blis: /dev/full: cannot be written: ", run.err)
    run = program.shell [["$BLIS" run --num-requests 3 --format json >/dev/full]]
    assert.equal(1, run.status)
    assert.matches("^blis: cannot write to standard output: ", run.err)
    run = program.shell [["$BLIS" run --num-requests 3 | head -n 0]]
    assert.equal(0, run.status)
  end)
end)
