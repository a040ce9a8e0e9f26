// node screenshots.cjs SITE FOLDER: pictures of the playground, light and dark, wide and narrow, and
// of an error.
"use strict";
const path = require("path");
const { withPage, withServer } = require("./browser.cjs");

const views = [
  ["wide", { width: 1400, height: 1130 }],
  ["wide-dark", { width: 1400, height: 1130, dark: true }],
  ["narrow", { width: 420, height: 2600 }],
];

async function main(site, folder) {
  await withServer(site, (address) => withPage(async (page) => {
    await page.show(views[0][1]);
    await page.open(address);
    await page.until("document.documentElement?.dataset.state === 'running'");
    await page.until("document.documentElement?.dataset.state === 'idle'");
    for (const [name, view] of views) {
      await page.show(view);
      // Late enough that the first run is full.
      await page.eval("(() => { const play = document.getElementById('play'); "
        + "if (play.textContent === 'Pause') play.click(); "
        + "const time = document.getElementById('time'); time.value = 330; "
        + "time.dispatchEvent(new Event('input')); "
        + "document.getElementById('number').value = 2000; "
        + "document.querySelector('#pick button').click(); "
        + "window.scrollTo(0, 0); "
        + "return new Promise((done) => setTimeout(done, 500)); })()");
      await page.picture(path.join(folder, `playground-${name}.png`));
    }
    await page.show(views[0][1]);
    await page.eval("(() => { const area = document.getElementById('source'); "
      + "area.value = area.value.replace('pending_prefill_tokens', 'pending_prefil_tokens'); "
      + "area.dispatchEvent(new Event('input')); document.getElementById('run').click(); })()");
    await page.until("document.documentElement?.dataset.state === 'running'");
    await page.until("document.documentElement?.dataset.state === 'idle'");
    await page.picture(path.join(folder, "playground-error.png"));
  }));
}

main(...process.argv.slice(2));
