local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "blis.sweep.program"

local function trial(p)
  if p.x == 3 and p.seed == 43 then error("three is bad") end
  return { y = p.x * p.seed, z = "text" }
end

local function run(folder, changes)
  local spec = { name = "small", parameters = { { "x", { 1, 2, 3 } }, { "w", { "a,b" } } },
    replications = 2, trial = trial, identity = "small" }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.sweep(spec):run { store = folder, quiet = true, jobs = 2, shard = "0/1" }
end

local function with_store(body)
  folders.with(function(folder)
    local result = run(folder)
    body(folder, result)
  end)
end

describe("blis sweep", function()
  it("counts", function()
    with_store(function(folder)
      local text = commands.output_of("sweep", "status", folder)
      assert.matches("^small: 3 points, 6 trials by blis .-\ndone     5, 0%.%d+ s each\n"
        .. "failed   1, 1 by error\nmissing  0\njournals 1\n$", text)
      local got = core.json_read(commands.output_of("sweep", "status", folder, "--format", "json"))
      assert.same({ 6, 5, 1, 0, { error = 1 } },
        { got.trials, got.done, got.failed, got.missing, got.failures })
    end)
  end)

  it("prints the table without the script", function()
    with_store(function(folder, result)
      assert.equal(tostring(result) .. "\n", commands.output_of("sweep", "table", folder))
      assert.equal(result:csv(), commands.output_of("sweep", "table", folder, "--format", "csv"))
      assert.equal(result:markdown(),
        commands.output_of("sweep", "table", folder, "--format", "markdown"))
      assert.equal(result:plot() .. "\n",
        commands.output_of("sweep", "table", folder, "--format", "plot", "--figure", "y"))
      local code, message = commands.error_of("sweep", "table", folder, "--figure", "yy")
      assert.equal("usage", code)
      assert.matches("small: unknown metric 'yy'", message)
    end)
  end)

  it("exports trials", function()
    with_store(function(folder)
      local text = commands.output_of("sweep", "export", folder)
      assert.matches('^x,w,replication,seed,status,reason,hash,y\n1,"a,b",1,42,done,,,42\n', text)
      local list = core.json_read(commands.output_of("sweep", "export", folder, "--format", "json"))
      assert.equal(6, #list)
      assert.equal(86, list[4].y)
      assert.matches("three is bad", list[6].reason)
      local path = folder .. "/export.db"
      commands.output_of("sweep", "export", folder, "--format", "sqlite", "--output", path)
      assert.equal("SQLite format 3\0", files.read(path):sub(1, 16))
      assert.is_nil(files.read(path .. ".part"))
      assert.matches("--format sqlite requires --output FILE",
        select(2, commands.error_of("sweep", "export", folder, "--format", "sqlite")), 1, true)
      assert.matches("/no/such/file.db: cannot be written: No such file or directory",
        select(2, commands.error_of("sweep", "export", folder, "--format", "sqlite", "--output",
          "/no/such/file.db")), 1, true)
      local pipe = folder .. "/pipe"
      assert(os.execute("mkfifo '" .. pipe .. "'"))
      assert.matches("pipe: cannot be written: a database can only be a file",
        select(2, commands.error_of("sweep", "export", folder, "--format", "sqlite", "--output",
          pipe)), 1, true)
      assert.is_true(os.execute("test -p '" .. pipe .. "'"))
    end)
  end)

  it("merges folders", function()
    with_store(function(folder, result)
      folders.with(function(into)
        folders.with(function(part)
          run(part, { parameters = { { "x", { 1 } }, { "w", { "a,b" } } } })
          commands.call("sweep", "merge", into, folder, part)
          assert.equal(tostring(result) .. "\n", commands.output_of("sweep", "table", into))
          run(part, { identity = "other" })
          assert.matches("are sweeps of different scripts",
            select(2, commands.error_of("sweep", "merge", into, folder, part)))
        end)
      end)
    end)
  end)

  it("merges into the sweep that is there, not over it", function()
    with_store(function(folder)
      folders.with(function(other)
        run(other, { identity = "other" })
        assert.matches("are sweeps of different scripts",
          select(2, commands.error_of("sweep", "merge", folder, other)))
        run(other, { parameters = { { "x", { 7 } }, { "w", { "a,b" } } } })
        assert.matches("small: 3 points", commands.output_of("sweep", "status", folder), 1, true)
        commands.call("sweep", "merge", folder, other, "--other-versions", "keep")
        assert.matches("small: 3 points", commands.output_of("sweep", "status", folder), 1, true)
      end)
    end)
  end)

  it("tells of results of other versions, whichever it is itself", function()
    folders.with(function(folder)
      local id = program.id
      program.id = function() return "0.0.9+old" end
      local old = run(folder)
      local table_of = { "sweep", "table", folder }
      program.id = id
      assert.equal(tostring(old) .. "\n", commands.output_of(table.unpack(table_of)))
      assert.matches("by blis 0.0.9+old\n", commands.output_of("sweep", "status", folder), 1, true)
      blis.sweep { name = "small", parameters = { { "x", { 4 } } }, trial = trial,
        identity = "small" }:run { store = folder, quiet = true, jobs = 1, shard = "0/1",
        other_versions = "keep" }
      assert.matches("\nresults of blis 0.0.9+old are counted too\n",
        commands.output_of("sweep", "status", folder), 1, true)
      local got = core.json_read(commands.output_of("sweep", "status", folder, "--format", "json"))
      assert.same({ ["0.0.9+old"] = "keep" }, got.other_versions)
      assert.matches("omitted", commands.output_of("sweep", "status", folder, "--other-versions",
        "ignore"), 1, true)
    end)
  end)

  it("lets failed trials be run again", function()
    with_store(function(folder)
      local mended = { trial = function(p) return { y = p.x * p.seed } end }
      assert.equal(1, #run(folder, mended).failures)
      assert.same({ "0 trials will be run again" },
        commands.call("sweep", "retry", folder, "--only", "time").said)
      assert.same({ "1 trials will be run again" }, commands.call("sweep", "retry", folder).said)
      assert.matches("missing  1", commands.output_of("sweep", "status", folder))
      assert.equal(0, #run(folder, mended).failures)
    end)
  end)

  it("tells what is wrong", function()
    local hint = "; 'blis sweep --help' lists the flags"
    local code, message = commands.error_of("sweep")
    assert.equal("usage", code)
    assert.equal("sweep: missing COMMAND: expected one of run, status, table, export, merge, "
      .. "retry, submit, watch, ask, tell, try" .. hint,
      message)
    assert.equal("sweep: invalid value 'tabel': expected one of run, status, table, export, "
      .. "merge, retry, submit, watch, ask, tell, try" .. hint,
      select(2, commands.error_of("sweep", "tabel")))
    assert.equal("sweep table: DIR is missing; 'blis sweep table --help' lists the flags",
      select(2, commands.error_of("sweep", "table")))
    assert.equal("/no/such: not a sweep (no file sweep.json)",
      select(2, commands.error_of("sweep", "table", "/no/such")):gsub("^sweep table: ", ""))
    assert.matches("cannot open", select(2, commands.error_of("sweep", "run", "/no/such.lua")))
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write("return blis and 1")
    file:close()
    assert.matches("ran no sweep; call :run() on what blis.sweep returns",
      select(2, commands.error_of("sweep", "run", path)), 1, true)
    os.remove(path)
    for _, name in ipairs { "run", "status", "table", "export", "merge", "retry", "submit",
      "watch" } do
      assert.matches("^usage: blis sweep " .. name, commands.output_of("sweep", name, "--help"))
    end
    assert.matches("^usage: blis sweep COMMAND", commands.output_of("sweep", "--help"))
  end)
end)
