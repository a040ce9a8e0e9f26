// A Chromium without a window, spoken to through a pipe by its own protocol: no library between.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

// Messages are JSON, a zero byte behind each.
function makeConnection(process) {
  const [output, input] = [process.stdio[3], process.stdio[4]];
  const waiting = new Map(), listeners = [];
  let last = 0, rest = "";
  input.on("data", (bytes) => {
    const parts = (rest + bytes.toString("utf8")).split("\0");
    rest = parts.pop();
    for (const message of parts.map((part) => JSON.parse(part))) {
      const waits = waiting.get(message.id);
      waiting.delete(message.id);
      if (!waits) listeners.forEach((listener) => listener(message));
      else if (message.error) waits.reject(new Error(message.error.message));
      else waits.resolve(message.result);
    }
  });
  return {
    listen: (listener) => listeners.push(listener),
    send: (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      output.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
    }),
  };
}

class Page {
  constructor(connection, session) {
    this.connection = connection;
    this.session = session;
    this.complaints = []; // what the console had to say, and what went wrong
    this.asked = []; // addresses of all requests
    connection.listen(({ method, params, sessionId }) => {
      if (sessionId === session) this.#hear(method, params);
    });
  }

  #hear(method, params) {
    if (method === "Network.requestWillBeSent") {
      this.asked.push(params.request.url);
    } else if (method === "Runtime.exceptionThrown") {
      const { exceptionDetails } = params;
      this.complaints.push(exceptionDetails.exception?.description ?? exceptionDetails.text);
    } else if (method === "Log.entryAdded" && params.entry.level === "error") {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    } else if (method === "Runtime.consoleAPICalled" && params.type === "error") {
      this.complaints.push(params.args.map((one) => one.value ?? one.description).join(" "));
    }
  }

  send(method, params) {
    return this.connection.send(method, params, this.session);
  }

  // The value of an expression in the page; a promise is waited for.
  async eval(expression) {
    const answer = await this.send("Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails) {
      throw new Error(answer.exceptionDetails.exception?.description ?? "failed: " + expression);
    }
    return answer.result.value;
  }

  // Waits until an expression is true.
  async until(expression, what = expression, seconds = 120) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
      if (await this.eval(expression)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`waited in vain for: ${what}`);
  }

  open(address) {
    return this.send("Page.navigate", { url: address });
  }

  async key(key, code, options = {}) {
    const event = { key, code: key, windowsVirtualKeyCode: code, ...options };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async click(x, y) {
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  }

  show({ width, height, dark = false, sharpness = 1 }) {
    return Promise.all([
      this.send("Emulation.setDeviceMetricsOverride",
        { width, height, deviceScaleFactor: sharpness, mobile: false }),
      this.send("Emulation.setEmulatedMedia", { features: [
        { name: "prefers-color-scheme", value: dark ? "dark" : "light" }] }),
    ]);
  }

  async picture(file) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
}

// Calls body with a page; the browser is gone afterwards.
async function withPage(body) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "blis-browser-"));
  const browser = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu",
    "--disable-dev-shm-usage", "--remote-debugging-pipe", `--user-data-dir=${folder}`,
    "--no-first-run", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const gone = new Promise((resolve) => browser.once("exit", resolve));
  try {
    const connection = makeConnection(browser);
    const { targetId } = await connection.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await connection.send("Target.attachToTarget",
      { targetId, flatten: true });
    const page = new Page(connection, sessionId);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(domain + ".enable");
    return await body(page);
  } finally {
    browser.kill("SIGKILL");
    await gone;
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// Calls body with the address of a server of the folder.
async function withServer(folder, body) {
  const script = path.join(__dirname, "../../scripts/lib/serve.cjs");
  const server = spawn(process.execPath, [script, folder, "0"],
    { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const address = await new Promise((resolve, reject) => {
      server.stdout.once("data", (bytes) => resolve(bytes.toString().trim()));
      server.once("exit", () => reject(new Error("the server ended")));
    });
    return await body(address);
  } finally {
    server.kill();
  }
}

module.exports = { withPage, withServer };
