-- docs/results.md describes every metric of a result with its pitfall.
local figures = require "blis.results.figures"
local files = require "spec.support.files"

-- Fields that are no metrics: identity, parts of the run, and data of single requests.
local others = {}
for _, name in ipairs { "routing", "hash", "duration_us", "prompt_tokens", "output_tokens",
  "steady", "custom_metrics", "phases", "instance_counts", "series", "step_log", "timeline_log",
  "decisions", "setup", "keeps_records", "by_slo_class", "by_tenant", "by_model", "by_adapter",
  "requests", "has_sessions", "requests_per_instance", "instances", "offload_rate",
  "requests_without_router", "goodput", "cost" } do
  others[name] = true
end

describe("docs/results.md", function()
  local text = files.read "docs/results.md"

  it("describes each metric of a result", function()
    local count = 0
    for _, field in ipairs(figures.of "Result") do
      if not others[field.name] then
        assert.truthy(text:find("`" .. field.name .. "[`.]"), field.name)
        count = count + 1
      end
    end
    assert.truthy(count > 25, count)
  end)

  it("has a pitfall in every row", function()
    for row in text:gmatch "\n(|[^\n]+)" do
      local cells = 0
      for cell in row:gmatch "|%s*([^|]+)" do cells = cells + (cell:find "%S" and 1 or 0) end
      assert.equal(3, cells, row)
    end
  end)
end)
