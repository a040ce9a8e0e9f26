// One run of the program, off the page's thread. It gets { module, source }, and says
// { text } as the script prints, then { status, runs, files }. A page that has enough of a script
// ends the worker.
"use strict";

importScripts("blis.js");

const script = "script.lua", runs = "/runs", most = 400000, flush_ms = 50;

// Lines go out in bundles: a script that prints without end must not drown the page.
function makePrinter() {
  let waiting = "", sent = 0, last = 0;
  function flush() {
    if (waiting !== "") postMessage({ text: waiting });
    waiting = "";
    last = performance.now();
  }
  function print(line) {
    if (sent > most) return;
    sent += line.length + 1;
    waiting += line + "\n";
    const isFull = sent > most;
    if (isFull) waiting += "... (more than a page can show)\n";
    if (isFull || performance.now() - last > flush_ms) flush();
  }
  return { print, flush };
}

function namesIn(FS, folder) {
  return FS.readdir(folder).filter((name) => !name.startsWith("."));
}

function readRuns(FS) {
  const count = namesIn(FS, runs).length, texts = [];
  for (let i = 1; i <= count; i++) {
    texts.push(FS.readFile(runs + "/" + i + ".json", { encoding: "utf8" }));
  }
  return texts;
}

// What the script has written beside itself.
function readFiles(FS) {
  return namesIn(FS, "/work").filter((name) => name !== script && FS.isFile(FS.stat(name).mode))
    .map((name) => ({ name, bytes: FS.readFile(name) }));
}

async function start(module) {
  const printer = makePrinter();
  const program = await blis({
    print: printer.print,
    printErr: printer.print,
    quit: () => {},
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(module, imports).then(done);
      return {};
    },
  });
  return { program, printer };
}

let ready = null;

onmessage = async ({ data }) => {
  if (data.module) {
    ready = start(data.module);
    return;
  }
  const { program, printer } = await ready;
  const FS = program.FS;
  FS.mkdir(runs);
  FS.mkdir("/work");
  FS.chdir("/work");
  FS.writeFile(script, data.source);
  const watch = "require('blis.playground').watch('" + runs + "')";
  let status = 1;
  try {
    status = program.callMain(["-e", watch, script]);
  } catch (problem) {
    printer.print("blis: " + problem.message);
  }
  printer.flush();
  postMessage({ status, runs: readRuns(FS), files: readFiles(FS) });
};
