--- Which policies of an experiment are functions of a script, for reports.
local show = require "blis.show"

local scripted = {}

-- The function of a policy that is called; new creates one for every run.
local mains = { "new", "route", "decide", "score", "score_all", "keep", "pick", "goes_before",
  "order", "victim", "escalate", "quality", "measure", "priority" }

--- "scorer mine (function of x.lua:12)"; nil for a policy that comes with blis.
local function text_of(definition)
  for _, main in ipairs(mains) do
    local fn = rawget(definition, main)
    if type(fn) == "function" then
      local words = {}
      for _, word in ipairs { definition.kind or "", definition.label or definition.name or "" } do
        if word ~= "" then words[#words + 1] = word end
      end
      words[#words + 1] = ("(%s)"):format(show.text(fn))
      return table.concat(words, " ")
    end
  end
end

--- Those of a list, each once.
---@param definitions table[]
---@return string[]
function scripted.list(definitions)
  local texts, seen = {}, {}
  for _, definition in ipairs(definitions) do
    local text = type(definition) == "table" and text_of(definition)
    if text and not seen[text] then
      seen[text] = true
      texts[#texts + 1] = text
    end
  end
  return texts
end

return scripted
