--- Trials that run outside of blis: measurements of real engines, or other tools.
---
--- A claim is a file asked/KEY.N in the sweep's folder, the N-th of its trial, which only one
--- process can have made. It holds until its time is over; then the next number may be taken. The
--- clocks of machines that share a folder need to agree to well within that time.
local core = require "blis.core"
local errors = require "blis.errors"

local claims = {}

---@class blis.sweep.Claim
---@field number integer
---@field until_s integer Unix time
---@field by string host and process

local function folder_of(folder) return folder .. "/asked" end

local function path_of(folder, key, number)
  return ("%s/%s.%d"):format(folder_of(folder), key, number)
end

--- What a claim says; one that is being written just now holds.
local function read(path)
  local file <close> = core.open_input(path)
  local ok, given = pcall(core.json_read, file and file:read("a") or "", path)
  local is_claim = ok and type(given) == "table" and math.type(given.until_s) == "integer"
  return is_claim and given or { until_s = math.maxinteger, by = "?" }
end

--- The newest claim of each trial that has one.
---@param folder string
---@return table<string, blis.sweep.Claim>
function claims.all(folder)
  local newest = {}
  local ok, names = pcall(core.folder, folder_of(folder))
  for _, name in ipairs(ok and names or {}) do
    local key, number = name:match "^(%x+)%.(%d+)$"
    number = math.tointeger(tonumber(number))
    if number and number > (newest[key] or 0) then newest[key] = number end
  end
  local list = {}
  for key, number in pairs(newest) do
    list[key] = read(path_of(folder, key, number))
    list[key].number = number
  end
  return list
end

---@param claim? blis.sweep.Claim
---@return boolean
function claims.holds(claim) return claim ~= nil and claim.until_s > os.time() end

--- Makes the folder for claims; before the first one is taken.
---@param folder string
function claims.prepare(folder) errors.located(core.make_folder, folder_of(folder)) end

--- Takes a trial, unless another process does so at the same moment.
---@param folder string
---@param key string
---@param last? blis.sweep.Claim the newest claim, which has expired
---@param lease_s integer
---@return blis.sweep.Claim?
function claims.take(folder, key, last, lease_s)
  local claim = { number = (last and last.number or 0) + 1, until_s = os.time() + lease_s,
    by = core.writer_name() }
  local line = core.json_writer():object():field("until_s", claim.until_s):field("by", claim.by)
    :done():take()
  local is_mine = errors.located(core.claim_file, path_of(folder, key, claim.number), line)
  return is_mine and claim or nil
end

--- Gives a trial back.
---@param folder string
---@param key string
---@param number integer
function claims.drop(folder, key, number) os.remove(path_of(folder, key, number)) end

return claims
