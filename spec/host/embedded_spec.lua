local core = require "blis.core"

describe("core.embedded", function()
  it("gives nothing for a name that is not there", function()
    assert.is_nil(core.embedded("no/such.yaml"))
    assert.is_nil(core.embedded(""))
  end)

  it("gives every file below data/ as it is", function()
    local lfs = require "lfs"
    local function check(folder, prefix)
      for entry in lfs.dir(folder) do
        local path = folder .. "/" .. entry
        if lfs.attributes(path, "mode") == "file" then
          local file = assert(io.open(path, "rb"))
          assert.equal(file:read("a"), core.embedded(prefix .. entry))
          file:close()
        elseif not entry:find("^%.") then
          check(path, prefix .. entry .. "/")
        end
      end
    end
    if lfs.attributes("data", "mode") == "directory" then
      check("data", "")
    end
  end)
end)
