// The client library `openai` against blis live: streams, usage, forms of prompts, and errors.
//
//   NODE_PATH=... node openai.js URL
"use strict";
const assert = require("assert");
const { createRequire } = require("module");
const load = createRequire((process.env.NODE_PATH || process.cwd()) + "/");
const OpenAI = load("openai");

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "none", maxRetries: 0 });
const model = "qwen/qwen3-14b";
const messages = [{ role: "user", content: "Tell me about whales" }];

async function streams() {
  const stream = await client.chat.completions.create({ model, messages, max_tokens: 20, stream: true,
    ignore_eos: true, stream_options: { include_usage: true, continuous_usage_stats: true } });
  let text = "", usage = 0, roles = 0, last, ids = new Set();
  for await (const chunk of stream) {
    last = chunk;
    ids.add(chunk.id);
    assert.strictEqual(chunk.object, "chat.completion.chunk");
    if (chunk.usage) {
      assert.ok(chunk.usage.completion_tokens >= usage);
      usage = chunk.usage.completion_tokens;
    }
    const choice = chunk.choices[0];
    roles += choice?.delta?.role === "assistant" ? 1 : 0;
    text += choice?.delta?.content ?? "";
  }
  assert.strictEqual(ids.size, 1);
  assert.strictEqual(roles, 1);
  assert.strictEqual(text.length, 80);
  assert.deepStrictEqual(last.choices, []);
  assert.strictEqual(last.usage.completion_tokens, 20);
  return text;
}

async function whole(text) {
  const answer = await client.chat.completions.create({ model, messages, max_tokens: 20,
    ignore_eos: true });
  assert.strictEqual(answer.object, "chat.completion");
  assert.ok(answer.id.startsWith("chatcmpl-"));
  assert.strictEqual(answer.choices[0].message.content, text);
  assert.strictEqual(answer.choices[0].finish_reason, "length");
  assert.strictEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + 20);
}

async function prompts() {
  const forms = [["abcdefgh", 1, 2], [["abcd", "efgh"], 2, 2], [[5, 6, 7], 1, 3],
    [[[5, 6], [7]], 2, 3]];
  for (const [prompt, count, tokens] of forms) {
    const answer = await client.completions.create({ model, prompt, n: 3, max_tokens: 4,
      ignore_eos: true });
    assert.deepStrictEqual(answer.choices.map((choice) => choice.index), [...Array(3 * count).keys()]);
    assert.strictEqual(answer.usage.prompt_tokens, tokens);
    assert.strictEqual(answer.usage.completion_tokens, 12 * count);
  }
}

async function lengths() {
  for (const max_tokens of [1, 16, 400]) {
    const answer = await client.completions.create({ model, prompt: "a", max_tokens, ignore_eos: true });
    assert.strictEqual(answer.usage.completion_tokens, max_tokens);
    assert.strictEqual(answer.choices[0].finish_reason, "length");
  }
  let stops = 0;
  for (let i = 0; i < 8; i++) {
    const answer = await client.completions.create({ model, prompt: "p" + i, max_tokens: 1000 });
    stops += answer.choices[0].finish_reason === "stop" ? 1 : 0;
  }
  assert.ok(stops > 0);
}

async function cache() {
  const prompt = [...Array(1024).keys()].map((i) => 1000 + i);
  await client.completions.create({ model, prompt, max_tokens: 2 });
  const again = await client.completions.create({ model, prompt, max_tokens: 2 });
  const cached = again.usage.prompt_tokens_details.cached_tokens;
  assert.ok(cached > 900 && cached % 16 === 0, `cached ${cached}`);
}

async function errors() {
  const cases = [
    [{ model: "x", prompt: "a" }, OpenAI.NotFoundError, 404],
    [{ model, prompt: "" }, OpenAI.BadRequestError, 400],
    [{ model, prompt: "a", max_tokens: 10000000 }, OpenAI.BadRequestError, 400],
    [{ model, prompt: "a", stream_options: { include_usage: true } }, OpenAI.BadRequestError, 400],
  ];
  for (const [body, kind, status] of cases) {
    await assert.rejects(client.completions.create(body), (error) => {
      assert.ok(error instanceof kind, `${error}`);
      assert.strictEqual(error.status, status);
      return true;
    });
  }
  await assert.rejects(client.completions.create({ model, prompt: "a" },
    { headers: { "X-Return-Error": "429" } }), OpenAI.RateLimitError);
}

(async () => {
  const text = await streams();
  for (const test of [() => whole(text), prompts, lengths, cache, errors]) await test();
  console.log("openai: ok");
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
