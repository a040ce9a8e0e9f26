--- Lines for a client that may not be reading: they wait here, not in a write.
local core = require "blis.core"

local output = {}

---@class blis.serve.Output
---@field lines string[]
---@field first integer of those that wait
---@field from integer the byte of that line that is next
---@field bytes integer
---@field is_closed boolean standard output takes nothing any more
---@field problem? string why
---@field lost integer lines that were not written to the end

---@return blis.serve.Output
function output.new()
  return { lines = {}, first = 1, from = 1, bytes = 0, is_closed = false, lost = 0 }
end

---@param self blis.serve.Output
---@param line string
function output.add(self, line)
  if self.is_closed then
    self.lost = self.lost + 1
    return
  end
  self.lines[#self.lines + 1] = line .. "\n"
  self.bytes = self.bytes + #line + 1
end

--- Writes what standard output takes now.
---@param self blis.serve.Output
function output.flush(self)
  while self.first <= #self.lines do
    local line = self.lines[self.first]
    local from, problem = core.pipe_write(line, self.from)
    if not from then
      self.lost = self.lost + #self.lines - self.first + 1
      self.is_closed, self.problem = true, problem
      self.lines, self.first, self.bytes = {}, 1, 0
      return
    end
    if from <= #line then
      self.from = from
      return
    end
    self.lines[self.first] = false
    self.first, self.from, self.bytes = self.first + 1, 1, self.bytes - #line
  end
  self.lines, self.first = {}, 1
end

--- Lines that the client has not taken.
---@param self blis.serve.Output
---@return integer
function output.missing(self) return self.lost + #self.lines - self.first + 1 end

---@param self blis.serve.Output
---@return boolean
function output.is_empty(self) return self.bytes == 0 end

return output
