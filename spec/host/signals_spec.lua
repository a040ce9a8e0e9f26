--- Signals that ask the program to end: it removes its unfinished files and says by its status
--- which signal came.
local program = require "spec.support.program"
local small = require "spec.support.small"

-- Starts a run in a folder, sends a signal once the file that it writes has been begun, and prints
-- its status and what the folder holds then. %s: how the run is started, and the signal.
local script = [[
cd "$(mktemp -d)" || exit 1
%s "$BLIS" run --num-requests 20000 --rate 200 --num-instances 4 --output-tokens 5 --save a.json \
  >out 2>err & run=$!
while kill -0 $run 2>/dev/null && [ ! -e a.json.part ]; do sleep 0.01; done
kill -%s $run; wait $run; echo "$? $(ls *json*)"
rm -r "$PWD"
]]

describe("a run that a signal ends #host", function()
  for name, status in pairs { INT = 130, TERM = 143, HUP = 129, PIPE = 141 } do
    it("leaves no file: SIG" .. name, function()
      local how = name == "INT" and "env --default-signal=INT" or ""
      local outcome = program.shell(script:format(how, name))
      assert.equal(status .. " \n", outcome.out)
    end)
  end

  it("goes on when it was started to ignore the signal", function()
    local outcome = program.shell(script:format("env --ignore-signal=HUP", "HUP"))
    assert.equal("0 a.json\n", outcome.out)
  end)

  it("reports a file that becomes too long", function()
    local outcome = program.shell [[
cd "$(mktemp -d)" || exit 1
(ulimit -f 8; "$BLIS" run --num-requests 20000 --rate 200 --output-tokens 5 --save a.json)
echo "status $? files $(ls *json*)"; rm -r "$PWD"
]]
    small.says(outcome.out, "status 1 files \n")
    small.says(outcome.err, "a.json: cannot be written: File too large")
  end)

  it("ends without a word when the reader of its output has left", function()
    local outcome = program.shell [[
{ "$BLIS" -e 'for i = 1, 1e6 do print(i) end'; echo "status $?" >&2; } | head -1]]
    assert.equal("status 141\n", outcome.err)
    assert.equal("1\n", outcome.out)
  end)
end)
