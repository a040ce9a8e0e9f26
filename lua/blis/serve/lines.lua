--- Divides a stream into lines; lines that are too long are reported and skipped.
local lines = {}

---@class blis.serve.Lines
---@field limit integer bytes
---@field parts string[] of the line that is not complete
---@field size integer
---@field is_skipping boolean

---@param limit integer
---@return blis.serve.Lines
function lines.new(limit) return { limit = limit, parts = {}, size = 0, is_skipping = false } end

local function add(self, part)
  self.size = self.size + #part
  if self.size > self.limit then
    self.parts, self.is_skipping = {}, true
  elseif not self.is_skipping then
    self.parts[#self.parts + 1] = part
  end
end

--- Calls fn(line) for every line that a piece completes, fn(nil) for one that was too long.
---@param self blis.serve.Lines
---@param piece string
---@param fn fun(line: string?)
function lines.feed(self, piece, fn)
  local from = 1
  while true do
    local at = piece:find("\n", from, true)
    if not at then break end
    add(self, piece:sub(from, at - 1))
    local line = not self.is_skipping and table.concat(self.parts) or nil
    self.parts, self.size, self.is_skipping = {}, 0, false
    fn(line)
    from = at + 1
  end
  if from <= #piece then add(self, piece:sub(from)) end
end

--- What is left at the end, if anything.
---@param self blis.serve.Lines
---@return string?
function lines.rest(self)
  return #self.parts > 0 and table.concat(self.parts) or nil
end

return lines
