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
    says(text, "|Unserved requests|end|why|requests|the first|",
      "|rejected|often|40|request_10 at ", "|rejected|&lt;rare&gt;|10|request_14 at ",
      'No decisions were recorded. To record routing decisions, set |trace_level = "decisions"|')
    assert.is_true(text:find("often", 1, true) < text:find("rare", 1, true))
  end)

  it("are of all routing decisions, not of every n-th record of the trace", function()
    local third = blis.scorer { name = "own-prefix", score = function(request, instance)
      return request.arrival_us % 3 == 0 and instance.id == "instance_0" and 1 or 0
    end }
    local function ties_of(requests)
      local text = section_of(run({ { third, 1 } }, { workload = { rate = 2000,
        requests = requests, prompt_tokens = 20, output_tokens = 1 } }))
      assert.is_nil(text:find("was examined", 1, true))
      return tonumber(text:match "|ties for the best score|([%d.]+) %%|")
    end
    assert.near(66.7, ties_of(600), 6)
    assert.near(66.7, ties_of(11000), 2) -- 22,000 decisions, half of them on admission
  end)

  it("are a sample of very many, with prefills and decodes alike", function()
    local text = section_of(blis.run { trace_level = "decisions",
      cluster = { prefill_instances = 2, decode_instances = 2 },
      disaggregation = { prefill_routing = { "weighted",
        scorers = { { only("own-load", "nobody"), 1 } } } },
      routing = { "weighted", scorers = { { only("own-load", "instance_2"), 1 } } },
      workload = { rate = 2000, requests = 10500, prompt_tokens = 20, output_tokens = 2 } })
    says(text, "|Only one in 2 of the 21,000 routing decisions between several instances was "
      .. "examined. Fractions, and counts in captions, refer to this sample.|")
    assert.near(50, tonumber(text:match "|ties for the best score|([%d.]+) %%|"), 1)
    local clear = text:match "best score and the next %(([%d,]+) decisions, the first 5%)"
    assert.near(5250, tonumber((clear:gsub(",", ""))), 100)
  end)

  it("have no shares where there was no choice", function()
    local text = section_of(run({ { "queue-depth", 1 } }, { cluster = { instances = 1 } }))
    says(text, "|routed|60|")
    assert.is_nil(text:find("ties for", 1, true))
    assert.is_nil(text:find("most was cached", 1, true))
  end)

  it("are not made of what rounding leaves of the scores of caches", function()
    -- 0.1 + 0.2 + 0.3 > 0.3 + 0.2 + 0.1, and in other orders it is less or equal
    local function part(name, first, other)
      return { blis.scorer { name = name, score = function(_, instance)
        return instance.id == "instance_0" and first or other
      end }, 1 }
    end
    for _, prefix in ipairs { "a", "mine", "own", "x" } do
      for _, scores in ipairs { { 0.1, 0.3 }, { 0.3, 0.1 } } do
        local first, other = table.unpack(scores)
        local text = section_of(run({ part(prefix .. "-prefix", first, other),
          part(prefix .. "-cache", 0.2, 0.2), part(prefix .. "-late-prefix", other, first),
          { only("load", "instance_1"), 1 } }, { cluster = { instances = 2 } }))
        says(text, "|not where most was cached|0.0 %|")
        assert.is_nil(text:find("own scorers", 1, true))
      end
    end
  end)

  it("have no first ones where all are shown, and no zero with a sign", function()
    local text = section_of(run({ { blis.scorer { name = "own-load", score = function(_, instance)
      return instance.id == "instance_1" and 1 or -0.0
    end }, 1 } }, { workload = { rate = 40, requests = 1 } }))
    says(text, "Largest gaps between the best score and the next (1 decision)|",
      "|instance_1 1, instance_0 0, instance_2 0|")
    local result = run(nil, { routing = "least-loaded", workload = { rate = 1, requests = 4 } })
    assert.is_nil(section_of(result):find("-0|", 1, true))
  end)

  it("are all requests that were not served, however late, also without records", function()
    local function late_of(more)
      local n = 0
      local experiment = { cluster = { instances = 2 }, admission = blis.admission {
        name = "door", decide = function()
          n = n + 1
          if n <= 20500 then return true end
          return blis.reject "closed"
        end }, workload = { rate = 2000, requests = 21000, prompt_tokens = 20, output_tokens = 1 } }
      for key, value in pairs(more) do experiment[key] = value end
      return blis.run(experiment)
    end
    local result = late_of {}
    says(section_of(result), "|Unserved requests|end|why|requests|the first|",
      "|rejected|closed|500|request_20500 at ")
    local ends = result.requests:unserved()
    assert.same({ { state = "rejected", reason = "closed", requests = 500, first = 20501 } }, ends)
    says(section_of(late_of { keep_records = false }),
      "|Unserved requests|end|why|requests|the first|", "|rejected|-|500|-|")
  end)

  it("are those of an autoscaler where it has its own section", function()
    local text = section_of(blis.run(small.experiment { scaling = { max_replicas = 4 },
      autoscaler = { "hpa", metrics = { queue_depth = 1 } } }))
    says(text, "For the decisions of the autoscaler, see |Scaling|.")
    text = section_of(blis.run(small.experiment()))
    assert.is_nil(text:find("autoscaler", 1, true))
    assert.is_nil(text:find("not served", 1, true))
  end)
end)
