-- Small blocks change hands and keep what is in them. Large blocks: they grow, shrink and change
-- between heap and mappings, and keep what is in them.
local core = require "blis.core"
local files = require "spec.support.files"
local program = require "spec.support.program"

local function has_sanitizer()
  local maps = files.read("/proc/self/maps")
  return maps and maps:find("libasan", 1, true) ~= nil
end

--- A text of so many bytes that is unlike itself everywhere, and is built by growing a buffer.
local function text_of(bytes)
  local parts = {}
  for i = 1, bytes // 16 do parts[i] = ("%016x"):format(i * 0x9e3779b97f4a7c15) end
  return table.concat(parts)
end

describe("small blocks #host", function()
  -- Buffers and hash parts of every size up to the limit of 512 bytes and beyond, kept and let go
  -- in an order that gives freed blocks to others.
  it("keep what is in them while they grow, shrink and change hands", function()
    local kept, draw = {}, 1
    for i = 1, 40000 do
      draw = draw * 1103515245 + 12345 & 0x7fffffff
      local slot, size = draw >> 8 & 0xff, draw >> 16 & 0x3ff
      local old = kept[slot]
      if old then
        assert(old.text == string.rep(old.letter, #old.text), "a text has changed")
        for n = 1, #old.list do assert(old.list[n] == n * old.mark, "a list has changed") end
      end
      local letter, list = string.char(97 + draw % 26), {}
      for n = 1, size // 8 do list[n] = n * i end
      kept[slot] = { text = letter:rep(size), letter = letter, list = list, mark = i }
    end
  end)

  it("are refused when there is no room, and nothing else happens", function()
    if has_sanitizer() then return end -- it does not survive a limit of its address space
    local run = program.shell([[ulimit -v 300000; "$BLIS" -e '
      local list = {}
      local ok, problem = pcall(function()
        for i = 1, math.huge do list[i] = { i } end
      end)
      local n = #list
      print(ok, problem, n > 100000, list[n][1] == n)
      list = nil
      collectgarbage()
      print(#("x"):rep(1000))']])
    assert.equal("false\tnot enough memory\ttrue\ttrue\n1000\n", run.out)
  end)
end)

describe("large blocks #host", function()
  it("keep what is in them when they grow", function()
    local chunk = text_of(1 << 20)
    for _, times in ipairs { 7, 8, 31, 32, 33, 65 } do -- MB: around the limits of the allocator
      local text = chunk:rep(times)
      assert.equal(times << 20, #text)
      assert.equal(chunk, text:sub(1, 1 << 20))
      assert.equal(chunk, text:sub(-(1 << 20)))
      local joined = table.concat({ text, text })
      assert.equal(core.hash128(text .. text), core.hash128(joined))
    end
  end)

  it("keep what is in them when they shrink", function()
    local list, n = {}, 5000000 -- 80 MB, by doubling
    for i = 1, n do list[i] = i * 3 end
    local sum = 0
    for i = 1, n do sum = sum + list[i] end
    assert.equal(3 * n * (n + 1) // 2, sum)
    for i = n, 101, -1 do list[i] = nil end
    list.more = true -- makes room anew, and so little
    for i = 1, 100 do assert.equal(i * 3, list[i]) end
    list = nil -- luacheck: ignore
    collectgarbage()
  end)

  it("are refused when there is no room, and nothing else happens", function()
    if has_sanitizer() then return end -- it does not survive a limit of its address space
    local run = program.shell([[ulimit -v 900000; "$BLIS" -e '
      local kept = ("x"):rep(40000000)
      print(pcall(string.rep, "x", 1 << 30))
      local list = {}
      local ok, problem = pcall(function() while true do list[#list + 1] = #list end end)
      local n = #list
      print(ok, problem, n > 10000000, list[n] == n - 1, #kept)']])
    assert.equal("false\tnot enough memory\nfalse\tnot enough memory\ttrue\ttrue\t40000000\n",
      run.out)
  end)
end)
