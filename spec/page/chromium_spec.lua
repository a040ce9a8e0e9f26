--- Pages in a real browser, where there is one.
local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local program = require "spec.support.program"
local small = require "spec.support.small"

local has_browser = os.execute "command -v chromium >/dev/null 2>&1" == true

--- The page after its scripts have run, and what the browser had to say.
local function opened(shown)
  local outcome
  files.with(nil, function(path)
    shown:report(path .. ".html")
    outcome = program.shell(("chromium --headless --no-sandbox --disable-gpu "
      .. "--virtual-time-budget=3000 --disable-dev-shm-usage --enable-logging=stderr "
      .. "--dump-dom %s"):format(
      program.quote("file://" .. path .. ".html")))
    os.remove(path .. ".html")
  end)
  return outcome
end

-- How far anything but what scrolls in its box gets out of the page or of its chart, in pixels.
local measuring = [[<script>
  addEventListener("load", () => setTimeout(() => {
    let out = document.documentElement.scrollWidth - innerWidth;
    document.querySelectorAll(".u-legend .u-series:not([hidden])").forEach((one) => {
      const end = one.closest("figure").getBoundingClientRect().right;
      [one].concat(...one.children).forEach((part) => {
        out = Math.max(out, part.getBoundingClientRect().right - end);
      });
    });
    document.documentElement.dataset.out = Math.round(out);
  }, 500));
</script>]]

--- The same of a page on a screen of some width.
local function overhang(shown, width)
  local outcome
  files.with(nil, function(path)
    shown:report(path .. ".html")
    local text = files.read(path .. ".html"):gsub('<meta[^>]*http%-equiv[^>]*>', "", 1)
    local file <close> = assert(io.open(path .. ".html", "w"))
    file:write((text:gsub("</body>", function() return measuring .. "</body>" end)))
    file:flush()
    outcome = program.shell(("chromium --headless --no-sandbox --disable-gpu "
      .. "--virtual-time-budget=3000 --disable-dev-shm-usage --window-size=%d,900 --dump-dom %s")
      :format(width, program.quote("file://" .. path .. ".html")))
    os.remove(path .. ".html")
  end)
  return tonumber(outcome.out:match 'data%-out="(%-?%d+)"')
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

describe("a page in a browser #host", function()
  local function check(shown, charts)
    if not has_browser then
      pending "chromium is not installed (scripts/setup --web)"
      return
    end
    local seen = opened(shown)
    assert.equal(0, seen.status)
    assert.truthy(seen.out:find('data-ready="true"', 1, true), "its script did not run to the end")
    assert.is_nil(seen.err:match "CONSOLE[^\n]*")
    assert.equal(charts, count(seen.out, "<canvas"))
    local json = seen.out:match '<script id="charts" type="application/json">(.-)</script>'
    assert.equal(charts, #core.json_read(json, "charts"))
  end

  it("draws a run", function()
    check(blis.run(small.experiment { series_interval_us = 100000 }), 7)
  end)

  it("draws maps of many instances, with hostile names", function()
    local scorer = blis.scorer { name = "</script><b>", score = function() return 1 end }
    check(blis.run(small.experiment { cluster = { instances = 20 },
      routing = { "weighted", scorers = { { scorer, 1 } } } }), 6)
  end)

  it("draws a comparison", function()
    check(blis.compare(small.experiment { routing = { "round-robin", "weighted" } }), 5)
  end)

  it("keeps long names in their charts, and wide tables in their boxes", function()
    if not has_browser then
      pending "chromium is not installed (scripts/setup --web)"
      return
    end
    local long = { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 1 },
      { "kv-utilization", 1 }, { "load-balance", 2 } } }
    local compared = blis.compare(small.experiment { routing = { "round-robin", "weighted", long,
      { "weighted", scorers = { { "prefix-affinity", 1 }, { "queue-depth", 1 },
        { "kv-utilization", 1 }, { "load-balance", 2 } } } } })
    for _, width in ipairs { 500, 1000, 1400 } do
      assert.is_true(overhang(compared, width) <= 1, width)
    end
  end)

  it("draws a sweep", function()
    check(blis.sweep {
      name = "s", parameters = { { "x", { 1, 2, 3 } } }, report = { "ttft_ms.mean",
        "tokens_per_sec" }, replications = 2,
      trial = function(p) return { ["ttft_ms.mean"] = p.x, tokens_per_sec = p.x } end,
    }:run { quiet = true }, 3)
  end)
end)
