-- The guide as its readers type it: its scripts and commands in one folder, in order. What they
-- print is written into the page with BLIS_UPDATE_GOLDEN=1.
local files = require "spec.support.files"
local golden = require "spec.support.golden"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local path = "docs/guide.md"

--- Runs the lines of a block in a folder; what they print together.
local function run(folder, block)
  local outcome = program.shell(('blis=$(readlink -f "$BLIS")\ncd %s\n'
    .. 'blis() { "$blis" "$@" </dev/null; }\nset -e\n%s'):format(program.quote(folder), block))
  assert.equal(0, outcome.status, block .. outcome.err)
  return outcome.out
end

--- Saves a script under the name in its first line.
local function save(folder, block)
  local name = assert(block:match "^%-%- (%S+%.lua)\n", "a script without a name: " .. block)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(block)
  file:close()
end

--- The page with what its commands print now.
local function printed(text, folder)
  local last = ""
  return (text:gsub("```(%a+)\n(.-)```", function(kind, block)
    if kind == "lua" then save(folder, block) end
    if kind == "sh" then last = run(folder, block) end
    if kind == "text" then return "```text\n" .. last:gsub("\n*$", "\n") .. "```" end
  end))
end

describe("the README #host", function()
  it("shows what its script prints", function()
    local script, shown = files.read("README.md"):match "\n```lua\n(.-)```\n\n```\n(.-)```\n"
    assert.equal(shown, program.run("-e", script).out)
  end)
end)

describe("the guide #host", function()
  it("shows what its commands print", function()
    local text = assert(files.read(path))
    folders.with(function(folder)
      os.execute("mkdir -p " .. program.quote(folder))
      local now = printed(text, folder)
      golden.check(path, now)
    end)
  end)
end)
