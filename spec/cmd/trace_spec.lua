local commands = require "spec.support.commands"
local core = require "blis.core"

local file = "tests/data/azure_2023.csv"

describe("blis trace info", function()
  it("describes a trace for people and for programs", function()
    local text = commands.output_of("trace", "info", file, "--limit", "20")
    assert.matches("^azure trace azure_2023.csv", text)
    assert.matches("\n  20 requests over ", text)
    local got = core.json_read(commands.output_of("trace", "info", file, "--format", "json"))
    assert.equal(40, got.requests)
    assert.is_true(got.prompt_tokens.max >= got.prompt_tokens.p99)
    assert.same({}, got.notes)
  end)

  it("tells what is wrong", function()
    local hint = "; 'blis trace --help' lists the flags"
    for _, case in ipairs {
      { {}, "trace: 'info FILE' is missing" .. hint },
      { { "inof" }, "trace: 'inof' is not allowed, expected 'info'" .. hint },
      { { "info" }, "trace: there is no FILE" .. hint },
      { { "info", file, "--limit", "-1" },
        "trace: --limit: -1 is not allowed, expected an integer of at least 0" .. hint },
    } do
      local code, message = commands.error_of("trace", table.unpack(case[1]))
      assert.equal("usage", code)
      assert.equal(case[2], message)
    end
  end)

  it("has help", function()
    assert.matches("^usage: blis trace info FILE", commands.output_of("trace", "--help"))
  end)
end)
