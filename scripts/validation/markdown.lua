--- Tables and numbers in Markdown.
local markdown = {}

--- Rows of texts under a header; columns behind the first left ones are numbers.
---@param header string[]
---@param rows string[][]
---@param left? integer
---@return string
function markdown.table(header, rows, left)
  local rule = {}
  for i = 1, #header do rule[i] = i <= (left or 1) and "---" or "--:" end
  local lines = {}
  local function add(cells, separator)
    lines[#lines + 1] = "|" .. separator .. table.concat(cells, separator .. "|" .. separator)
      .. separator .. "|"
  end
  add(header, " ")
  add(rule, "")
  for _, row in ipairs(rows) do add(row, " ") end
  return table.concat(lines, "\n")
end

--- 0.0123 as "1.2".
function markdown.share(x) return x and ("%.1f"):format(x * 100) or "-" end

--- 0.0123 as "+1.2".
function markdown.signed(x) return x and ("%+.1f"):format(x * 100) or "-" end

function markdown.ms(us) return us and ("%.1f"):format(us / 1000) or "-" end

return markdown
