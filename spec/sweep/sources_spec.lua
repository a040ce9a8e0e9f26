local folders = require "spec.support.folders"
local program = require "spec.support.program"

--- A script of a sweep whose trials call `value`, defined by the first line.
local function script_of(first_line)
  return first_line .. [[

local blis = require "blis"
local t = blis.sweep { name = "s", parameters = { { "x", { 1, 2 } } },
  trial = function(p) return { y = p.x * value() } end }:run { store = "store", quiet = true,
  jobs = 1 }
print(t:csv())
]]
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

--- Runs a script, changes a file, and runs it two more times in the same store; returns the
--- outcomes.
local function before_and_after(script, changing)
  local outcomes = {}
  folders.with(function(folder)
    assert(os.execute("mkdir " .. folder))
    write(folder .. "/s.lua", script)
    for name, text in pairs(changing.files) do write(folder .. "/" .. name, text) end
    for i = 1, 3 do
      if i == 2 then write(folder .. "/" .. changing.name, changing.text) end
      outcomes[i] = program.shell(
        ("BLIS=$(realpath $BLIS); cd %s && LUA_PATH='./?.lua;;' $BLIS s.lua"):format(folder))
    end
  end)
  return table.unpack(outcomes)
end

describe("the key of a trial", function()
  local one, two = "return function() return 1 end", "return function() return 10 end"

  local function changes_with(first_line, changing)
    local first, second, third = before_and_after(script_of(first_line), changing)
    assert.equal(0, first.status, first.err)
    assert.truthy(first.out:find("1,1,1", 1, true), first.out)
    assert.truthy(second.out:find("1,1,10", 1, true), second.out)
    assert.equal(second.out, third.out)
    return second
  end

  it("covers modules that the script requires", function()
    changes_with('local value = require "pol"',
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
    changes_with("local value = require('pol')",
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
  end)

  it("covers modules of modules, and modules that a trial requires", function()
    changes_with('local value = require "outer"', { files = { ["inner.lua"] = one,
      ["outer.lua"] = 'return require "inner"' }, name = "inner.lua", text = two })
    changes_with('local function value() return require "pol" () end',
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
    changes_with('local function value() return require "outer" () end',
      { files = { ["inner.lua"] = one,
        ["outer.lua"] = 'return function() return require "inner" () end' },
      name = "inner.lua", text = two })
  end)

  it("covers modules that are loaded by a computed name before the sweep", function()
    changes_with('local value = require("p" .. "ol")',
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
  end)

  it("covers files by dofile and loadfile", function()
    changes_with('local value = dofile "pol.lua"',
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
    changes_with('local value = loadfile("pol.lua")()',
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
  end)

  it("covers the files of functions among the parameters", function()
    local script = [[
local blis = require "blis"
local run = dofile("sw" .. "eep.lua")
print(run(function() return 1 end))]]
    local sweep = [[
local blis = require "blis"
return function(fn)
  return blis.sweep { name = "s", parameters = { { "f", { { label = "f", value = fn } } } },
    trial = function(p) return { y = p.f() } end }:run { store = "store", quiet = true,
    jobs = 1 }:csv()
end]]
    local _, second = before_and_after(script, { files = { ["sweep.lua"] = sweep }, name = "s.lua",
      text = (script:gsub("return 1", "return 10")) })
    assert.truthy(second.out:find("f,1,10", 1, true), second.out .. second.err)
  end)

  it("is the same after a change of a file that is not loaded", function()
    local first, second = before_and_after(script_of 'local value = require "pol"',
      { files = { ["pol.lua"] = one, ["other.lua"] = "return 1" }, name = "other.lua",
        text = "return 2" })
    assert.equal(first.out, second.out)
    local script = script_of('local value = require "pol"'):gsub('name = "s"',
      'name = "s", identity = "v1"')
    first, second = before_and_after(script,
      { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
    assert.equal(first.out, second.out)
  end)

  it("comes with a note about a module that a trial loads by a computed name", function()
    local first = before_and_after(
      script_of 'local function value() return require("p" .. "ol")() end',
        { files = { ["pol.lua"] = one }, name = "pol.lua", text = two })
    assert.truthy(first.err:find("s: trials load pol by a computed name", 1, true), first.err)
  end)
end)
