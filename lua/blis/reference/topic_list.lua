--- The names of all topics: what `blis help` prints without one.
local reference = require "blis.reference"
local subjects = require "blis.reference.subjects"

local topic_list = {}

local easy_width = 92

local titles = {
  { "options", "Options" }, { "function", "Functions" }, { "type", "Types" },
  { "policy", "Built-in policies" },
}

--- The text, in lines of at most width columns, or of what is easy to read.
---@param width integer
---@return string
function topic_list.text(width)
  width = math.min(easy_width, width)
  local topics, lines = reference.topics(), { "First steps: 'blis run', then docs/guide.md. "
    .. "'blis --help' lists the commands.", "Tasks:" }
  for _, subject in ipairs(subjects.list()) do
    lines[#lines + 1] = ("  %-16s  %s"):format(table.unpack(subject))
  end
  for _, item in ipairs(titles) do
    lines[#lines + 1] = item[2] .. ":"
    local line, seen = " ", {}
    for _, topic in ipairs(topics) do
      local name = seen[topic.alias] and topic.name or topic.alias or topic.name
      if topic.kind == item[1] and not seen[name] then
        seen[name] = true
        if #line + #name > width - 2 then
          lines[#lines + 1] = line
          line = " "
        end
        line = line .. " " .. name
      end
    end
    lines[#lines + 1] = line
  end
  lines[#lines + 1] = "'blis help TOPIC' explains one. Figures, options and flags are topics, too:"
  lines[#lines + 1] = "blis help ttft_ms, blis help num-instances, blis help hit_rate."
  return table.concat(lines, "\n") .. "\n"
end

return topic_list
