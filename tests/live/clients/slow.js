// Clients of blis live that read nothing for a while.
//
//   node slow.js URL TOKENS SECONDS
//
// Each of three streams of TOKENS tokens is not read for SECONDS, then to its end: text and usage
// are complete, and tokens that were owed share events. Other clients are served meanwhile.
"use strict";
const assert = require("assert");
const net = require("net");

const url = new URL(process.argv[2]);
const [tokens, pause] = [Number(process.argv[3]), Number(process.argv[4]) * 1000];

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function stream(i) {
  const body = JSON.stringify({ prompt: `slow ${i}`, max_tokens: tokens, ignore_eos: true,
    stream: true, stream_options: { include_usage: true } });
  const socket = net.connect(Number(url.port), url.hostname);
  socket.pause();
  socket.write("POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\n"
    + `Content-Length: ${body.length}\r\n\r\n${body}`);
  await sleep(pause);
  let text = "";
  for await (const part of socket) text += part;
  const events = text.split("\r\n\r\n")[1].split("\n\n").filter((one) => one !== "");
  assert.equal(events.pop(), "data: [DONE]");
  const parsed = events.map((one) => JSON.parse(one.slice("data: ".length)));
  assert.equal(parsed.pop().usage.completion_tokens, tokens);
  const length = parsed.reduce((sum, one) => sum + one.choices[0].text.length, 0);
  assert.equal(length, 4 * tokens);
  assert.equal(parsed[parsed.length - 1].choices[0].finish_reason, "length");
  return parsed.length;
}

async function friends() {
  const times = [];
  const end = performance.now() + pause;
  while (performance.now() < end) {
    const started = performance.now();
    const answer = await fetch(`${url.origin}/v1/completions`, { method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ prompt: "friend", max_tokens: 3, ignore_eos: true }) });
    assert.equal((await answer.json()).usage.completion_tokens, 3);
    times.push(performance.now() - started);
    await sleep(20);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

async function main() {
  const [median, ...counts] = await Promise.all([friends(), stream(1), stream(2), stream(3)]);
  assert(counts.every((count) => count < tokens), "no event has several tokens");
  assert(median < 1000, `other clients waited ${median} ms`);
  console.log(`slow: ${counts.join(", ")} events for ${tokens} tokens each; `
    + `others waited ${median.toFixed(1)} ms (median)`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
