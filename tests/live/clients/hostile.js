// Sends requests to blis live that no friendly client sends, and checks that friendly ones are
// served meanwhile.
//
//   node hostile.js URL COUNT [SEED]
//
// Kinds: changed bytes, cut requests, pipelined requests, huge heads and bodies, half-closed
// connections, resets, slow clients, broken JSON, deep JSON, wrong types, and paths at random.
// Status 0: each friendly request was answered with its tokens.
"use strict";
const net = require("net");
const http = require("http");

const url = new URL(process.argv[2]);
const total = Number(process.argv[3]);
let state = Number(process.argv[4] || 1) >>> 0 || 1;
const atOnce = 50;
const patience = 2000; // ms that a hostile connection stays open at most

function random(n) {
  state ^= state << 13; state >>>= 0;
  state ^= state >>> 17;
  state ^= state << 5; state >>>= 0;
  return state % n;
}

const pick = (list) => list[random(list.length)];

const paths = ["/v1/completions", "/v1/chat/completions", "/generate", "/tokenize", "/detokenize",
  "/v1/completions/render", "/v1/chat/completions/render", "/v1/load_lora_adapter",
  "/v1/unload_lora_adapter", "/metrics", "/health", "/is_sleeping", "/admin/config", "/admin/faults",
  "/admin/nothing", "/", "/../../etc/passwd", "/%00", "/" + "a".repeat(9000)];

const bodies = ["", "{", "[]", "null", "1e999", "\"", "{\"prompt\": 1}", "{\"prompt\": []}",
  "{\"prompt\": [[]]}", "{\"prompt\": [-1, 99999999999]}", "{\"prompt\": \"a\", \"n\": 100000}",
  "{\"prompt\": \"a\", \"max_tokens\": -5}", "{\"prompt\": \"a\", \"max_tokens\": 1e300}",
  "{\"prompt\": \"a\", \"stop\": [\"\"]}", "{\"prompt\": \"\\ud800\"}", "{\"messages\": [{}]}",
  "{\"messages\": [{\"role\": 5, \"content\": {}}]}", "{\"messages\": []}",
  "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]}",
  "[".repeat(5000), "{\"a\":".repeat(500), "{\"prompt\": \"" + "x".repeat(100000) + "\"}",
  "{\"text\": \"a\", \"sampling_params\": []}", "{\"tokens\": [1, 2, \"a\"]}",
  "{\"prompt\": \"a\", \"stream\": true, \"max_tokens\": 3}",
  "{\"prompt\": \"a\", \"n\": 3, \"stream\": true, \"stream_options\": {}}",
  "{\"lora_name\": \"a\"}", "{\"prompt\": \"a\", \"cache_salt\": 7, \"seed\": \"x\"}",
  "{\"prompt\": \"a\", \"kv_transfer_params\": [1]}",
  "{\"prompt\": \"a\", \"kv_transfer_params\": {\"do_remote_prefill\": true, \"remote_block_ids\": "
    + "[[1], 2, null], \"remote_engine_id\": [], \"remote_port\": -1}}",
  "{\"prompt\": \"" + "y".repeat(3000) + "\", \"kv_transfer_params\": {\"do_remote_prefill\": true, "
    + "\"remote_block_ids\": [" + "7,".repeat(300) + "7]}}",
  "{\"prompt\": \"a\", \"kv_transfer_params\": {\"do_remote_decode\": true}}"];

function request(method, path, headers, body) {
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: a\r\n${headers}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, "latin1");
}

const json = "Content-Type: application/json\r\n";
const good = () => request("POST", "/v1/completions", json,
  "{\"prompt\": \"abcd\", \"max_tokens\": 3}");

const kinds = [
  () => { // changed bytes
    const data = Buffer.from(good());
    for (let i = 1 + random(6); i > 0; i--) data[random(data.length)] = random(256);
    return { parts: [data] };
  },
  () => ({ parts: [good().subarray(0, random(140))], reset: random(2) === 0 }),
  () => ({ parts: [Buffer.concat([good(), good(), good(), good()])] }),
  () => ({ parts: [Buffer.from("GET /health HTTP/1.1\r\nA: " + "x".repeat(20000) + "\r\n\r\n")] }),
  () => ({ parts: [Buffer.from(`POST /v1/completions HTTP/1.1\r\n${json}Content-Length: ` +
    pick(["99999999999", "-1", "0x10", "18446744073709551617", "34000000"]) + "\r\n\r\n{}")] }),
  () => ({ parts: [good()], half: true }),
  () => ({ parts: [good()], reset: true }),
  () => { // slow: a byte or a few at a time, and never all
    const data = good();
    const parts = [];
    for (let i = 0; i < 20; i++) parts.push(data.subarray(i * 3, i * 3 + 3));
    return { parts, pause: 20 };
  },
  () => ({ parts: [request("POST", pick(paths), json, pick(bodies))] }),
  () => ({ parts: [request(pick(["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "X", ""]),
    pick(paths), pick(["", json, "Expect: 100-continue\r\n", "Connection: close\r\n"]),
    pick(bodies))] }),
  () => ({ parts: [Buffer.from("POST /v1/completions HTTP/1.1\r\n" + json +
    "Transfer-Encoding: chunked\r\n\r\n" + pick(["zz\r\n", "5\r\n{}\r\n", "ffffffffffffffff\r\n",
      "2\r\n{}\r\n0\r\n\r\n", "0\r\n" + "a: b\r\n".repeat(5000)]))] }),
  () => { // noise
    const data = Buffer.alloc(1 + random(300));
    for (let i = 0; i < data.length; i++) data[i] = random(256);
    return { parts: [data] };
  },
];

let sent = 0, open = 0, friendly = 0, failures = 0, friendlyOpen = 0;

function attack() {
  open++;
  const plan = kinds[sent++ % kinds.length]();
  const socket = net.connect(Number(url.port), url.hostname);
  let isOver = false;
  const over = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    socket.destroy();
    open--;
    more();
  };
  const timer = setTimeout(over, plan.pause ? patience : 30 + random(200));
  socket.on("error", over);
  socket.on("close", over);
  socket.on("data", () => { if (random(4) === 0) over(); });
  socket.on("connect", () => {
    const next = (i) => {
      if (isOver || i >= plan.parts.length) {
        if (plan.half && !isOver) socket.end();
        if (plan.reset && !isOver) { socket.resetAndDestroy ? socket.resetAndDestroy() : over(); }
        return;
      }
      socket.write(plan.parts[i]);
      if (plan.pause) setTimeout(next, plan.pause, i + 1); else next(i + 1);
    };
    next(0);
  });
}

// A friendly client: its answer has the tokens that it wants.
function befriend() {
  friendly++;
  friendlyOpen++;
  const body = "{\"prompt\": \"friend\", \"max_tokens\": 3, \"ignore_eos\": true}";
  const call = http.request(url.origin + "/v1/completions", { method: "POST",
    headers: { "Content-Type": "application/json", "Content-Length": body.length } }, (answer) => {
    let text = "";
    answer.on("data", (part) => { text += part; });
    answer.on("end", () => {
      friendlyOpen--;
      if (!text.includes("\"completion_tokens\":3")) {
        failures++;
        console.error(`friendly request ${friendly}: status ${answer.statusCode}, ${text}`);
      }
      more();
    });
  });
  call.setTimeout(60000, () => call.destroy(new Error("no answer in 60 s")));
  call.on("error", (error) => {
    friendlyOpen--;
    failures++;
    console.error(`friendly request ${friendly}: ${error.message}`);
    more();
  });
  call.end(body);
}

function more() {
  while (open < atOnce && sent < total) {
    if (sent % 500 === 0 && friendly <= sent / 500) befriend();
    attack();
  }
  if (open === 0 && friendlyOpen === 0 && sent >= total) {
    console.log(`${sent} hostile requests, ${friendly} friendly ones, ${failures} failures`);
    process.exit(failures > 0 ? 1 : 0);
  }
}

more();
