--- What contributors and machines of forges read says what is true.
local core = require "blis.core"
local files = require "spec.support.files"
local program = require "spec.support.program"

describe("the project's own files #host", function()
  it("run in the workflow what .ci/run runs, and nothing else", function()
    local text = assert(files.read ".github/workflows/test.yml")
    local commands = {}
    for command in text:gmatch "%- run: ([^\n]+)" do commands[#commands + 1] = command end
    assert.equal(".ci/run", commands[#commands])
    for i = 1, #commands - 1 do
      assert.is_true(commands[i]:find "^apt%-get update" ~= nil
        or commands[i]:find "safe.directory" ~= nil, commands[i])
    end
    core.yaml_read ".github/workflows/test.yml"
  end)

  it("give notes of a release from the changelog", function()
    local notes = program.shell "scripts/release-notes"
    assert.equal(0, notes.status)
    assert.matches("### Added", notes.out, 1, true)
    assert.is_nil(notes.out:find("## [", 1, true))
    local none = program.shell "scripts/release-notes 77.0.0"
    assert.equal(1, none.status)
    assert.matches("nothing about '77.0.0' (it has: Unreleased", none.err, 1, true)
  end)

  it("name files that are there", function()
    for _, name in ipairs { "CONTRIBUTING.md", "SECURITY.md", "docs/stability.md", "NOTICE",
      "docs/installing.md", "docs/python.md" } do
      local folder = name:match "^(.*/)" or ""
      for target in assert(files.read(name)):gmatch "%]%(([%w_./-]+)%)" do
        assert.is_not_nil(io.open(folder .. target), name .. ": " .. target)
      end
      for target in files.read(name):gmatch "%f[%w][%w_]+/[%w_/]+%.%l+" do
        assert.is_not_nil(io.open(target) or io.open(folder .. target) or target:find "^build"
          or target:find "^dist", name .. ": " .. target)
      end
    end
  end)
end)
