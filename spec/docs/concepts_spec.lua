-- Pages about a concept have the same order: two sentences on the subject that they model, a
-- diagram, a runnable example, options, and at the end limits and differences from real systems.
local files = require "spec.support.files"

local pages = { "agents", "autoscaling", "disaggregation", "energy", "engines", "gateway-queue",
  "kv-tiers", "lora", "models", "ranks", "router-replicas", "speculation" }

local last_heading = "Limits and real systems"

local function sentences(text)
  local count = 0
  for _ in (text .. " "):gsub("`[^`]*`", "code"):gmatch "[.?!]%s" do count = count + 1 end
  return count
end

--- The headings of the second level outside of code, in order.
local function headings(text)
  local list = {}
  for heading in text:gsub("\n```.-\n```", ""):gmatch "\n## ([^\n]+)" do
    list[#list + 1] = heading
  end
  return list
end

for _, name in ipairs(pages) do
  describe("docs/" .. name .. ".md", function()
    local text = files.read("docs/" .. name .. ".md")

    it("begins with two sentences and a diagram", function()
      local lead = text:match "^# [^\n]+\n\n(.-)\n\n```mermaid\n"
      assert.truthy(lead, "expected a title, one paragraph, and a diagram")
      assert.is_nil(lead:find("\n\n", 1, true), "expected one paragraph")
      assert.equal(2, sentences(lead))
    end)

    it("continues with an example and options, and ends with limits", function()
      local list = headings(text)
      assert.equal("Example", list[1])
      assert.equal("Options", list[2])
      assert.equal(last_heading, list[#list])
    end)

    it("has code in its example, and names where all options are listed", function()
      local example, rest = text:match "\n## Example\n(.-)\n## Options\n(.*)$"
      assert.truthy(example:find "```lua\n" or example:find "```sh\n")
      local options = rest:match "^(.-)\n## " or rest
      assert.truthy(options:find("| ", 1, true), "expected a table of options")
    end)

    it("describes limits", function()
      local limits = text:match("\n## " .. last_heading .. "\n(.*)$")
      local _, items = limits:gsub("\n%- ", "")
      assert.truthy(items >= 3, "expected a list of limits")
    end)
  end)
end
