--- Links of a sweep's page to the pages of single runs: its baseline and its best points.
local again = require "blis.sweep.again"
local best = require "blis.page.best"
local figures = require "blis.results.figures"
local html = require "blis.page.html"

local links = {}

-- Maximum number of best points with a page: one per load.
local most_best = 4

--- The points with a page of their own, with the words of their links: the first point, which is
--- the baseline, and the best one of each load.
local function chosen(self)
  local places, list, is_known = {}, {}, {}
  for i, point in ipairs(self.points) do places[point] = i end
  local function add(point, text, suffix)
    if not point or is_known[point] then return end
    is_known[point] = true
    list[#list + 1] = { point = places[point], text = ("%s (%s)"):format(text, point.name),
      suffix = suffix }
  end
  add(self.points[1], "baseline", "baseline")
  local metric = best.metric(self)
  local groups = metric and best.groups(self) or {}
  for i = 1, math.min(#groups, most_best) do
    add(best.of(groups[i].points, metric, figures.direction(metric)), "best",
      #groups > 1 and "best-" .. i or "best")
  end
  return list
end

--- The name of a file as a relative address.
local function address(name)
  return (name:gsub("[^%w._~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

--- Writes the pages of the baseline and of the best points beside the page of a sweep, and returns
--- the line with their links; nothing if the trials return no results, or were read from a folder.
---@param path string of the page of the sweep
---@param self blis.SweepTable
---@return any
function links.element(path, self)
  local is_device = path == "-" or path:find "^/dev/" ~= nil
  if self.name == "compare" or #self.points == 0 or is_device then return {} end
  local list, stem = chosen(self), path:gsub("%.html?$", "")
  for _, one in ipairs(list) do one.path = ("%s-%s.html"):format(stem, one.suffix) end
  local written, items = again.report(self, list), {}
  for i, one in ipairs(list) do
    if written[i] then
      items[#items + 1] = html.li(html.a({ href = address(one.path:match "[^/]*$") }, one.text))
    end
  end
  return #items > 0 and { html.p "Pages of single runs, with the first seed:",
    html.ul(items) } or {}
end

return links
