// node playground.cjs SITE: uses the playground as a person would, in a Chromium. A line "ok NAME"
// or "not ok NAME: why" for each thing that should be so.
"use strict";
const { withPage, withServer } = require("./browser.cjs");

const q = JSON.stringify;
const state = "document.documentElement?.dataset.state";
const idle = `${state} === 'idle'`;
const text = (id) => `document.getElementById(${q(id)}).textContent`;

function check(condition, why) {
  if (!condition) throw new Error(why);
}

// Types a script, all of it, as input.
async function type(page, source) {
  await page.eval("(() => { const area = document.getElementById('source'); area.focus(); "
    + "area.select(); })()");
  await page.send("Input.insertText", { text: source });
}

async function press(page, id) {
  await page.eval(`document.getElementById(${q(id)}).click()`);
}

async function run(page, source) {
  await type(page, source);
  await press(page, "run");
  await page.until(idle, "the end of a script");
}

const typed = `local blis = require "blis"
local mine = blis.scorer { name = "mine",
  score = function(_, instance) return 1 / (1 + instance.queue_depth + instance.batch_size) end }
local results = blis.compare {
  cluster = { instances = 3 },
  workload = { rate = 30, requests = 800, prompt_tokens = 400, output_tokens = 60 },
  routing = { "round-robin", { "weighted", scorers = { { mine, 1 } } } },
}
print("hashes", results[1].hash, results[2].hash)
`;

const tests = {
  async "plays the first example by itself"(page, address) {
    await page.open(address);
    await page.until(`${state} === 'running'`, "its start");
    await page.until(idle, "its end");
    check((await page.eval(text("output"))).includes("against round-robin"), "no output");
    check(await page.eval("!document.getElementById('race').hidden"), "nothing to look at");
  },

  async "runs a policy that is typed, with the hashes of the native program"(page) {
    await run(page, typed);
    const output = await page.eval(text("output"));
    console.log("typed: " + output.trim());
    const shown = await page.eval("[...document.querySelectorAll('.lane code')]"
      + ".map((one) => one.textContent).join(' ')");
    check(output.trim().split(/\s+/).slice(1).join(" ") === shown,
      `the lanes show ${shown}, the script ${output}`);
  },

  async "moves its pictures with the time"(page) {
    await page.eval("(() => { const time = document.getElementById('time'); "
      + "if (document.getElementById('play').textContent === 'Pause') "
      + "document.getElementById('play').click(); "
      + "time.value = 500; time.dispatchEvent(new Event('input')); })()");
    await page.until("/: [1-9]\\d* requests running/.test("
      + "document.querySelector('canvas.stage').ariaLabel)", "running requests");
    check(/^\d+\.\d\d s of/.test(await page.eval(text("now"))), "no time");
  },

  async "tells the life of a request that is clicked"(page) {
    await page.eval("document.querySelector('canvas.stage').scrollIntoView()");
    const box = await page.eval("(() => { const box = document.querySelector('canvas.stage')"
      + ".getBoundingClientRect(); return { x: box.x, y: box.y }; })()");
    await page.click(box.x + 13, box.y + 22 + 20 + 5);
    await page.until(`${text("told")}.includes('request ')`, "a request", 10);
    const told = await page.eval(text("told"));
    for (const word of ["arrived at", "prefill", "decode", "completed", "mine × 1", "(chosen)"]) {
      check(told.includes(word), `it does not tell '${word}': ${told}`);
    }
    check(await page.eval("document.querySelectorAll('#told tr.chosen').length") >= 2,
      "no chosen candidates");
  },

  async "finds a request by its number, without a mouse"(page) {
    await page.eval("(() => { const number = document.getElementById('number'); number.focus(); "
      + "number.select(); })()");
    await page.send("Input.insertText", { text: "7" });
    await page.key("Enter", 13, { text: "\r" });
    await page.until(`${text("told")}.includes('request 7')`, "request 7", 10);
  },

  async "shows an error in the line where it is"(page) {
    await run(page, "local x = 1\nlocal y = x .. nil\n");
    check((await page.eval(text("problem"))).startsWith("Line 2: attempt to concatenate"),
      await page.eval(text("problem")));
    check(await page.eval("document.querySelector('.numbers .wrong').textContent.trim()") === "2",
      "the line is not marked");
    check(await page.eval("document.querySelector('.shown .wrong').textContent")
      .then((told) => told.startsWith("attempt to")), "the line does not tell");
  },

  async "shows an error of a policy, and of syntax"(page) {
    await run(page, typed.replace("instance.queue_depth", "instance.queue_dept"));
    check(/^Line 3: /.test(await page.eval(text("problem"))), await page.eval(text("problem")));
    await run(page, "local = 1\n");
    check(/^Line 1: /.test(await page.eval(text("problem"))), await page.eval(text("problem")));
  },

  async "stops a script that does not end"(page) {
    await type(page, "print 'going'\nwhile true do end\n");
    await press(page, "run");
    await page.until(`${state} === 'running'`, "its start");
    await press(page, "stop");
    await page.until(idle, "its end", 10);
    check(await page.eval(text("status")) === "Stopped.", "it does not say so");
    await run(page, "print 'again'");
    check((await page.eval(text("output"))).trim() === "again", "nothing runs afterwards");
  },

  async "lives through one that takes all memory, and one that prints without end"(page) {
    await run(page, "local t = {} while true do t[#t + 1] = ('x'):rep(1 << 24) .. #t end");
    check(/not enough memory|out of memory/.test(await page.eval(text("output"))),
      await page.eval(text("output")));
    await type(page, "while true do print(('x'):rep(100)) end");
    await press(page, "run");
    await page.until(`${text("output")}.includes('more than a page')`, "the end of its output", 60);
    await press(page, "stop");
    await page.until(idle, "its end", 10);
  },

  async "reads markup as text"(page) {
    await run(page, "print '<img src=x onerror=alert(1)>' -- <b>bold</b>\n");
    check((await page.eval(text("output"))).includes("<img src=x"), "it is not there");
    check(await page.eval("document.querySelectorAll('main img, main b').length") === 0,
      "it became elements");
  },

  async "shares a script by its address"(page, address) {
    await type(page, "print 'shared: äöü'\n");
    await press(page, "share");
    await page.until("location.hash.startsWith('#script=')", "a fragment", 10);
    const fragment = await page.eval("location.hash");
    await page.open("about:blank");
    await page.open(address + fragment);
    await page.until("document.getElementById('source')?.value.includes('shared: äöü')", "it", 30);
  },

  async "runs every example of the gallery"(page, address) {
    await page.open("about:blank");
    await page.open(address);
    await page.until(idle, "the start");
    const names = await page.eval("[...document.getElementById('gallery').options]"
      + ".map((one) => one.value)");
    check(names.length > 10, `only ${names}`);
    for (const name of names) {
      await page.eval(`fetch('gallery/${name}.lua').then((answer) => answer.text())`
        + ".then((text) => { document.getElementById('source').value = text; "
        + "document.getElementById('run').click(); })");
      await page.until(idle, name);
      const status = await page.eval(text("status"));
      check(status.startsWith("Done"), `${name}: ${status}`);
      // A simulation that a script drives by hand is its own to show.
      check(name === "epsilon_greedy" || !status.includes(" 0 runs"), `${name}: no run`);
    }
  },

  async "asks nobody else, and complains of nothing"(page, address) {
    const others = page.asked.filter((one) => !one.startsWith(address)
      && !/^(blob|data|about|chrome):/.test(one));
    check(others.length === 0, `it asked ${others}`);
    check(page.complaints.length === 0, page.complaints.join("\n"));
  },
};

async function main(site) {
  await withServer(site, (address) => withPage(async (page) => {
    await page.show({ width: 1400, height: 1000 });
    for (const [name, test] of Object.entries(tests)) {
      try {
        await test(page, address);
        console.log(`ok ${name}`);
      } catch (problem) {
        console.log(`not ok ${name}: ${problem.message}`);
      }
    }
  }));
}

main(process.argv[2]);
