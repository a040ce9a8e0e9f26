-- The skeletons of Go plugins: names that Go takes, and where Go is installed, its own opinion.
local blis = require "blis"
local folders = require "spec.support.folders"
local go = require "blis.production.export.go"
local program = require "spec.support.program"

local function skeleton(...)
  local scorers = { { "llm-d.queue-scorer", 1 } }
  for _, name in ipairs { ... } do
    scorers[#scorers + 1] = { blis.scorer { name = name, score = function() return 1 end }, 2 }
  end
  return go.of { name = "my\npolicy.lua", label = "it\n*/", points = {
    routing = { "weighted", scorers = scorers } } }
end

local odd_names = { "least work", "least-work", "übel 3", "3x", "a\\b\"c", "func", "scorer" }

-- As much of the router's framework as the skeleton speaks of.
local stub = [[
// Package scheduling is a stand-in.
package scheduling

type CycleState struct{}

type LLMRequest struct{}

type Endpoint interface{ String() string }
]]

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

describe("the skeleton of a Go plugin", function()
  it("has names of its own for each scorer", function()
    local text, names, kinds = skeleton(table.unpack(odd_names)), {}, {}
    for name in text:gmatch "\ntype (%w+) struct {\n" do
      assert.matches("^%u%w*Scorer%d*$", name)
      assert.is_nil(names[name])
      names[name] = true
    end
    for kind in text:gmatch '\nconst %w+ = "([^\n]*)"\n' do
      assert.matches("^%w[%w-]*$", kind)
      assert.is_nil(kinds[kind])
      kinds[kind] = true
    end
    assert.is_true(names.LeastWorkScorer and names.LeastWorkScorer2 and names.N3xScorer)
    assert.is_true(kinds["least-work-scorer"] and kinds["least-work-scorer-2"])
    assert.not_matches("\npolicy", text, 1, true)
  end)

  it("is for scorers of one's own, and not for those that the router has", function()
    local own = blis.scorer { name = "own", score = function() return 1 end }
    local labels = { a = { "x", "y" } }
    local function text(...)
      return go.of { name = "p.lua", label = "it", points = { routing = { "weighted",
        scorers = { ... } } } }
    end
    local made = text({ "inverted", 2, base = own }, { "inverted", base = "kv-utilization" },
      { "llm-d.header-label-affinity-scorer", label = "a", labels = labels })
    assert.matches('const OwnScorerType = "own-scorer"', made, 1, true)
    assert.matches("TODO: weight -2 in it", made, 1, true)
    assert.not_matches("Inverted", made, 1, true)
    assert.not_matches("header", made, 1, true)
    local ok, problem = pcall(text, { "inverted", base = "kv-utilization" })
    assert.is_false(ok)
    assert.matches("no scorer of it is written in Lua", problem.message, 1, true)
  end)

  it("is Go that gofmt leaves alone and go vet has nothing against #host", function()
    if not os.execute "go version >/dev/null 2>&1" then
      pending "go is not installed: nothing can compile the skeleton here"
      return
    end
    folders.with(function(folder)
      os.execute(("mkdir -p '%s/scheduling' '%s/scorers'"):format(folder, folder))
      write(folder .. "/go.mod", "module example.com/llm-d-router\n\ngo 1.18\n")
      write(folder .. "/scheduling/stub.go", stub)
      write(folder .. "/scorers/own.go", skeleton(table.unpack(odd_names)))
      local outcome = program.shell(("cd '%s' && gofmt -e -l . && "):format(folder)
        .. "GOFLAGS=-mod=mod GOPROXY=off go vet ./...")
      assert.equal(0, outcome.status, outcome.err)
      assert.equal("", outcome.out)
    end)
  end)
end)
