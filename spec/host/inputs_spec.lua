--- Every command that reads a file, with files that a person names by mistake: the command ends
--- with an error that names the file.
local program = require "spec.support.program"
local small = require "spec.support.small"

-- @ stands for the file.
local readers = {
  "trace info @", "replay @ --num-instances 2", "replay @ --stream always",
  "convert servegen --path @", "run --workload-spec @ --num-requests 5", "run --graphs @",
  "run --model-config @ --num-requests 2", "run --policy-config @ --num-requests 2",
  "run --catalogue @ --num-requests 2", "diff @ @", "decisions @", "calibrate @", "import @",
  "check @", "eval @ x.lua", "eval chat @ smoke", "eval chat --batch @", "--sandbox @", "./@",
  "sweep run @", "sweep ask @ --store none", "gate @ random", "plot @",
}

-- Made in a folder, but for the device.
local mistakes = { "folder", "socket", "pipe", "/dev/zero" }

local make = [[
mkdir folder && mkfifo pipe && python3 -c 'import socket
socket.socket(socket.AF_UNIX).bind("socket")' 2>/dev/null || touch no_python
]]

describe("a file named by mistake #host", function()
  it("is an error of every command", function()
    local parts = { 'cd "$(mktemp -d)" || exit 1', make }
    for _, reader in ipairs(readers) do
      for _, file in ipairs(mistakes) do
        local words = file:sub(1, 1) == "/" and reader:gsub("%./@", file) or reader
        local line = words:gsub("@", file)
        parts[#parts + 1] = ('timeout 200 "$BLIS" %s </dev/null >out 2>&1; '
          .. 'echo "## $? %s"; head -c 2000 out'):format(line, line)
      end
    end
    parts[#parts + 1] = 'rm -r "$PWD"'
    local outcome = program.shell(table.concat(parts, "\n"))
    local count = 0
    for status, line in ("\n" .. outcome.out):gmatch "\n## (%d+) ([^\n]*)" do
      count = count + 1
      assert.is_true(status == "1" or status == "2", line .. " ended with " .. status)
    end
    assert.equal("", outcome.err)
    assert.equal(#readers * #mistakes, count)
    assert.is_nil(outcome.out:find("stack traceback", 1, true), outcome.out)
    small.says(outcome.out, "it is a device, expected a file")
  end)

  it("may be a long list, which has too many levels for Lua", function()
    program.with_file(("a,"):rep(200000), function(path)
      for _, command in ipairs { "", "check", "sweep run", "sweep ask --store none", "eval" } do
        local outcome = program.shell(('"$BLIS" %s %s'):format(command, path))
        assert.is_true(outcome.status == 1 or outcome.status == 2)
        small.says(outcome.err, path .. ": too many nested levels (C stack overflow)")
        assert.is_nil(outcome.err:find("traceback", 1, true))
      end
    end)
  end)

  it("may be YAML with too many values", function()
    program.with_file("a:\n" .. ("- a\n"):rep(600000), function(path)
      local outcome = program.run("run", "--policy-config", path, "--num-requests", "2")
      assert.equal(1, outcome.status)
      small.says(outcome.err, path .. ":499999: more than 500000 values, the limit here")
    end)
  end)
end)
