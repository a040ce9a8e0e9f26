local core = require "blis.core"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"
local small = require "spec.support.small"
local submit = require "blis.sweep.submit"

local script = [[
local blis = require "blis"
blis.sweep { name = "s", identity = "1", parameters = { { "a", { 1, 2, 3, 4, 5, 6 } } },
  replications = 2, trial = function(p)
    if p.a == 6 then error("six") end
    return { y = p.a * p.seed }
  end }:run()
]]

local function submitted(...)
  local run = program.run("sweep", "submit", ...)
  assert.equal("", run.err)
  return run.out
end

describe("parts that are run again", function()
  it("are numbers and ranges of those there are", function()
    assert.same({ 3, 17 }, submit.parts("3,17", 32))
    assert.same({ 0, 1, 2, 9 }, submit.parts("0-2,9,1", 10))
    for _, text in ipairs { "", "10", "3,", "2-1", "a", "1-", "0-10" } do
      small.says(small.message_of(submit.parts, text, 10), "expected parts from 0 to 9")
    end
  end)
end)

describe("blis sweep submit #host", function()
  it("writes a Job of Kubernetes that says what it must", function()
    local text = submitted("my sweep.lua", "--k8s", "--shards", "6", "--cpus", "2")
    files.with(text, function(path)
      local job = core.yaml_read(path)
      assert.equal("batch/v1", job.apiVersion)
      assert.equal("Job", job.kind)
      assert.equal("Indexed", job.spec.completionMode)
      assert.equal(6, job.spec.completions)
      assert.equal("Never", job.spec.template.spec.restartPolicy)
      local container = job.spec.template.spec.containers[1]
      assert.same({ "blis", "sweep", "run", "my sweep.lua", "--store", "my.sweep", "--jobs", "2" },
        container.command)
      assert.same({ name = "BLIS_SHARDS", value = "6" }, container.env[1])
      assert.equal(job.spec.template.spec.volumes[1].name, container.volumeMounts[1].name)
    end)
  end)

  --- The words of "arguments" as HTCondor reads them: double quotes around all, single ones around
  --- words with spaces, each doubled where it is meant.
  local function condor_words(text)
    local inner = assert(text:match '\narguments%s*=%s*"(.-)"\n'):gsub('""', '"')
    local words, word, is_quoted, i = {}, "", false, 1
    while i <= #inner do
      local char = inner:sub(i, i)
      if char == "'" and is_quoted and inner:sub(i + 1, i + 1) == "'" then
        word, i = word .. "'", i + 1
      elseif char == "'" then
        is_quoted = not is_quoted
      elseif char == " " and not is_quoted then
        words[#words + 1], word = word, ""
      else
        word = word .. char
      end
      i = i + 1
    end
    words[#words + 1] = word
    return words
  end

  it("writes a file for HTCondor whose parts make the table of one run", function()
    folders.with(function(folder)
      assert(os.execute(("mkdir -p %s/bin"):format(folder)))
      local name = "it's a \"sweep\".lua"
      local out <close> = assert(io.open(folder .. "/" .. name, "w"))
      out:write(script)
      out:close()
      local start = ('cd %s && ln -sf "$BLIS" bin/blis && export PATH=$PWD/bin:$PATH && ')
        :format(folder)
      local whole = program.shell(start .. "blis sweep run " .. program.quote(name)
        .. " --store local 2>/dev/null; blis sweep table local --format csv")
      local text = submitted(name, "--condor", "--shards", "3", "--only", "0-2", "--store", "a b")
      assert.equal("/usr/bin/env", text:match "executable%s*=%s*(%S+)")
      local macro, parts = text:match "queue (%w+) in %(([%d, ]+)%)"
      for part in parts:gmatch "%d+" do
        local words = condor_words((text:gsub("%$%(" .. macro .. "%)", part)))
        for i, word in ipairs(words) do words[i] = program.quote(word) end
        local run = program.shell(start .. "/usr/bin/env " .. table.concat(words, " "))
        local is_failing = run.err:find "%d trials? failed" ~= nil
        assert.equal(is_failing and 1 or 0, run.status, run.err)
      end
      local parted = program.shell(start .. "blis sweep table 'a b' --format csv")
      assert.matches("y,", parted.out, 1, true)
      assert.equal(whole.out, parted.out)
    end)
  end)

  --- What a folder holds, as a table and its trials without the time they took.
  local function held(folder, store)
    return program.shell(("cd %s && \"$BLIS\" sweep table %s --format csv"):format(folder,
      store)).out
  end

  it("writes jobs whose parts make the same table, by their variables", function()
    folders.with(function(folder)
      assert(os.execute("mkdir -p " .. folder .. "/bin"))
      local out <close> = assert(io.open(folder .. "/sweep.lua", "w"))
      out:write(script)
      out:flush()
      local in_folder = ("cd %s && ln -sf \"$BLIS\" bin/blis && export PATH=$PWD/bin:$PATH && ")
        :format(folder)
      local function shell(line)
        local run = program.shell(in_folder .. line)
        assert.equal(0, run.status, run.err)
        return run.out
      end
      shell "blis sweep run sweep.lua --store local 2>/dev/null || true"
      local wanted = held(folder, "local")
      assert.matches("y,", wanted, 1, true)
      shell [[for i in 0 1 2; do BLIS_SHARDS=3 JOB_COMPLETION_INDEX=$i \
        blis sweep run sweep.lua --store k8s 2>/dev/null || true; done]]
      assert.equal(wanted, held(folder, "k8s"))
      shell [[blis sweep submit sweep.lua --slurm --shards 3 --store slurm >job
        grep -q -e --array=0-2 job
        for i in 0 2 1; do SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=2 \
          sh job 2>/dev/null || true; done]]
      assert.equal(wanted, held(folder, "slurm"))
      if program.shell("command -v parallel").status == 0 then
        shell("blis sweep submit sweep.lua --parallel --shards 3 --store p --now 2>/dev/null "
          .. "|| true")
        assert.equal(wanted, held(folder, "p"))
      end
      local watched = shell "blis sweep watch k8s --once"
      -- A part without trials, which the keys may give, writes no journal.
      assert.matches("s: 12 of 12 trials, 2 failed; [23] journals", watched)
      assert.matches("failed: a=6 seed=42: error: .-six %([^)]+%.jsonl%)", watched)
    end)
  end)

  it("is for one engine that is known", function()
    for _, case in ipairs { { "one of --slurm, --k8s", "x.lua" },
      { "--slurm cannot be combined with --k8s", "x.lua", "--slurm", "--k8s" },
      { "FILE is missing", "--slurm" }, { "expected parts from 0 to 31", "x.lua", "--slurm",
        "--only", "40" }, { "repeats failed parts by itself", "x.lua", "--k8s", "--only", "4" } } do
      local run = program.run("sweep", "submit", table.unpack(case, 2))
      assert.equal(2, run.status)
      small.says(run.err, case[1])
    end
  end)
end)
