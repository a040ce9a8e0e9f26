local blis = require "blis"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

describe("the annotations", function()
  local core = read "lua/blis/meta/core.lua"

  it("of options are those that the descriptions give", function()
    local generated = require("blis.config.annotations").generate()
    assert.equal(generated, read "lua/blis/meta/options.lua")
  end)

  it("know every signal, on instances and as a column", function()
    for _, signal in ipairs(require("blis.core").signals()) do
      local _, count = core:gsub("@field " .. signal.name .. " ", "")
      assert.is_true(count >= 2, signal.name)
    end
  end)

  it("know every function of vectors", function()
    for name in pairs(blis.vec) do
      assert.is_truthy(core:find("function vec." .. name .. "(", 1, true), name)
    end
  end)

  it("stand at every public function", function()
    local missing = {}
    local modules = { "init", "policy", "experiment", "comparison", "workload", "trace", "units" }
    for _, name in ipairs(modules) do
      local before = ""
      for line in read("lua/blis/" .. name .. ".lua"):gmatch "[^\n]*" do
        local public = line:match "^function ([%w_.:]+)"
        if public and not before:find "^%-%-%-" then missing[#missing + 1] = public end
        before = line
      end
    end
    assert.same({}, missing)
  end)

  it("name only methods that there are", function()
    local objects = {
      rng = blis.rng(1), queue = blis.event_queue(), cache = blis.kv_cache { blocks = 1 },
      simulation = blis.simulation {}, instance = blis.simulation({}).instances[1],
      list = blis.workload { requests = 1 }, latency_model = blis.latency_model "roofline",
      scorer = blis.scorer "queue-depth",
    }
    for object, method in core:gmatch "\nfunction ([%w_]+):([%w_]+)%(" do
      assert.equal("function", type(objects[object][method]), object .. ":" .. method)
    end
  end)
end)
