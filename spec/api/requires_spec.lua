-- The check of the order of the Lua modules finds what it is for.
local program = require "spec.support.program"

--- Checks a tree of files; returns what the check prints, and its exit status.
local function check(files, rooms)
  local root = os.tmpname()
  os.remove(root)
  for name, text in pairs(files) do
    os.execute(("mkdir -p '%s/%s'"):format(root, name:match "^(.*)/" or ""))
    local file <close> = assert(io.open(root .. "/" .. name, "w"))
    file:write(text)
  end
  local list <close> = assert(io.open(root .. ".txt", "w"))
  list:write(rooms)
  list:close()
  local outcome = program.run("tests/layering/requires.lua", root, root .. ".txt")
  os.execute(("rm -r '%s' '%s.txt'"):format(root, root))
  return outcome.out, outcome.status
end

describe("the order of the Lua modules #host", function()
  local floor = { ["errors.lua"] = "return {}", ["a/init.lua"] = 'require "blis.errors"',
    ["b/one.lua"] = 'local a = require "blis.a"\nlocal core = require "blis.core"' }

  local function with(more)
    local files = {}
    for _, set in ipairs { floor, more } do
      for name, text in pairs(set) do files[name] = text end
    end
    return files
  end

  it("accepts requires of lower modules", function()
    local out, status = check(floor, "# a comment\n\n.\na\nb\n")
    assert.equal("", out)
    assert.equal(0, status)
  end)

  for name, text in pairs {
    ["a require"] = 'local b = require "blis.b.one"', ["a require with parentheses"] =
    "local b = require('blis.b.one')", ["a deferred module"] =
    'local b = deferred "blis.b.one"', ["a function at its first call"] =
    'return { f = at_first_call("blis.b.one", "f") }' } do
    it("refuses " .. name .. " of a higher module", function()
      local out, status = check(with { ["a/two.lua"] = text }, ".\na\nb\n")
      assert.equal("a/two.lua requires blis.b.one: module b is above a in lua_rooms.txt\n", out)
      assert.equal(1, status)
    end)
  end

  it("does not count comments", function()
    local out = check(with { ["a/two.lua"] = '-- require "blis.b.one"' }, ".\na\nb\n")
    assert.equal("", out)
  end)

  it("accepts a single file as a module", function()
    local files = with { ["top.lua"] = 'require "blis.b.one"' }
    assert.equal("", (check(files, ".\na\nb\ntop.lua\n")))
    assert.is_truthy(check(files, ".\na\nb\n"):find("top.lua requires blis.b.one", 1, true))
  end)

  it("refuses folders without a line, lines without a folder, and unknown files", function()
    local out = check(with { ["c/x.lua"] = "", ["b/y.lua"] = 'require "blis.nothing"' },
      ".\na\nb\nd\n")
    assert.is_truthy(out:find("has no module for c/x.lua", 1, true))
    assert.is_truthy(out:find("there is no 'd' in", 1, true))
    assert.is_truthy(out:find("b/y.lua requires blis.nothing: there is no such file", 1, true))
  end)
end)
