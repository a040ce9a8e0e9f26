// node run.cjs FOLDER [ARGUMENT]...: runs the blis of a web build as the native
// program would run. Arguments that are files are copied to its memory.
"use strict";
const fs = require("fs");
const path = require("path");

const [folder, ...given] = process.argv.slice(2);
const make = require(path.resolve(folder, "blis.js"));

function put(program, argument) {
  if (!fs.existsSync(argument)) return argument;
  const name = path.basename(argument);
  program.FS.writeFile(name, fs.readFileSync(argument));
  return name;
}

make({
  wasmBinary: fs.readFileSync(path.join(folder, "blis.wasm")),
  print: (line) => fs.writeSync(1, line + "\n"),
  printErr: (line) => fs.writeSync(2, line + "\n"),
  quit: (status) => { process.exitCode = status; },
}).then((program) => program.callMain(given.map((argument) => put(program, argument))));
