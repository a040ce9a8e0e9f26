--- What a page says of traffic and policies that come from a script, and how to repeat a run.
local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

--- The section "Configuration" of the page of a run, without tags.
local function setup_of(changes)
  local text
  files.with(nil, function(path)
    blis.run(small.experiment(changes)):report(path)
    text = files.read(path):match '<section [^>]*id="setup">(.-)</section>'
  end, ".html")
  return (text:gsub("<[^>]*>", "|"):gsub("&quot;", '"'))
end

local function says(changes, ...)
  local text = setup_of(changes)
  for _, part in ipairs { ... } do small.says(text, part) end
end

describe("what was run", function()
  it("tells generated requests by their options", function()
    says({ workload = { rate = 5, requests = 7, output_tokens = 3 } },
      "Traffic: generated requests: 5 requests/s, 7 requests, 3 output tokens.")
    local place = debug.getinfo(1, "l").currentline + 2
    says({ workload = { rate = 5, requests = 7, output_tokens = 3,
      prompt = function() return 9 end } },
      ("prompt function of %s:%d"):format(debug.getinfo(1, "S").short_src, place))
  end)

  it("tells generators and lists of a script", function()
    local count = 0
    says({ workload = function()
      count = count + 1
      return count < 4 and { arrival_us = count, prompt_tokens = 4, output_tokens = 2 } or nil
    end }, "Traffic: requests returned by a function of spec/page/inputs_spec.lua:")
    says({ workload = blis.workload { rate = 5, requests = 1200, prompt_tokens = 4,
      output_tokens = 2 } },
      "Traffic: generated requests: 5 requests/s, 1,200 requests, 4 prompt tokens, ")
    local list = blis.workload { rate = 5, requests = 1200, prompt_tokens = 4, output_tokens = 2 }
    says({ workload = list:map(function() return {} end) },
      "Traffic: a list of 1,200 requests from the script.")
  end)

  it("tells traces by their file and its hash", function()
    files.with(nil, function(path)
      blis.workload { rate = 5, requests = 8, prompt_tokens = 4, output_tokens = 2 }:write(path)
      local pattern = "Traffic: the trace " .. path:gsub("%p", "%%%0")
      local hashes = {}
      for i, traffic in ipairs { blis.trace.read(path), blis.trace.stream(path),
        { trace = path, session_mode = "fixed" } } do
        local text = setup_of { workload = traffic }
        assert.matches(pattern, text)
        hashes[i] = text:match "%(XXH128 (%x+)%)"
        assert.equal(32, #hashes[i])
      end
      assert.equal(hashes[1], hashes[2])
      assert.equal(hashes[1], hashes[3])
      says({ workload = { trace = path, session_mode = "fixed" } },
        ', with { session_mode = "fixed" } (XXH128 ')
      os.remove((path:gsub("%.csv$", ".yaml")))
    end, ".csv")
  end)

  it("names policies that are functions of the script, and where they are", function()
    local scorer = blis.scorer { name = "mine", score = function() return 1 end }
    says({ routing = { "weighted", scorers = { { scorer, 1 }, { "queue-depth", 1 } } },
      admission = { name = "door", new = function()
        return { decide = function() return "admit" end }
      end } }, "Policies of the script: scorer mine (function of spec/page/inputs_spec.lua:",
      ", admission door (function of spec/page/inputs_spec.lua:")
    assert.is_nil(setup_of():find("Policies of the script", 1, true))
  end)
end)
