--- Servers that are told nonsense: thousands of changed messages, by a seed. Every line that comes
--- back is JSON, nothing is an error of the server itself, and what is sent last is answered.
local blis = require "blis"
local json = require "blis.json"
local program = require "spec.support.program"

local suite = "spec/eval/small_suite.lua"

local programs = { [["return 'random'"]], [["return 42"]], [["while true do end"]], [["return ("]] }

local values = { "null", "true", "-1", "0", "1e999", "9223372036854775808", "0.5", '""', '"a"',
  '"\\u0000"', "[]", "{}", "[null]", '{"a":1}', '[1,"x",{}]', '{"lua":5}', '{"requests":-1}',
  '{"wall_s":1e-9}', "[[[[[[]]]]]]" }

local fields = { "program", "scenario", "workload", "params", "seeds", "fidelity", "limits", "want",
  "objectives", "constraints", "nope", "name", "digest", "a", "b" }

local function one_of(rng, list) return list[rng:integer(#list)] end

local function params_of(rng)
  local parts = { '"program":{"lua":' .. one_of(rng, programs) .. "}", '"scenario":"a"',
    '"limits":{"wall_s":1,"instructions":100000}' }
  for _ = 1, rng:integer(4) - 1 do
    parts[#parts + 1] = ('"%s":%s'):format(one_of(rng, fields), one_of(rng, values))
  end
  return rng:integer(10) == 1 and one_of(rng, values) or "{" .. table.concat(parts, ",") .. "}"
end

local forms = {
  stdio = function(rng, i)
    local method = one_of(rng, { "evaluate", "evaluate", "evaluate_batch", "cancel", "describe" })
    return ('{"id":%s,"method":"%s","params":%s,"progress":%s}'):format(
      rng:integer(3) == 1 and one_of(rng, values) or tostring(i), method,
      method == "evaluate_batch" and ('{"items":[%s]}'):format(params_of(rng)) or params_of(rng),
      one_of(rng, values))
  end,
  mcp = function(rng, i)
    local tool = one_of(rng, { "evaluate", "check", "compare", "explain", "describe", "docs" })
    return ('{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}')
      :format(rng:integer(3) == 1 and one_of(rng, values) or tostring(i), tool, params_of(rng))
  end,
}

--- A byte here and there, or no end.
local function damaged(rng, line)
  if rng:integer(6) > 1 then return line end
  local at = rng:integer(#line)
  if rng:integer(2) == 1 then return line:sub(1, at) end
  local byte = rng:integer(255)
  return line:sub(1, at - 1) .. string.char(byte == 10 and 32 or byte) .. line:sub(at + 1)
end

local ends = { stdio = '{"id":"END","method":"describe"}',
  mcp = '{"jsonrpc":"2.0","id":"END","method":"ping"}' }
local begins = { stdio = "", mcp = '{"jsonrpc":"2.0","id":"B","method":"initialize","params":'
  .. '{"protocolVersion":"2025-11-25"}}' }

describe("a server #host", function()
  for protocol, form in pairs(forms) do
    it("lives through nonsense: " .. protocol, function()
      local rng, lines = blis.rng(1, protocol), { begins[protocol] }
      for i = 1, 300 do lines[#lines + 1] = damaged(rng, form(rng, i)) end
      lines[#lines + 1] = ends[protocol]
      program.with_file(table.concat(lines, "\n") .. "\n", function(path)
        local result = program.shell(('"$BLIS" serve --%s --suite %s <%s'):format(protocol, suite,
          path))
        assert.equal("", result.err)
        assert.equal(0, result.status)
        local is_ended = false
        for line in result.out:gmatch "[^\n]+" do
          local answer = json.decode(line)
          is_ended = is_ended or answer.id == "END"
          assert.is_nil(line:find('"code":"internal"', 1, true) or line:find("-32603", 1, true),
            line)
          assert.is_nil(line:find("0x%x%x%x%x%x%x"), line)
        end
        assert.is_true(is_ended)
      end)
    end)
  end
end)
