-- docs/production.md: its commands, run as they stand.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local config = [[
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
schedulingProfiles:
- name: default
  plugins:
  - { pluginRef: queue-scorer, weight: %d }
  - { pluginRef: kv-cache-utilization-scorer, weight: 1 }
]]

local gateway_log = [[
{"id":"a","target":"pod-1","scores":{"pod-1":{"queue-scorer":1,"kv-cache-utilization-scorer":0.5},]]
  .. [["pod-2":{"queue-scorer":0,"kv-cache-utilization-scorer":0.9}}}
]]

-- The files that the page speaks of.
local given = {
  ["epp.yaml"] = config:format(2), ["changed.yaml"] = config:format(-2),
  ["dynamo.txt"] = "python -m dynamo.frontend --router-mode kv\n",
  ["smg.txt"] = "smg --policy cache_aware\n",
  ["own.lua"] = files.read "spec/production/least_work.lua",
  ["bundle.yaml"] = "routing:\n  policy: weighted\n  scorers:\n  - name: llm-d.queue-scorer\n"
    .. "    weight: 1\n",
  ["gateway.log"] = gateway_log,
}

local function commands_of(text)
  local list = {}
  for line in text:gmatch "\n    (blis [^\n]*)" do
    local command, status = line:match "^(.-)%s*# exit status (%d)$"
    list[#list + 1] = { line = command or line, status = tonumber(status) or 0 }
  end
  return list
end

describe("docs/production.md #host", function()
  it("has commands that work in their order", function()
    local commands = commands_of(assert(files.read "docs/production.md"))
    assert.is_true(#commands >= 20)
    local path = program.path:match "^/" and program.path
      or io.popen("pwd"):read "l" .. "/" .. program.path
    folders.with(function(folder)
      os.execute("mkdir " .. folder)
      for name, text in pairs(given) do
        local file = assert(io.open(folder .. "/" .. name, "wb"))
        file:write(text)
        file:close()
      end
      for _, one in ipairs(commands) do
        local outcome = program.shell(("cd '%s' && '%s' %s"):format(folder, path,
          one.line:gsub("^blis ", "")))
        assert.equal(one.status, outcome.status, one.line .. ": " .. outcome.err .. outcome.out)
      end
      assert.matches("regression", files.read(folder .. "/gate.md"), 1, true)
      assert.matches("weight: 2", files.read(folder .. "/exported.yaml"), 1, true)
    end)
  end)
end)
