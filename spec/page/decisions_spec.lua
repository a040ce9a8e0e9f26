--- Which decisions pages tell of.
local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

--- The section of the page of a run, its tags as bars.
local function section_of(result)
  local text
  files.with(nil, function(path)
    result:report(path)
    text = files.read(path):match '<section [^>]*id="decisions">.-</section>'
  end, ".html")
  return (text:gsub("<[^>]*>", "|"):gsub("|+", "|"):gsub("&quot;", '"'))
end

local function says(text, ...)
  for _, part in ipairs { ... } do
    assert.truthy(text:find(part, 1, true), ("no '%s' in %s"):format(part, text))
  end
end

--- A scorer that gives 1 to one instance and 0 to the others.
local function only(name, id)
  return blis.scorer { name = name, score = function(_, instance)
    return instance.id == id and 1 or 0
  end }
end

local function run(scorers, more)
  local experiment = small.experiment { trace_level = "decisions", cluster = { instances = 3 },
    routing = { "weighted", scorers = scorers } }
  for key, value in pairs(more or {}) do experiment[key] = value end
  return blis.run(experiment)
end

describe("decisions of interest", function()
  it("are gaps between scores, and choices against the caches", function()
    local text = section_of(run { { only("own-prefix", "instance_0"), 1 },
      { only("own-load", "instance_1"), 3 } })
    says(text, "|ties for the best score|0.0 %|", "|not where most was cached|100.0 %|",
      "in its cache, by the policy&#39;s own scorers (60 decisions, the first 5)|",
      "|instance_1|1|instance_0|",
      "Largest gaps between the best score and the next (60 decisions, the first 5)|",
      "|instance_1|0.5|instance_1 0.75, instance_0 0.25, instance_2 0|")
    assert.is_nil(text:find("Not the instance with the best score", 1, true))
  end)

  it("are ties, and none against caches that nobody looks at", function()
    local text = section_of(run { { only("own-load", "nobody"), 1 } })
    says(text, "|ties for the best score|100.0 %|", "|not where most was cached|0.0 %|")
    assert.is_nil(text:find("Largest gaps", 1, true))
    assert.is_nil(text:find("Not the instance", 1, true))
  end)

  it("are those that a policy made against its own scores", function()
    local result = run(nil, { routing = { "weighted",
      scorers = { { only("own-load", "instance_1"), 1 } }, picker = "random" } })
    local regretted = 0
    for i = 1, #result.decisions do
      regretted = regretted + ((result.decisions[i].regret or 0) > 0 and 1 or 0)
    end
    assert.is_true(regretted > 5)
    says(section_of(result), ("Not the instance with the best score (%d decisions, the first 5)")
      :format(regretted), "|1|instance_1 1, instance_0 0, instance_2 0|")
  end)

  it("are why requests were not served, the most frequent reason first", function()
    local n = 0
    local result = blis.run(small.experiment { admission = blis.admission { name = "door",
      decide = function()
        n = n + 1
        if n <= 10 then return true end
        return blis.reject(n % 5 == 0 and "<rare>" or "often")
      end } })
    local text = section_of(result)
    says(text, "|Requests that were not served|end|why|requests|the first|",
      "|rejected|often|40|request_10 at ", "|rejected|&lt;rare&gt;|10|request_14 at ",
      'No decisions were kept. Those of routing are here with |trace_level = "decisions"|')
    assert.is_true(text:find("often", 1, true) < text:find("rare", 1, true))
  end)

  it("are those of an autoscaler where it has its own section", function()
    local text = section_of(blis.run(small.experiment { scaling = { max_replicas = 4 },
      autoscaler = { "hpa", metrics = { queue_depth = 1 } } }))
    says(text, "What the autoscaler decided is under |Scaling|.")
    text = section_of(blis.run(small.experiment()))
    assert.is_nil(text:find("autoscaler", 1, true))
    assert.is_nil(text:find("not served", 1, true))
  end)
end)
