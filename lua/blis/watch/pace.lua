--- Speed of a run: simulated time, wall-clock time, and the estimated rest.
local pace = {}

-- Rates cover several recent samples, to smooth them.
local looks = 8

---@class blis.watch.Pace
---@field total? integer requests; nil if the number cannot be determined
---@field horizon_us? integer
---@field start? { wall_us: integer, share?: number } the first look
---@field marks table[] recent samples, oldest first

---@param total? integer
---@param horizon_us? integer
---@return blis.watch.Pace
function pace.new(total, horizon_us)
  return { total = total, horizon_us = horizon_us, marks = {} }
end

--- Adds a sample.
---@param self blis.watch.Pace
---@param look blis.watch.Look
---@param wall_us integer
function pace.note(self, look, wall_us)
  local marks = self.marks
  marks[#marks + 1] = { wall_us = wall_us, now_us = look.now_us, arrived = look.arrived,
    ended = look.arrived - look.in_flight }
  if #marks > looks then table.remove(marks, 1) end
  self.start = self.start or { wall_us = wall_us, share = pace.share(self) }
end

local function rate(amount, us)
  return us > 0 and amount / us * 1e6 or nil
end

--- Estimated progress of the run, 0 to 1; nil without an estimate.
---@return number?
function pace.share(self)
  local mark, shares = self.marks[#self.marks], {}
  if self.total and self.total > 0 then shares[1] = mark.ended / self.total end
  if self.horizon_us then shares[#shares + 1] = mark.now_us / self.horizon_us end
  if #shares == 0 then return nil end
  return math.min(1, math.max(table.unpack(shares)))
end

--- As the share has grown since the first look.
local function seconds_left(self)
  local share, since_us = pace.share(self), self.marks[#self.marks].wall_us - self.start.wall_us
  local grown = share and self.start.share and share - self.start.share or 0
  return grown > 0 and since_us * (1 - share) / grown / 1e6 or nil
end

--- Requests per second of simulated time, arriving and ending; and per second of real time:
--- simulated seconds, ended requests, and remaining seconds. Each is nil while unknown.
---@return { arriving?: number, ending?: number, speed?: number, ended?: number, left_s?: number }
function pace.rates(self)
  local first, last = self.marks[1], self.marks[#self.marks]
  local simulated_us, wall_us = last.now_us - first.now_us, last.wall_us - first.wall_us
  return {
    arriving = rate(last.arrived - first.arrived, simulated_us),
    ending = rate(last.ended - first.ended, simulated_us),
    speed = wall_us > 0 and simulated_us / wall_us or nil,
    ended = rate(last.ended - first.ended, wall_us),
    left_s = seconds_left(self),
  }
end

return pace
