// A router that follows prefix caches by KV events of blis live, and never asks an instance.
//
//   node kv_events.js URL FIRST_PORT EVENTS_PORT REPLAY_PORT FORM
//
// URL is a gateway; two instances have the HTTP ports from FIRST_PORT, the events from EVENTS_PORT,
// and the replay sockets from REPLAY_PORT. FORM is array or map. Checks topics, sequence numbers,
// tokens (against /render, /tokenize, and usage), that the blocks predict the hits of prompts, and
// that a replay gives the same caches.
"use strict";
const assert = require("assert");
const crypto = require("crypto");
const zmq = require("zeromq");
const { Decoder } = require("@msgpack/msgpack");

const [url, firstPort, eventsPort, replayPort, form] = [process.argv[2],
  ...process.argv.slice(3, 6).map(Number), process.argv[6]];
const decoder = new Decoder({ useBigInt64: true });
const blockSize = 16;
const fields = { BlockStored: ["block_hashes", "parent_block_hash", "token_ids", "block_size",
  "lora_id", "medium", "lora_name", "extra_keys"], BlockRemoved: ["block_hashes", "medium"],
AllBlocksCleared: [] };

const keyAfter = (before, tokens) =>
  crypto.createHash("sha1").update(`${before};${tokens.join(",")}`).digest("hex");

// The cache of an instance, as its events describe it.
class Follower {
  constructor() {
    this.next = 0n;
    this.present = new Set(); // hashes of the engine
    this.keys = new Map(); // own key of each hash
    this.tokens = new Map(); // own key: tokens of its block
    this.held = new Set(); // own keys
    this.counts = { BlockStored: 0, BlockRemoved: 0, AllBlocksCleared: 0 };
  }

  event(given) {
    const is_map = !Array.isArray(given);
    assert.equal(is_map, form === "map");
    const name = is_map ? given.type : given[0];
    const value = {};
    fields[name].forEach((field, i) => { value[field] = is_map ? given[field] : given[i + 1]; });
    this.counts[name]++;
    if (name === "AllBlocksCleared") {
      this.present.clear();
      this.held.clear();
      return;
    }
    assert.equal(value.medium, "GPU");
    const hashes = value.block_hashes.map(String);
    if (name === "BlockRemoved") {
      for (const hash of hashes) {
        assert(this.present.delete(hash), "a removed block is unknown");
        this.held.delete(this.keys.get(hash));
      }
      return;
    }
    const tokens = value.token_ids.map(Number);
    assert.equal(Number(value.block_size), blockSize);
    assert.equal(tokens.length, hashes.length * blockSize);
    const parent = value.parent_block_hash;
    let key = parent === null ? "" : this.keys.get(String(parent));
    assert(key !== undefined, "a parent is unknown");
    hashes.forEach((hash, i) => {
      assert(!this.present.has(hash), "a block is stored twice");
      const own = tokens.slice(i * blockSize, (i + 1) * blockSize);
      key = keyAfter(key, own);
      this.present.add(hash);
      this.keys.set(hash, key);
      this.held.add(key);
    });
  }

  batch(sequence, payload) {
    assert.equal(sequence, this.next++);
    const [time, events, rank] = decoder.decode(payload);
    assert(Math.abs(time - Date.now() / 1000) < 3600);
    assert.equal(Number(rank), 0);
    for (const one of events) this.event(one);
  }

  // Cached tokens of a prompt: its last token is always computed.
  hit(tokens) {
    let key = "";
    let hit = 0;
    while (hit + blockSize < tokens.length) {
      key = keyAfter(key, tokens.slice(hit, hit + blockSize));
      if (!this.held.has(key)) break;
      hit += blockSize;
    }
    return hit;
  }
}

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function post(base, path, body) {
  const answer = await fetch(base + path, { method: "POST",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(answer.status, 200, `${path}: ${answer.status}`);
  const text = await answer.text();
  return text === "" ? null : JSON.parse(text);
}

async function follow(socket, follower, port) {
  for await (const [topic, sequence, payload] of socket) {
    const parts = topic.toString().split("@");
    assert.equal(parts.length, 3);
    assert.deepEqual(parts.slice(0, 2), ["kv", `127.0.0.1:${port}`]);
    follower.batch(sequence.readBigUInt64BE(), payload);
  }
}

// The batches from `start` on.
async function replay(port, start) {
  const socket = new zmq.Dealer({ linger: 0 });
  socket.connect(`tcp://127.0.0.1:${port}`);
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(start));
  await socket.send(["", number]);
  const list = [];
  for await (const [delimiter, sequence, payload] of socket) {
    assert.equal(delimiter.length, 0);
    if (sequence.readBigInt64BE() === -1n) break;
    list.push([sequence.readBigUInt64BE(), payload]);
  }
  socket.close();
  return list;
}

// Waits until a follower has all batches that were published so far.
async function catchUp(follower, port) {
  const missing = await replay(port, follower.next);
  const last = missing.length > 0 ? missing[missing.length - 1][0] : -1n;
  while (follower.next <= last) await sleep(5);
}

const words = (n, seed) =>
  Array.from({ length: n }, (_, i) => `w${(seed * 31 + i) % 97} `).join("");

// A chat whose beginning others share.
function chat(i) {
  return [{ role: "system", content: words(60, i % 3) },
    { role: "user", content: words(20 + i % 7 * 15, i % 11) }];
}

async function main() {
  const followers = [new Follower(), new Follower()];
  const sockets = [];
  for (let i = 0; i < 2; i++) {
    const socket = new zmq.Subscriber({ linger: 0 });
    socket.connect(`tcp://127.0.0.1:${eventsPort + i}`);
    socket.subscribe("kv@");
    follow(socket, followers[i], firstPort + i).catch((error) => {
      console.error(error);
      process.exit(1);
    });
    sockets.push(socket);
  }
  await sleep(500); // a subscription takes effect after the connection

  // Many at once, which evict blocks of each other.
  const bases = [0, 1].map((i) => `http://127.0.0.1:${firstPort + i}`);
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 10 }, (_, k) => {
      const i = round * 10 + k;
      return post(i % 2 === 0 ? url : bases[i % 4 >> 1], "/v1/chat/completions",
        { messages: chat(i), max_tokens: 5 + i % 40, ignore_eos: true });
    }));
  }

  // One after the other: the events predict each hit, and all ways give the same tokens.
  let hits = 0;
  for (let i = 0; i < 100; i++) {
    const messages = chat(i * 7);
    const base = bases[i % 2];
    const rendered = (await post(base, "/v1/chat/completions/render", { messages })).token_ids;
    const tokenized = (await post(base, "/tokenize", { messages })).tokens;
    assert.deepEqual(rendered, tokenized);
    await catchUp(followers[i % 2], replayPort + i % 2);
    const expected = followers[i % 2].hit(rendered);
    const { usage } = await post(base, "/v1/chat/completions",
      { messages, max_tokens: 3, ignore_eos: true });
    assert.equal(usage.prompt_tokens, rendered.length);
    const cached = usage.prompt_tokens_details ? usage.prompt_tokens_details.cached_tokens : 0;
    assert.equal(cached, expected, `request ${i}`);
    hits += cached > 0;
    await catchUp(followers[i % 2], replayPort + i % 2);
    assert(followers[i % 2].hit(rendered) >= Math.floor((rendered.length - 1) / blockSize)
      * blockSize, "blocks of a prompt are missing");
  }
  assert(hits > 30);
  assert(followers[0].counts.BlockRemoved > 10);

  // A subscriber that has missed everything, or a part.
  for (let i = 0; i < 2; i++) {
    await catchUp(followers[i], replayPort + i);
    const late = new Follower();
    for (const [sequence, payload] of await replay(replayPort + i, 0)) {
      late.batch(sequence, payload);
    }
    assert.deepEqual([...late.present].sort(), [...followers[i].present].sort());
    const last = Number(followers[i].next) - 1;
    const part = await replay(replayPort + i, last - 4);
    assert.deepEqual(part.map(([sequence]) => Number(sequence)),
      [4, 3, 2, 1, 0].map((before) => last - before));
    assert.equal((await replay(replayPort + i, 1e9)).length, 0);
  }

  await post(bases[1], "/reset_prefix_cache", {});
  await catchUp(followers[1], replayPort + 1);
  assert.equal(followers[1].counts.AllBlocksCleared, 1);
  assert.equal(followers[1].present.size, 0);
  assert(followers[0].present.size > 0);
  console.log(`kv events: ${followers.map((f) => `${f.next} batches, ${JSON.stringify(f.counts)}`)
    .join("; ")}; ${hits} of 100 prompts had hits`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
