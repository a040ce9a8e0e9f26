-- Types of options are known wherever a section is read: in a process that has loaded blis and
-- nothing else of it that happens to describe them.
local program = require "spec.support.program"

describe("the types of options", function()
  local list <close> = assert(io.popen "ls lua/blis/config/*.lua lua/blis/feature/*/options.lua")
  for file in list:lines() do
    local module = file:match "^lua/(.*)%.lua$":gsub("/", ".")
    it(("of %s are described without anything else #host"):format(module), function()
      local outcome = program.run("-e", ([[
        require "blis"
        local types = require "blis.config.types"
        types.shape = types.shape or {} -- who reads traffic loads it where there is one
        local seen = {}
        local function walk(value)
          if type(value) ~= "table" or seen[value] then return end
          seen[value] = true
          if type(value.options) == "table" then
            for _, option in ipairs(value.options) do
              if type(option) == "table" and option.type and not types[option.type] then
                print(option.name, option.type)
              end
            end
          end
          for _, part in pairs(value) do walk(part) end
        end
        walk(require "%s")
        print "walked"]]):format(module))
      assert.equal("walked\n", outcome.out, outcome.err)
    end)
  end
end)
