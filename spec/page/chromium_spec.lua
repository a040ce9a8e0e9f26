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

-- out: how far anything but what scrolls in its box gets out of the page or of its chart, in
-- pixels; hidden: how much of a table can only be seen by scrolling it; paper: how far anything
-- gets out of a printed page of that width. Of charts, the texts, the
-- colours and dashes of lines, and those that legends have. folded: what has to be opened to be
-- seen, and figures: whether the section with the JSON is there; before, while and after the page
-- is printed, and with that JSON opened.
local measuring = [[<script>
  const seen = { texts: new Set(), strokes: new Set(), lines: new Set() };
  const pen = CanvasRenderingContext2D.prototype;
  const fillText = pen.fillText, stroke = pen.stroke;
  pen.fillText = function (text, ...rest) {
    seen.texts.add(text);
    return fillText.call(this, text, ...rest);
  };
  pen.stroke = function (...rest) {
    seen.strokes.add(this.strokeStyle);
    seen.lines.add(this.strokeStyle + " " + this.getLineDash().join(" "));
    return stroke.call(this, ...rest);
  };
  addEventListener("load", () => setTimeout(() => {
    const beyond = () => document.documentElement.scrollWidth - innerWidth;
    let out = beyond();
    document.querySelectorAll(".u-legend .u-series:not([hidden])").forEach((one) => {
      const end = one.closest("figure").getBoundingClientRect().right;
      [one].concat(...one.children).forEach((part) => {
        out = Math.max(out, part.getBoundingClientRect().right - end);
      });
    });
    let hidden = 0;
    document.querySelectorAll(".wide").forEach((one) => {
      hidden = Math.max(hidden, one.scrollWidth - one.clientWidth);
    });
    const told = document.documentElement.dataset;
    const isSeen = (one) => one.getClientRects().length > 0, folded = [], sections = [];
    const look = () => {
      folded.push([...document.querySelectorAll("details:not([open])")].filter(isSeen).length);
      sections.push(isSeen(document.getElementById("figures")));
    };
    const paper = [...document.querySelectorAll("style")].flatMap((one) => [...one.sheet.cssRules])
      .find((rule) => rule instanceof CSSMediaRule && rule.media.mediaText === "print");
    const print = () => {
      dispatchEvent(new Event("beforeprint"));
      paper.media.mediaText = "all";
      look();
      told.paper = beyond();
      paper.media.mediaText = "print";
      dispatchEvent(new Event("afterprint"));
      look();
    };
    look();
    print();
    document.querySelector("details[data-json]").open = true;
    print();
    told.folded = folded.join(" ");
    told.figures = sections.join(" ");
    told.out = Math.round(out);
    told.hidden = hidden;
    told.texts = [...seen.texts].join(";");
    told.strokes = [...seen.strokes].join(";");
    told.lines = [...seen.lines].join(";");
    told.legends = [...document.querySelectorAll(".u-legend")].map((legend) =>
      [...legend.querySelectorAll(".u-marker svg > *")].filter(isSeen).map((sample) =>
        sample.tagName + " " + sample.getAttribute("stroke") + " "
        + sample.getAttribute("stroke-dasharray")).join(";")).join("|");
  }, 500));
</script>]]

--- The same of a page on a screen of some width, by its name.
local function measured(shown, width)
  local outcome
  files.with(nil, function(path)
    shown:report(path .. ".html")
    local text = files.read(path .. ".html"):gsub('<meta[^>]*http%-equiv[^>]*>', "", 1)
    local file <close> = assert(io.open(path .. ".html", "w"))
    file:write((text:gsub("<body>", function() return "<body>" .. measuring end, 1)))
    file:flush()
    outcome = program.shell(("chromium --headless --no-sandbox --disable-gpu "
      .. "--virtual-time-budget=3000 --disable-dev-shm-usage --window-size=%d,900 --dump-dom %s")
      :format(width, program.quote("file://" .. path .. ".html")))
    os.remove(path .. ".html")
  end)
  return function(name) return outcome.out:match("data%-" .. name .. '="([^"]*)"') end
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
    check(blis.run(small.experiment { series_interval_us = 100000 }), 10)
  end)

  it("draws maps of many instances, with hostile names", function()
    local scorer = blis.scorer { name = "</script><b>", score = function() return 1 end }
    check(blis.run(small.experiment { cluster = { instances = 20 },
      routing = { "weighted", scorers = { { scorer, 1 } } } }), 9)
  end)

  it("draws a comparison", function()
    check(blis.compare(small.experiment { routing = { "round-robin", "weighted" } }), 8)
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
      assert.is_true(tonumber(measured(compared, width) "out") <= 1, width)
    end
  end)

  it("shows all of a sweep: whole ticks, ends of intervals in their colours, no table to scroll",
    function()
      if not has_browser then
        pending "chromium is not installed (scripts/setup --web)"
        return
      end
      local found = blis.sweep {
        name = "s", parameters = { { "routing", { "round-robin", "least-loaded" } },
          { "instances", { 2, 3 } } },
        report = { "ttft_ms.mean", "ttft_ms.p99", "itl_ms.mean", "e2e_ms.mean", "e2e_ms.p99",
          "tokens_per_sec", "cache_hit_rate_overall" }, replications = 5,
        trial = function(p)
          local ms = 100 * p.instances + (p.routing == "round-robin" and 10 or 0) + p.seed % 5
          return { ["ttft_ms.mean"] = ms, ["ttft_ms.p99"] = ms, ["itl_ms.mean"] = ms,
            ["e2e_ms.mean"] = ms, ["e2e_ms.p99"] = ms, tokens_per_sec = ms,
            cache_hit_rate_overall = 1 / ms }
        end,
      }:run { quiet = true }
      local seen = measured(found, 1300)
      assert.equal("0", seen "hidden")
      assert.truthy(seen("texts"):find ";3;")
      assert.is_nil(seen("texts"):find ";2%.%d+;")
      local styles, colours = core.embedded "page/report.css", {}
      for i = 0, 3 do colours[i] = styles:match("%-%-c" .. i .. ": (#%x+);") end
      assert.truthy(seen("strokes"):find(colours[1], 1, true))
      assert.is_nil(seen("strokes"):find(colours[2], 1, true))
      assert.is_nil(seen("strokes"):find(colours[3], 1, true))
    end)

  it("draws lines that coincide so that both are seen, in the legend, too", function()
    if not has_browser then
      pending "chromium is not installed (scripts/setup --web)"
      return
    end
    local seen = measured(blis.compare(small.experiment { routing = { "round-robin",
      "round-robin" } }), 1000)
    local styles = core.embedded "page/report.css"
    local first, second = styles:match "%-%-c0: (#%x+);.-%-%-c1: (#%x+);"
    local lines = ";" .. seen "lines" .. ";"
    assert.truthy(lines:find((";%s ;"):format(first), 1, true), lines)
    assert.truthy(lines:find((";%s 12 6;"):format(second), 1, true), lines)
    assert.is_nil(lines:find((";%s ;"):format(second), 1, true), lines)
    local legend = ("line %s ;line %s 12 6"):format(first, second)
    assert.equal(legend, seen("legends"):match "^[^|]+")
    assert.equal(8, count(seen "legends" .. "|", "[^|]+|"))
  end)

  it("prints what is folded up, and the JSON only where somebody has opened it", function()
    if not has_browser then
      pending "chromium is not installed (scripts/setup --web)"
      return
    end
    local seen = measured(blis.run(small.experiment { queue = { saturation = "concurrency" } }),
      1000)
    assert.equal("3 0 3 0 2", seen "folded")
    assert.equal("true false true true true", seen "figures")
  end)

  it("has room for long names of somebody's own on screens, and for many variants on paper",
    function()
      if not has_browser then
        pending "chromium is not installed (scripts/setup --web)"
        return
      end
      local seen = measured(blis.run(small.experiment { cluster = { instances = 1, lora = {
        slots = 1, adapters = { { id = ("x"):rep(5000), weight = 1 }, "b" } } } }), 1000)
      assert.equal("0", seen "hidden")
      assert.is_true(tonumber(seen "out") <= 0)
      local given = {}
      for i = 1, 12 do
        given[i] = { cluster = { instances = i, max_num_seqs = 8 * i }, scheduler = i % 2 == 0
          and "sjf" or "fcfs" }
      end
      seen = measured(blis.compare(small.experiment { variants = given }), 718)
      assert.is_true(tonumber(seen "paper") <= 0, seen "paper")
    end)

  it("draws a sweep", function()
    check(blis.sweep {
      name = "s", parameters = { { "x", { 1, 2, 3 } } }, report = { "ttft_ms.mean",
        "tokens_per_sec" }, replications = 2,
      trial = function(p) return { ["ttft_ms.mean"] = p.x, tokens_per_sec = p.x } end,
    }:run { quiet = true }, 3)
  end)
end)
