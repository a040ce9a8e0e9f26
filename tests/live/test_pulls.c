/* A prompt that one instance computes, and another one continues: kv_transfer_params. */
#include "live/answer.h"
#include "live_scene.h"

enum { PREFILL, DECODE, LATENCY_US = 300000 };

static char body[4000];

static const char *body_of(int words, int max_tokens) {
  int length = snprintf(body, sizeof body,
                        "{\"ignore_eos\": true, \"max_tokens\": %d, \"prompt\": \"", max_tokens);
  for (int i = 0; i < words; i++) {
    length += snprintf(body + length, sizeof body - (size_t)length, "%04d", i * 7 % 5000);
  }
  snprintf(body + length, sizeof body - (size_t)length, "\"}");
  return body;
}

/* Submits a prompt to the instance that is to decode, with the KV of another engine. */
static const blis_live_choice *submit_pull(scene *sc, const char *text, blis_pull pull) {
  blis_error error;
  blis_live_refusal refusal;
  size_t count;
  CHECK(blis_live_ask_read(&sc->ask, BLIS_LIVE_COMPLETIONS, blis_live_desk_limits(sc->desk),
                           blis_slice_of(text), &refusal));
  const blis_live_submission submission = {
      .ask = &sc->ask, .call = sc, .instance = DECODE, .pull = pull};
  CHECK_OK(blis_live_desk_submit(sc->desk, &submission, sc->choices + sc->count, &count, &error),
           &error);
  sc->count += count;
  return sc->choices[sc->count - 1];
}

static void open_pulls(scene *sc) {
  const scene_options options = {
      .instances = 2, .pull_bytes_per_us = 1, .pull_latency_us = LATENCY_US};
  open_scene_with(sc, &options);
}

static const blis_live_histogram *pulls_of(const scene *sc, uint32_t instance) {
  return &blis_live_desk_meter(sc->desk, instance)->histograms[BLIS_LIVE_PULL_TIME];
}

static void test_the_transfer_replaces_the_prefill(void) {
  scene sc;
  open_pulls(&sc);
  submit(&sc, BLIS_LIVE_COMPLETIONS, body_of(100, 1), PREFILL);
  advance(&sc, 2000000);
  CHECK(sc.choices[0]->is_over);
  const blis_live_choice *decoded =
      submit_pull(&sc, body_of(100, 20), (blis_pull){.tokens = 112, .holder = PREFILL});
  advance(&sc, 9000000);
  CHECK(decoded->is_over);
  CHECK_EQ_I64(decoded->due_tokens, 20);
  CHECK_EQ_I64(decoded->cached_tokens, 96);
  CHECK(decoded->first_us - decoded->arrival_us >= LATENCY_US);
  CHECK_EQ_I64(pulls_of(&sc, DECODE)->count, 1);
  CHECK_EQ_I64(pulls_of(&sc, PREFILL)->count, 0);
  CHECK_EQ_I64(blis_live_desk_meter(sc.desk, DECODE)->external_tokens, 96);
  CHECK_EQ_I64(blis_live_desk_meter(sc.desk, DECODE)->cached_tokens, 0);
  close_all(&sc);
  close_scene(&sc);
}

static void test_what_is_missing_is_computed(void) {
  scene sc;
  open_pulls(&sc);
  /* The other instance has never seen the prompt. */
  const blis_live_choice *unknown =
      submit_pull(&sc, body_of(100, 2), (blis_pull){.tokens = 112, .holder = PREFILL});
  advance(&sc, 5000000);
  CHECK_EQ_I64(unknown->cached_tokens, 0);
  CHECK(unknown->first_us - unknown->arrival_us < LATENCY_US);
  /* An engine outside of the cluster has what it says, at most the prompt. */
  const blis_live_choice *outside =
      submit_pull(&sc, body_of(200, 2), (blis_pull){.tokens = 160, .holder = -1});
  advance(&sc, 9000000);
  CHECK_EQ_I64(outside->cached_tokens, 160);
  CHECK_EQ_I64(pulls_of(&sc, DECODE)->count, 1);
  /* The cache of the instance itself comes first. */
  const blis_live_choice *again =
      submit_pull(&sc, body_of(200, 2), (blis_pull){.tokens = 100000, .holder = -1});
  advance(&sc, 12000000);
  CHECK_EQ_I64(again->cached_tokens, 192);
  CHECK_EQ_I64(pulls_of(&sc, DECODE)->count, 1);
  close_all(&sc);
  close_scene(&sc);
}

static void test_a_client_may_leave_during_the_transfer(void) {
  scene sc;
  blis_error error;
  open_pulls(&sc);
  for (int i = 0; i < 3; i++) {
    submit_pull(&sc, body_of(100 + i, 20), (blis_pull){.tokens = 96, .holder = -1});
  }
  advance(&sc, LATENCY_US / 2);
  CHECK_EQ_I64(pulls_of(&sc, DECODE)->count, 3);
  close_all(&sc);
  advance(&sc, LATENCY_US / 2 + 1000);
  const blis_instance_load load =
      blis_instance_get_load(blis_cluster_instance(sc.s.cluster, DECODE));
  CHECK_EQ_I64(load.used_kv_blocks + load.queue_depth + load.batch_size, 0);
  submit_pull(&sc, body_of(300, 20), (blis_pull){.tokens = 96, .holder = -1});
  advance(&sc, LATENCY_US);
  CHECK_OK(blis_live_desk_sleep(sc.desk, DECODE, 1, &error), &error);
  advance(&sc, LATENCY_US * 4);
  CHECK(sc.choices[0]->is_over && sc.choices[0]->failure != NULL);
  close_all(&sc);
  close_scene(&sc);
}

static void test_parameters_are_read(void) {
  blis_live_ask ask;
  blis_live_refusal refusal;
  blis_alloc heap = blis_alloc_heap();
  const blis_live_limits limits = {
      .vocabulary = 1000, .max_model_len = 100, .models = scene_models, .model_count = 1};
  const struct {
    const char *params;
    bool has_decode;
    bool has_prefill;
    int64_t blocks;
    const char *engine;
  } cases[] = {
      {"{\"do_remote_decode\": true, \"do_remote_prefill\": false, \"remote_engine_id\": null, "
       "\"remote_block_ids\": null}",
       true, false, 0, ""},
      {"{\"do_remote_prefill\": true, \"remote_engine_id\": \"e\", \"remote_block_ids\": [4, 5]}",
       false, true, 2, "e"},
      {"{\"do_remote_prefill\": true, \"remote_block_ids\": [[4, 5, 6], [1]]}", false, true, 3, ""},
      {"{\"do_remote_prefill\": true, \"remote_block_ids\": \"x\", \"remote_engine_id\": 7}", false,
       true, 0, ""},
      {"[1]", false, false, 0, ""},
      {"null", false, false, 0, ""},
      {"{\"do_remote_prefill\": 5}", false, false, 0, ""},
  };
  blis_live_ask_init(&ask, &heap);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(body, sizeof body, "{\"prompt\": [1], \"kv_transfer_params\": %s}", cases[i].params);
    CHECK(blis_live_ask_read(&ask, BLIS_LIVE_COMPLETIONS, &limits, blis_slice_of(body), &refusal));
    CHECK_EQ_I64(ask.split.has_remote_decode, cases[i].has_decode);
    CHECK_EQ_I64(ask.split.has_remote_prefill, cases[i].has_prefill);
    CHECK_EQ_I64(ask.split.blocks, cases[i].blocks);
    CHECK(blis_slice_equals(ask.split.engine, cases[i].engine));
  }
  blis_live_ask_deinit(&ask);
}

int main(void) {
  RUN(test_the_transfer_replaces_the_prefill);
  RUN(test_what_is_missing_is_computed);
  RUN(test_a_client_may_leave_during_the_transfer);
  RUN(test_parameters_are_read);
  return check_done();
}
