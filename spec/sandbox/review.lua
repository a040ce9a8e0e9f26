--- Scripts against the sandbox, by what they try. Each is run by `blis --sandbox`: `says` is in its
--- message and the status 1, or, without it, it ends by itself with the output `out`. `twice` asks
--- for the same output of two processes.
return {
  -- Clocks, addresses, and orders that depend on them.
  { try = "the clock, from the calls of a progress function", twice = true, out = "true true\n",
    source = [[
local blis = require "blis"
local function calls()
  local n = 0
  blis.run { workload = { rate = 100, requests = 20000 }, progress = function() n = n + 1 end,
    progress_interval_ms = 1, watch = true, watch_interval_ms = 0 }
  return n
end
local first = calls()
print(first > 0, calls() == first)]] },
  { try = "the clock, from the seed of math.random", twice = true,
    source = "for i = 1, 8 do print(math.random(0)) end" },
  { try = "the clock, from floats of math.random", twice = true,
    source = "for i = 1, 8 do print(math.random()) end print(math.random(1, 1 << 40))" },
  { try = "the clock, from math.random in a run", twice = true,
    source = [[require("blis").run { workload = { requests = 20 }, cluster = { instances = 3 },
      routing = function(_, all) local n = math.random(#all) print(n) return n end }]] },
  { try = "an own seed of math.random", source = "math.randomseed(7)", says = "randomseed" },
  { try = "the order of keys with addresses, by next", says = "has no defined order",
    source = "local t = {} for i = 1, 9 do t[{}] = i end print(next(t))" },
  { try = "the order of keys with addresses, by pairs", says = "has no defined order",
    source = "local t = {} for i = 1, 9 do t[print] = i end for k, v in pairs(t) do print(v) end" },
  { try = "the order of texts, by next", out = "1 2 a b\n",
    source = [[local t, list, k = { b = 1, a = 1, [2] = 1, [1] = 1 }, {}, nil
      repeat k = next(t, k) list[#list + 1] = k until k == nil print(table.concat(list, " "))]] },
  { try = "the order of texts, by pairs", out = "alpha beta gamma\n",
    source = [[local list = {} for k in pairs { gamma = 1, alpha = 1, beta = 1 } do
      list[#list + 1] = k end print(table.concat(list, " "))]] },
  { try = "a pivot from the clock", twice = true,
    source = [[local t = {} for i = 1, 3000 do t[i] = { i % 3, i } end
      table.sort(t, function(a, b) return a[1] < b[1] end)
      for i = 1, 3000, 100 do print(t[i][2]) end]] },
  { try = "stable order of equal items", out = "true\n",
    source = [[local t, ok = {}, true for i = 1, 999 do t[i] = { i % 2, i } end
      table.sort(t, function(a, b) return a[1] < b[1] end)
      for i = 2, 999 do ok = ok and (t[i - 1][1] < t[i][1] or t[i - 1][2] < t[i][2]) end
      print(ok)]] },
  { try = "a sort that is right", out = "1 1 2 3 5 8 13\n",
    source = "local t = { 8, 1, 13, 5, 1, 3, 2 } table.sort(t) print(table.concat(t, ' '))" },
  { try = "the address of a table", out = "table\n", source = "print({})" },
  { try = "the address of a function", out = "function function\n",
    source = "print(tostring(print) .. ' ' .. tostring(function() end))" },
  { try = "the address in a number format", source = "print(('%p'):format({}))",
    says = "supports only" },
  { try = "the address of a run", source = "print((tostring(require('blis').rng(1)):find('0x')))",
    out = "nil\n" },
  { try = "false kept by pairs", out = "a no\n",
    source = "for k, v in pairs { a = false } do print(k, v == false and 'no') end" },
  -- Times that wrap, windows that wrap.
  { try = "milliseconds that wrap", says = "exceeds the maximum simulated time",
    source = "require('blis').milliseconds(math.maxinteger)" },
  { try = "seconds that wrap", says = "exceeds the maximum simulated time",
    source = "require('blis').seconds(math.mininteger)" },
  { try = "minutes that wrap", says = "exceeds the maximum simulated time",
    source = "require('blis').minutes(1e300)" },
  { try = "a window of everything", out = "5\n",
    source = [[local r = require("blis").run { workload = { requests = 5 } }
      print(r:window(math.mininteger, math.maxinteger).completed)]] },
  { try = "a window of everything, of records", out = "5\n",
    source = [[local r = require("blis").run { workload = { requests = 5 } }
      print(r.requests:window(math.mininteger, math.maxinteger).completed)]] },
  { try = "a window backwards", says = "the first one earlier",
    source = [[require("blis").run { workload = { requests = 5 } }:window(math.maxinteger, 0)]] },
  -- Readers and chains without an end.
  { try = "a catalogue without an end", says = "/dev/zero",
    source = "require('blis').run { cluster = { catalogue = '/dev/zero' } }" },
  { try = "a model without an end", says = "/dev/zero",
    source = "require('blis').run { cluster = { model_config = '/dev/zero' } }" },
  { try = "a trace without an end", says = "/dev/zero",
    source = "require('blis').run { workload = { trace = '/dev/zero' } }" },
  { try = "a specification without an end", says = "/dev/zero",
    source = "require('blis').run { workload = { file = '/dev/zero' } }" },
  { try = "a policy whose base is itself", says = "build on each other",
    source = [[local s = { name = "x", score = function() return 1 end } s.base = s
      require("blis").scorer(s)]] },
  { try = "two policies that are each other's base", says = "build on each other",
    source = [[local f = function() return 1 end
      local a, b = { name = "a", score = f }, { name = "b", score = f } a.base, b.base = b, a
      require("blis").run { routing = { "weighted", scorers = { { a, 1 } } } }]] },
  { try = "a chain of bases that is too long", says = "build on",
    source = [[local s = { name = "x0", score = function() return 1 end }
      for i = 1, 100 do s = { name = "x" .. i, score = s.score, base = s } end
      require("blis").scorer(s)]] },
  { try = "a table that contains itself as options", says = "unknown",
    source = [[local t = {} t.t = t require("blis").run(t)]] },
  -- Errors that are named.
  { try = "a policy name with a new line", says = "unknown routing policy",
    source = [[require("blis").run { routing = "round\nrobin" }]] },
  { try = "a warm-up without an end", out = "5\n",
    source = [[print(require("blis").run { workload = { requests = 5 },
      warm_up_us = math.maxinteger }.completed)]] },
  { try = "a vector of negative length", says = "no length below 0",
    source = [[require("blis").vec.new(setmetatable({}, { __len = function() return -1 end }))]] },
  { try = "a vector of endless length", says = "item 1 is a nil",
    source = [[require("blis").vec.new(setmetatable({}, { __len = function() return 99 end }))]] },
  { try = "a vector that is longer than memory", says = "too many items",
    source = [[local list = setmetatable({}, { __len = function() return 1 << 40 end })
      require("blis").vec.new(list)]] },
  -- What reaches the terminal.
  { try = "escape codes", source = "print('\\27[31mred\\7')", out = "\\27[31mred\\7\n" },
  { try = "escape codes in an error", says = "\\27]0;title",
    source = "error('\\27]0;title\\7', 0)" },
  { try = "lines that blis did not write", source = "error('x\\nblis: all is well', 0)",
    says = "\n  blis: all is well", never = "\nblis: all is well" },
  { try = "a carriage return over what was said", source = "error('a\\rblis: fine', 0)",
    says = "a\\13blis" },
  { try = "the cause behind a long message", says = "THE CAUSE",
    source = "error(('x'):rep(3000) .. ' THE CAUSE', 0)" },
  { try = "a script of nothing", source = "", out = "" },
  { try = "a script of zeros", source = ("\0"):rep(3000), says = "more than 1000 letters" },
  { try = "a file that is there", says = "the sandbox has no files",
    source = "require('blis').run { cluster = { catalogue = '/etc/passwd' } }" },
}
