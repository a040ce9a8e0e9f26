-- Sweeps on file systems that show late what others have written, and stores that are apart.
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local small = require "spec.support.small"

local script = [[
local blis = require "blis"
print(blis.sweep { name = "s", identity = "1", parameters = { { "a", { 1, 2, 3, 4, 5, 6 } } },
  replications = 4, trial = function(p)
    if p.a == 5 and p.seed == 43 then error("five") end
    return { y = p.a * p.seed }
  end }:run())
]]

--- One trial of the script fails; the parts that do it, or find that it failed, have status 1.
local function checked(line)
  local run = program.shell(line)
  if run.status == 1 then
    assert.equal("blis: sweep run: 1 trial failed; 'blis sweep retry DIR' lets failed trials run "
      .. "again\n", run.err:match "[^\n]*\n$")
  else
    assert.equal(0, run.status, run.err)
  end
  return run.out, run.err
end

local function table_of(folder, store)
  return (checked(("\"$BLIS\" sweep table %s/%s --format csv"):format(folder, store)))
end

--- Calls body(folder, whole) with a folder that has sweep.lua, and the table of a run in one
--- place.
local function with_sweep(body)
  folders.with(function(folder)
    assert(os.execute("mkdir -p " .. folder .. "/all"))
    local out <close> = assert(io.open(folder .. "/sweep.lua", "w"))
    out:write(script)
    out:close()
    checked(("\"$BLIS\" sweep run %s/sweep.lua --store %s/local --quiet"):format(folder, folder))
    body(folder, table_of(folder, "local"))
  end)
end

--- Runs a part in a store of its own.
local function run_part(folder, part, store)
  checked(("\"$BLIS\" sweep run %s/sweep.lua --shard %s --store %s/%s --quiet"):format(folder,
    part, folder, store))
end

--- Copies the first bytes of each file of a store, as a cache that lags behind shows them; a file
--- of which nothing is shown yet is there and empty.
local function show(folder, from, to, share)
  checked(([[for file in %s/%s/*.jsonl; do
      size=$(wc -c <"$file"); head -c $((size * %d / 100)) "$file" >%s/%s/$(basename "$file")
    done]]):format(folder, from, share, folder, to))
end

describe("a sweep's store #host", function()
  it("is read as far as it is seen, and is whole when all of it is", function()
    with_sweep(function(folder, whole)
      for part = 0, 2 do run_part(folder, part .. "/3", "node" .. part) end
      checked(("cp %s/node0/sweep.json %s/all/"):format(folder, folder))
      local before = 0
      for _, share in ipairs { 0, 3, 20, 37, 55, 71, 99, 100 } do
        for part = 0, 2 do show(folder, "node" .. part, "all", share) end
        local status = checked(("\"$BLIS\" sweep status %s/all"):format(folder))
        local done = tonumber(status:match "done%s+(%d+)")
        assert.is_true(done >= before, share)
        checked(("\"$BLIS\" sweep table %s/all"):format(folder))
        before = done
      end
      assert.equal(23, before)
      assert.equal(whole, table_of(folder, "all"))
    end)
  end)

  it("is made right by those who did a trial twice, not having seen each other", function()
    with_sweep(function(folder, whole)
      run_part(folder, "0/2", "one")
      run_part(folder, "0/1", "two")
      run_part(folder, "1/2", "three")
      checked(("\"$BLIS\" sweep merge %s/merged %s/one %s/three %s/two"):format(folder, folder,
        folder, folder))
      assert.equal(whole, table_of(folder, "merged"))
      -- All journals in one folder, as if it had been shared: the same.
      checked(("for store in one two three; do cp %s/$store/* %s/all; done"):format(folder, folder))
      assert.equal(whole, table_of(folder, "all"))
    end)
  end)

  it("begins before the plan of another process is seen", function()
    with_sweep(function(folder, whole)
      run_part(folder, "0/2", "all")
      checked(("mv %s/all/sweep.json %s/late"):format(folder, folder))
      run_part(folder, "1/2", "all")
      assert.equal(whole, table_of(folder, "all"))
    end)
  end)

  it("is one user's own: names of journals do not meet, and a folder that is not writable tells so",
    function()
      with_sweep(function(folder, whole)
        local lines = {}
        for part = 0, 3 do
          lines[#lines + 1] = ("\"$BLIS\" sweep run %s/sweep.lua --shard %d/4 --store %s/all "
            .. "--quiet >/dev/null &"):format(folder, part, folder)
        end
        checked(table.concat(lines, "\n") .. " wait")
        assert.equal(whole, table_of(folder, "all"))
        local run = program.shell(("\"$BLIS\" sweep run %s/sweep.lua --store /proc/nobody"):format(
          folder))
        assert.equal(1, run.status)
        small.says(run.err, "/proc/nobody")
      end)
    end)
end)
