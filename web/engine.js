// Runs scripts: each in a worker of its own, with a program that has run nothing before.

// The program, from its packed file where there is one: a third of the bytes, whatever the server
// compresses by itself.
async function compile() {
  const packed = await fetch("blis.wasm.gz");
  if (!packed.ok || packed.headers.get("content-encoding") !== null) {
    return WebAssembly.compileStreaming(fetch("blis.wasm"));
  }
  const plain = packed.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(plain,
    { headers: { "content-type": "application/wasm" } }));
}

export class Engine {
  #module = compile();
  #next = null; // a worker that is started already
  #busy = null; // { worker, reject }

  constructor() {
    this.#next = this.#start();
  }

  // The program is there and can be started.
  get ready() {
    return this.#module;
  }

  get isBusy() {
    return this.#busy !== null;
  }

  #start() {
    const worker = new Worker("worker.js");
    this.#module.then((module) => worker.postMessage({ module }));
    return worker;
  }

  // Runs a script; print gets what it prints meanwhile. The promise gives { status, runs, files },
  // or null when stop() was faster.
  run(source, print) {
    this.stop();
    const worker = this.#next;
    this.#next = this.#start();
    return new Promise((resolve, reject) => {
      this.#busy = { worker, resolve };
      const end = (settle, value) => {
        worker.terminate();
        if (this.#busy?.worker === worker) this.#busy = null;
        settle(value);
      };
      worker.onmessage = ({ data }) => {
        if ("text" in data) print(data.text);
        else end(resolve, data);
      };
      worker.onerror = (event) => end(reject, new Error(event.message || "the program ended"));
      this.#module.then(() => worker.postMessage({ source }), (problem) => end(reject, problem));
    });
  }

  stop() {
    if (!this.#busy) return;
    this.#busy.worker.terminate();
    this.#busy.resolve(null);
    this.#busy = null;
  }
}
