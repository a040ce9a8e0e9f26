local core = require "blis.core"
local processors = require "blis.processors"

local all = core.processors()

--- With these variables and these first lines of files.
local function usable(variables, lines)
  return processors.usable(function(name) return variables[name] end,
    function(path) return lines[path] end)
end

describe("processors to use", function()
  it("are those there are, where nothing is said", function()
    assert.equal(all, usable({}, {}))
    assert.is_true(processors.usable() >= 1)
  end)

  it("are no more than a task of Slurm has", function()
    assert.equal(1, usable({ SLURM_CPUS_PER_TASK = "1" }, {}))
    assert.equal(all, usable({ SLURM_CPUS_PER_TASK = "100000" }, {}))
    assert.equal(all, usable({ SLURM_CPUS_PER_TASK = "none" }, {}))
    assert.equal(all, usable({ SLURM_CPUS_PER_TASK = "0" }, {}))
  end)

  it("are no more than the control groups allow, down to one", function()
    local function grouped(group, limits)
      limits["/proc/self/cgroup"] = "0::" .. group
      return usable({}, limits)
    end
    assert.equal(1, grouped("/", { ["/sys/fs/cgroup/cpu.max"] = "100000 100000" }))
    assert.equal(1, grouped("/a/b", { ["/sys/fs/cgroup/a/cpu.max"] = "50000 100000",
      ["/sys/fs/cgroup/a/b/cpu.max"] = "max 100000" }))
    assert.equal(all, grouped("/a", { ["/sys/fs/cgroup/a/cpu.max"] = "max 100000" }))
    assert.equal(all, grouped("/a", { ["/sys/fs/cgroup/a/cpu.max"] = "9900000 100000" }))
    assert.equal(all, grouped("/a", { ["/sys/fs/cgroup/a/cpu.max"] = "5 0" }))
  end)
end)
