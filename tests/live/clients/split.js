// A router that sends each prompt first to a prefill and then to a decode instance of blis live, as
// the side-car of llm-d and the proxy of vLLM do: it listens as a proxy, and a client uses it.
//
//   node split.js PREFILL_URL DECODE_URL LATENCY_MS
//
// LATENCY_MS is the flag --kv-handoff-latency of the server, in wall-clock time.
"use strict";
const assert = require("assert");
const http = require("http");

const [prefill, decode, latency] = [process.argv[2], process.argv[3], Number(process.argv[4])];
let lastParams = null;

const post = (url, body, headers) => fetch(url, { method: "POST", body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers } });

// What the side-car asks of the prefill instance: one token, no stream.
function prefillBody(body) {
  const { stream_options: _, ...rest } = body;
  const tokens = body.max_completion_tokens ? { max_completion_tokens: 1 } : {};
  return { ...rest, ...tokens, max_tokens: 1, stream: false, kv_transfer_params: {
    do_remote_decode: true, do_remote_prefill: false, remote_engine_id: null,
    remote_block_ids: null, remote_host: null, remote_port: null } };
}

const proxy = http.createServer((request, response) => {
  let text = "";
  request.on("data", (part) => { text += part; });
  request.on("end", async () => {
    const id = { "x-request-id": request.headers["x-request-id"] };
    const body = JSON.parse(text);
    const first = await post(prefill + request.url, prefillBody(body), id);
    lastParams = (await first.json()).kv_transfer_params;
    const second = await post(decode + request.url, { ...body, kv_transfer_params: lastParams },
      id);
    response.writeHead(second.status, { "Content-Type": second.headers.get("content-type") });
    for await (const part of second.body) response.write(part);
    response.end();
  });
});

const words = (n, seed) =>
  Array.from({ length: n }, (_, i) => `w${(seed * 37 + i) % 89} `).join("");

async function metric(url, name, label) {
  const page = await (await fetch(`${url}/metrics`)).text();
  const line = page.split("\n").find((one) => one.startsWith(name) && one.includes(label || ""));
  assert(line, `no metric ${name}`);
  return Number(line.split(" ").pop());
}

async function main() {
  await new Promise((resolve) => { proxy.listen(0, "127.0.0.1", resolve); });
  const url = `http://127.0.0.1:${proxy.address().port}`;
  const ask = { messages: [{ role: "user", content: words(300, 1) }], max_tokens: 12,
    ignore_eos: true };

  // Whole: the answer is that of one engine, and its prompt was not computed again.
  const whole = await (await post(`${url}/v1/chat/completions`, ask)).json();
  for (const name of ["remote_engine_id", "remote_block_ids", "remote_host", "remote_port",
    "tp_size", "remote_request_id"]) assert(name in lastParams, name);
  assert.equal(lastParams.do_remote_prefill, true);
  assert.equal(lastParams.do_remote_decode, false);
  assert.equal(lastParams.remote_block_ids.length, Math.ceil(whole.usage.prompt_tokens / 16));
  assert.equal(whole.usage.completion_tokens, 12);
  assert.equal(whole.kv_transfer_params, undefined);
  const blocks = Math.floor((whole.usage.prompt_tokens - 1) / 16) * 16;
  assert.equal(whole.usage.prompt_tokens_details.cached_tokens, blocks);
  const direct = await (await post(`${decode}/v1/chat/completions`, ask)).json();
  assert.equal(direct.choices[0].message.content, whole.choices[0].message.content);

  // Streams: TTFT contains the transfer.
  for (let i = 2; i < 12; i++) {
    const started = performance.now();
    const answer = await post(`${url}/v1/completions`, { prompt: words(200 + i, i), stream: true,
      max_tokens: 5, ignore_eos: true }, { "x-request-id": `split-${i}` });
    let first = 0;
    let text = "";
    for await (const part of answer.body) {
      first = first || performance.now() - started;
      text += Buffer.from(part).toString();
    }
    assert(text.includes(`cmpl-split-${i}`) && text.endsWith("data: [DONE]\n\n"));
    assert(first >= latency, `TTFT ${first} ms`);
  }
  assert.equal(await metric(decode, "vllm:nixl_xfer_time_seconds_count"), 11);
  assert.equal(await metric(decode, "vllm:nixl_bytes_transferred_count"), 11);
  assert.equal(await metric(prefill, "vllm:nixl_xfer_time_seconds_count"), 0);
  const source = "vllm:prompt_tokens_by_source_total";
  const external = await metric(decode, source, 'source="external_kv_transfer"');
  const computed = await metric(decode, source, 'source="local_compute"');
  assert(external > 11 * 150 && computed <= 12 * 16, `${external} external, ${computed} computed`);
  assert.equal(await metric(prefill, "vllm:request_success_total", 'finished_reason="length"'), 11);
  assert.equal(await metric(prefill, "vllm:generation_tokens_total"), 11);

  // The instance as its own side-car: the header names the instance that prefills.
  const host = prefill.replace("http://", "");
  const helped = await (await post(`${decode}/v1/completions`, { prompt: words(120, 70),
    max_tokens: 7, ignore_eos: true }, { "x-prefiller-host-port": host })).json();
  assert.equal(helped.usage.completion_tokens, 7);
  assert.equal(helped.usage.prompt_tokens_details.cached_tokens,
    Math.floor((helped.usage.prompt_tokens - 1) / 16) * 16);
  assert.equal(await metric(decode, "vllm:nixl_xfer_time_seconds_count"), 12);
  assert.equal(await metric(prefill, "vllm:generation_tokens_total"), 12);
  const alone = await (await post(`${decode}/v1/completions`, { prompt: words(120, 71),
    max_tokens: 1 }, { "x-prefiller-host-port": "10.0.0.1:8000" })).json();
  assert.equal(alone.usage.prompt_tokens_details, undefined);

  // A ticket that nobody redeems keeps nothing, and one that is unknown costs the prefill.
  const kept = await (await post(`${prefill}/v1/completions`, prefillBody({
    prompt: words(100, 50) }))).json();
  assert(kept.kv_transfer_params.remote_block_ids.length > 0);
  assert.equal(await metric(prefill, "vllm:kv_cache_usage_perc"), 0);
  const lost = await (await post(`${decode}/v1/completions`, { prompt: words(150, 60),
    max_tokens: 1, kv_transfer_params: kept.kv_transfer_params })).json();
  assert.equal(lost.usage.prompt_tokens_details, undefined);
  console.log(`split: 11 prompts, ${external} tokens transferred, ${computed} computed`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
