--- The server for coding agents, as transcripts of both eras of its protocol.
local json = require "blis.json"
local program = require "spec.support.program"
local small = require "spec.support.small"

local suite = "spec/eval/small_suite.lua"

--- The lines that come back, as texts and decoded.
local function talk(...)
  local outcome
  program.with_file(table.concat({ ... }, "\n") .. "\n", function(path)
    outcome = program.shell(('"$BLIS" serve --mcp --suite %s <%s'):format(suite, path))
  end)
  assert.equal("", outcome.err)
  assert.equal(0, outcome.status)
  local texts, decoded = {}, {}
  for line in outcome.out:gmatch "[^\n]+" do
    texts[#texts + 1], decoded[#decoded + 1] = line, json.decode(line)
  end
  return texts, decoded
end

local meta = [["_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",]]
  .. [["io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},]]
  .. [["io.modelcontextprotocol/clientCapabilities":{}}]]

local initialize = [[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":]]
  .. [["2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}]]
local initialized = [[{"jsonrpc":"2.0","method":"notifications/initialized"}]]

local function call(id, name, arguments, with_meta)
  return ('{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}')
    :format(id, name, arguments, with_meta and "," .. meta or "")
end

local function without_version(text)
  return (text:gsub('("name":"blis","version":)"[^"]*"', '%1""'))
end

describe("blis serve --mcp #host", function()
  it("speaks as up to 2025-11-25", function()
    local texts, list = talk(initialize, initialized, [[{"jsonrpc":"2.0","id":2,"method":]]
      .. [["tools/list"}]], call(3, "evaluate", [[{"program":{"lua":"return 'random'"},]]
      .. [["scenario":"a","objectives":["ttft_p99_ms"]}]]))
    assert.equal([[{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",]]
      .. [["capabilities":{"tools":{}},"serverInfo":{"name":"blis","version":""}}}]],
      without_version(texts[1]))
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"describe","description":"',
      texts[2]:sub(1, 77))
    local names = {}
    for i, tool in ipairs(list[2].result.tools) do
      names[i] = tool.name
      assert.equal("object", tool.inputSchema.type)
      assert.is_true(tool.annotations.readOnlyHint)
    end
    assert.same({ "describe", "check", "evaluate", "compare", "explain", "docs" }, names)
    local result = list[3].result
    assert.equal(3, list[3].id)
    assert.is_false(result.isError)
    assert.equal("text", result.content[1].type)
    assert.same(result.structuredContent, json.decode(result.content[1].text))
    assert.is_number(result.structuredContent.objectives.ttft_p99_ms)
    assert.is_nil(result.resultType)
  end)

  it("speaks as from 2026-07-28 on", function()
    local texts, list = talk([[{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{]]
      .. meta .. "}}", [[{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{]] .. meta .. "}}",
      call(3, "check", [[{"program":{"lua":"return 'random'"},"scenario":"a"}]], true),
      [[{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{]]
      .. [["io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}]])
    local start = [[{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete",]]
      .. [["supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},]]
      .. [["serverInfo":{"name":"blis","version":""},"instructions":"]]
    assert.equal(start, without_version(texts[1]):sub(1, #start))
    assert.equal(3600000, list[1].result.ttlMs)
    assert.equal("public", list[1].result.cacheScope)
    assert.equal("blis",
      list[1].result._meta["io.modelcontextprotocol/serverInfo"].name)
    assert.equal("complete", list[2].result.resultType)
    assert.equal(300000, list[2].result.ttlMs)
    for _, one in ipairs { list[3], list[4] } do
      if one.id == 3 then
        assert.equal("complete", one.result.resultType)
        assert.is_false(one.result.isError)
      else
        assert.same({ code = -32022, message = "Unsupported protocol version",
          data = { supported = { "2026-07-28", "2025-11-25" }, requested = "1900-01-01" } },
          one.error)
      end
    end
  end)

  it("tells a wrong call from a tool that failed", function()
    local _, list = talk(initialize, initialized, call(2, "nope", "{}"),
      call(3, "evaluate", [[{"program":{"lua":"return 42"},"scenario":"a"}]]),
      call(4, "evaluate", [[{"program":{"lua":"local a\nreturn a.b"},"scenario":"a"}]]),
      call(5, "evaluate", [[{"program":{"lua":"return 1"},"scenario":"nowhere"}]]),
      [[{"jsonrpc":"2.0","id":6,"method":"nope"}]], "garbage", [=[[{"jsonrpc":"2.0"}]]=],
      [[{"jsonrpc":"2.0","method":"notifications/nope"}]],
      [[{"jsonrpc":"2.0","id":7,"method":"ping"}]])
    local by_id, null = {}, {}
    for _, one in ipairs(list) do
      if one.id == json.null then null[#null + 1] = one.error.code else by_id[one.id] = one end
    end
    assert.equal(-32602, by_id[2].error.code)
    assert.is_true(by_id[3].result.isError)
    assert.is_true(by_id[4].result.isError)
    small.says(by_id[4].result.content[1].text, "policy.lua:2")
    assert.equal(2, by_id[4].result.structuredContent.error.where.line)
    assert.is_true(by_id[5].result.isError)
    assert.equal(-32601, by_id[6].error.code)
    assert.same({}, by_id[7].result)
    table.sort(null)
    assert.same({ -32700, -32600 }, null)
  end)

  it("wants one of two ways to begin", function()
    local _, list = talk([[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]],
      [[{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{]] .. meta .. "}}",
      [[{"jsonrpc":"2.0","id":3,"method":"server/discover"}]])
    assert.equal(-32600, list[1].error.code)
    assert.equal("complete", list[2].result.resultType)
    assert.equal(-32601, list[3].error.code)
  end)

  it("compares, explains and has a manual", function()
    local _, list = talk(initialize, call(2, "compare", [[{"a":{"lua":"return 'random'"},"b":]]
      .. [[{"lua":"return function() return 1 end"},"scenario":"a","seeds":[1,2,3,4]}]]))
    local metrics = list[2].result.structuredContent.metrics
    assert.is_true(metrics.balance_cv.low > 0)
    assert.is_true(metrics.balance_cv.low < metrics.balance_cv.difference)
    _, list = talk(initialize, call(2, "docs", "{}"), call(3, "docs", [[{"name":"scorer"}]]),
      call(4, "explain", [[{"digest":"0"}]]), call(5, "describe", "{}"))
    for _, one in ipairs(list) do assert.is_true(#json.encode(one) < 20000) end
    small.says(list[2].result.structuredContent.chapters, "scorer")
    small.says(list[3].result.structuredContent.text, "score")
    assert.is_true(list[4].result.isError)
    small.says(list[5].result.content[1].text, "in_flight")
  end)
end)
