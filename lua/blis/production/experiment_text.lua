--- An imported configuration as a script: an experiment to run, to read and to change, which gives
--- its policies to other commands.
local lua_text = require "blis.production.lua_text"

local experiment_text = {}

-- Replaces the traffic of the deployment.
local workload = {
  rate = 20, requests = 2000, prompt_tokens = 600, output_tokens = 150,
  prefixes = { groups = 24, tokens = 2048 },
}

local order = { "cluster", "workload", "admission", "queue", "routing", "disaggregation", "seed" }

--- A comment of lines that are not too long.
local function add_comment(lines, text)
  local line = "--"
  for word in text:gmatch "%S+" do
    if #line + #word >= 100 then
      lines[#lines + 1], line = line, "--  "
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
end

local function add_comments(lines, findings)
  for _, kind in ipairs { "routing", "note" } do
    for _, one in ipairs(findings:of(kind)) do
      add_comment(lines, ("%s%s: %s"):format(kind == "routing" and "Not simulated: " or "",
        one.part, one.text))
    end
  end
end

--- The text of a script.
---@param experiment table
---@param about { source: string, what: string, definitions: string[], findings: table }
---@return string
function experiment_text.of(experiment, about)
  local lines = { ("-- From %s: %s."):format(about.source:match "[^/]*$", about.what) }
  add_comments(lines, about.findings)
  lines[#lines + 1] = 'local blis = require "blis"\n'
  for _, text in ipairs(about.definitions) do lines[#lines + 1] = text .. "\n" end
  experiment.workload = workload
  lines[#lines + 1] = "-- The cluster and traffic are examples: replace them with yours."
  lines[#lines + 1] = "local experiment = " .. lua_text.of(experiment, 0, order) .. "\n"
  lines[#lines + 1] = 'if ... ~= "policy" then print(blis.run(experiment)) end'
  lines[#lines + 1] = "return experiment"
  return table.concat(lines, "\n") .. "\n"
end

return experiment_text
