local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

local folder = "tests/data/"

describe("blis replay", function()
  it("serves the requests of any trace", function()
    for _, name in ipairs { "tracev2/mt.csv", "tracev2/mt.yaml", "mooncake.jsonl",
      "azure_2023.csv" } do
      local got = core.json_read(commands.output_of("replay", folder .. name, "--format", "json",
        "--quiet", "--max-model-len", "0"))
      assert.is_true(got.completed_requests > 0, name)
    end
  end)

  it("takes trace, format and limit from flags", function()
    local got = core.json_read(commands.output_of("replay", "--trace-data",
      folder .. "mooncake.jsonl", "--trace-format", "mooncake", "--limit", "3", "--format",
      "json", "--quiet"))
    assert.equal(3, got.completed_requests + got.dropped_unservable)
  end)

  it("ends as BLIS in Go does under that profile", function()
    local text = commands.output_of("replay", folder .. "tracev2/t1.csv", "--profile", "go-blis",
      "--quiet")
    assert.equal("=== Simulation Metrics ===\n{\n  \"instance_id\": \"cluster\",\n",
      text:match("^[^,]*,\n"))
  end)

  it("writes sessions and rounds", function()
    files.with(nil, function(path)
      commands.output_of("replay", folder .. "tracev2/mt.csv", "--metrics-path", path)
      local rounds = 0
      for _, request in ipairs(core.json_read(files.read(path)).requests) do
        assert.is_string(request.session_id)
        rounds = math.max(rounds, request.round_index)
      end
      assert.equal(2, rounds)
    end)
  end)

  it("has all its flags in the help", function()
    assert.equal(files.read "spec/cmd/golden/replay_help.txt",
      commands.output_of("replay", "--help"))
  end)

  it("tells what is wrong", function()
    local hint = "; 'blis replay --help' lists the flags"
    for _, case in ipairs {
      { {}, "usage", "replay: there is no TRACE" .. hint },
      { { "a", "--trace-data", "b" }, "usage",
        "replay: the trace is given twice, as 'a' and by --trace-data" .. hint },
      { { "/nosuch.csv" }, "io", "/nosuch.csv" },
      { { folder .. "mooncake.jsonl", "--trace-format", "azur" }, "usage",
        "replay: --trace-format: 'azur' is not allowed, expected one of " },
      { { folder .. "mooncake.jsonl", "--session-mode", "closed-loop" }, "usage",
        "replay: --session-mode is not available: the rounds of a trace arrive when they were" },
    } do
      local code, message = commands.error_of("replay", table.unpack(case[1]))
      assert.equal(case[2], code)
      assert.equal(case[3], message:sub(1, #case[3]))
    end
  end)
end)
