// A router as llm-d's endpoint picker works: it scrapes the metrics of the instances every 50 ms,
// and sends each request to the one with the fewest requests by the last scrape.
//
//   node router.js PORT INSTANCE_URL...
"use strict";
const http = require("http");

const [port, ...targets] = process.argv.slice(2);
const interval = 50;
const agent = new http.Agent({ keepAlive: true });
const loads = targets.map(() => 0);
let turn = 0;

function get(url) {
  return new Promise((resolve, reject) => {
    http.get(url, { agent }, (answer) => {
      let text = "";
      answer.on("data", (part) => { text += part; });
      answer.on("end", () => resolve(text));
    }).on("error", reject);
  });
}

async function scrape(i) {
  const page = await get(`${targets[i]}/metrics`).catch(() => "");
  const value = (name) => Number((page.match(new RegExp(`^vllm:${name}\\{.*\\} (.*)$`, "m"))
    || [0, NaN])[1]);
  const load = value("num_requests_running") + value("num_requests_waiting");
  loads[i] = Number.isNaN(load) ? Infinity : load;
}

// The instance with the lowest load; equal ones in turn.
function choose() {
  const least = Math.min(...loads);
  const best = loads.map((load, i) => i).filter((i) => loads[i] === least);
  return best[turn++ % best.length];
}

http.createServer((request, response) => {
  const target = new URL(request.url, targets[choose()]);
  const call = http.request(target, { method: request.method, headers: request.headers, agent },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
  call.on("error", () => response.destroy());
  response.on("close", () => call.destroy());
  request.pipe(call);
}).listen(Number(port), "127.0.0.1");

setInterval(() => targets.forEach((_, i) => scrape(i)), interval);
