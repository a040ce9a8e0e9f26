-- Tables for other programs: no file pretends to be of another kind, and others read ours.
local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local small = require "spec.support.small"

local flags = { "run", "--model", "qwen/qwen3-14b", "--hardware", "H100", "--num-requests", "20" }

--- True when Debian's pandas, or another one, is there.
local function has_pandas()
  return program.shell("python3 -c 'import pandas; pandas.read_csv' "
    .. "2>/dev/null || /usr/bin/python3 -c 'import pandas; pandas.read_csv'").status
    == 0
end

describe("a file that is named as Parquet", function()
  it("is refused by every flag that names an output", function()
    local definition, count = require("blis.cmd.run").definition, 0
    for _, group in ipairs(definition.groups) do
      for _, option in ipairs(group.options) do
        if option.is_output and not option.files then -- to such a name endings are added
          count = count + 1
          local all = table.move(flags, 1, #flags, 1, {})
          table.move({ option.flag, "x.parquet", "--series-interval", "1s", "--trace-level",
            "decisions" }, 1, 6, #all + 1, all)
          local _, message = commands.error_of(table.unpack(all))
          local is_told = message:find("unsupported file type", 1, true)
            or message:find("%f[%w]needs%f[%W]") or message:find("requires", 1, true)
          assert.is_truthy(is_told, option.flag .. ": " .. message)
          assert.is_nil(io.open "x.parquet")
        end
      end
    end
    assert.is_true(count >= 8)
  end)

  it("is refused by everything that writes one in a script", function()
    local result = blis.run(small.experiment { series_interval_us = 50000 })
    for _, method in ipairs { "export_requests", "export_series", "save", "report", "timeline" } do
      small.says(small.message_of(result[method], result, "x.parquet"),
        "unsupported file type")
    end
    local found = blis.sweep { parameters = { { "x", { 1, 2 } } },
      trial = function() return { y = 1 } end }:run { quiet = true }
    for _, method in ipairs { "write_csv", "write_markdown", "write_svg" } do
      small.says(small.message_of(found[method], found, "x.arrow"),
        "unsupported file type")
    end
  end)

  it("is refused for SQLite, too", function()
    folders.with(function(folder)
      blis.sweep { trial = function() return { y = 1 } end, identity = "s" }
        :run { quiet = true, store = folder, shard = "0/1" }
      local _, message = commands.error_of("sweep", "export", folder, "--format", "sqlite",
        "--output", folder .. "/x.parquet")
      small.says(message, "unsupported file type")
    end)
  end)
end)

describe("tables in pandas #host", function()
  it("have the numbers of the records", function()
    if not has_pandas() then return pending "pandas is not installed (python3-pandas)" end
    folders.with(function(folder)
      core.make_folder(folder)
      local result = blis.run(small.experiment { series_interval_us = 50000 })
      result:export_requests(folder .. "/r.csv")
      result:export_requests(folder .. "/r.jsonl")
      result:export_series(folder .. "/s.csv")
      local path = folder .. "/read.py"
      local script = assert(io.open(path, "w"))
      script:write([[
import sys, pandas
folder = sys.argv[1]
csv = pandas.read_csv(folder + "/r.csv")
lines = pandas.read_json(folder + "/r.jsonl", lines=True)
series = pandas.read_csv(folder + "/s.csv")
print(len(csv), int(csv.ttft_us.sum()), int(lines.ttft_us.sum()), csv.id[3], lines.id[3])
print(len(series), "%.17g" % series.kv_utilization.sum())
]])
      script:close()
      local line = ("python3 %s %s 2>/dev/null || /usr/bin/python3 %s %s"):format(path, folder,
        path, folder)
      local outcome = program.shell(line)
      local sum, kv = 0, 0
      for _, record in ipairs(result.requests) do sum = sum + record.ttft_us end
      local series = require "blis.results.series"
      for i = 1, result.series.rows do kv = kv + series.row(result.series, i).kv_utilization end
      local id = result.requests[4].id
      local words, rows, total = outcome.out:match "^(.-)\n(%d+) (%S+)\n$"
      assert.equal(("%d %d %d %s %s"):format(#result.requests, sum, sum, id, id), words,
        outcome.err)
      assert.equal(result.series.rows, math.tointeger(rows))
      assert.near(kv, tonumber(total), 1e-9)
    end)
  end)
end)

describe("docs/tables.md", function()
  it("names what there is", function()
    local text = files.read "docs/tables.md"
    for flag in text:gmatch "%-%-[%w-]+%-path" do
      small.says(commands.output_of("run", "--help"), flag)
    end
  end)
end)
