-- Scripts as the sandbox runs them, on very small runs, for test_binding_memory.c.
local sandbox = require 'blis.sandbox'

--- An exercise that loads and runs a script, which returns true.
local function script(source)
  return function() assert(sandbox.load(source, 'script')() == true) end
end

return {
  script [[
    local blis = require 'blis'
    local result = blis.run { cluster = { instances = 2, kv_blocks = 64 },
      workload = { rate = 100, requests = 2, prompt_tokens = 40, output_tokens = 2 },
      routing = { 'weighted', scorers = { { blis.scorer { name = 'a',
        score = function(r, i) return r.prompt_tokens / (1 + i.in_flight) end }, 1 } } } }
    return result.completed == 2 and #tostring(result) > 100
  ]],
  script [[
    local blis, keys = require 'blis', {}
    for key in pairs { b = 1, a = 2, [1] = 3 } do keys[#keys + 1] = tostring(key) end
    local text = ('%s-%d'):format(table.concat(keys, ','), math.random(5)):upper()
    local ok, problem = pcall(blis.run, { cluster = { instance = 2 } })
    return text:sub(1, 6) == '1,A,B-' and not ok and tostring(problem):find 'instances' ~= nil
  ]],
  script [[
    local blis = require 'blis'
    local index <close> = blis.prefix_index { block_size = 8 }
    index:record({ { 'x', 16 } }, 1)
    local t = setmetatable({}, { __index = function(_, k) return k end })
    local list = { 3, 1, 2 }
    table.sort(list, function(a, b) return a < b end)
    return #index == 2 and t.x == 'x' and list[1] == 1
  ]],
  function()
    local _, problem = pcall(sandbox.load('return io.open', 'script'))
    assert(tostring(problem):find('io', 1, true), problem)
  end,
}
