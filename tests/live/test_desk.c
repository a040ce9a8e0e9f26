/* A desk in virtual time: what clients receive, and when; their answers as JSON; and metrics. */
#include "live/desk.h"

#include "base/time.h"
#include "cluster_fixture.h"
#include "live/answer.h"

static const char *const models[] = {"m"};

/* A desk, its cluster, and its clients. */
typedef struct scene {
  site s; /* only its latency model, records, and instances */
  blis_live_desk *desk;
  blis_request_source source;
  blis_live_ask ask;
  blis_live_choice *choices[BLIS_LIVE_CHOICES_MAX];
  size_t count;
  int64_t changes;
  int64_t over;
} scene;

static void changed(void *ud, blis_live_choice *choice) {
  scene *sc = ud;
  CHECK(choice->call == sc);
  sc->changes++;
  sc->over += choice->is_over;
}

static void open_scene(scene *sc, uint32_t instances) {
  static const uint32_t lengths[] = {4, 9};
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  *sc = (scene){.count = 0};
  site_init(&sc->s, heap, instances);
  for (uint32_t i = 0; i < instances; i++) {
    sc->s.instances[i].rules = (blis_engine_rules){.leaves_at_step_end = true,
                                                   .resumes_preempted = true,
                                                   .recomputes_last_token = true,
                                                   .drops_last_kv = true};
  }
  const blis_live_desk_config config = {
      .limits = {.vocabulary = 128256, .max_model_len = 5000, .models = models, .model_count = 1},
      .block_tokens = 16,
      .seed = 1,
      .lengths = lengths,
      .length_count = 2,
      .instance_count = instances};
  CHECK_OK(blis_live_desk_new(&heap, &config, &sc->desk, &error), &error);
  blis_live_ask_init(&sc->ask, &heap);
  blis_router router = {0};
  blis_policy_context context = site_context(&sc->s);
  CHECK_OK(blis_router_create(&heap, "round-robin", NULL, &context, &router, &error), &error);
  CHECK_OK(site_prepare(&sc->s, &error), &error);
  sc->source = blis_live_desk_source(sc->desk);
  sc->s.config.options[BLIS_FEATURE_TOKENS] = blis_live_desk_sink(sc->desk);
  CHECK_OK(blis_cluster_new(&heap, &sc->s.config, &router, &sc->source,
                            blis_recorder_sink(sc->s.recorder), &sc->s.itl_us, &sc->s.cluster,
                            &error),
           &error);
  blis_live_desk_open(sc->desk, sc->s.cluster, &(blis_live_caller){.ud = sc, .changed = changed});
}

static void close_scene(scene *sc) {
  site_deinit(&sc->s);
  blis_live_desk_free(sc->desk);
  blis_live_ask_deinit(&sc->ask);
}

static void submit(scene *sc, blis_live_api api, const char *body, int64_t instance) {
  blis_error error;
  blis_live_refusal refusal;
  size_t count;
  CHECK(blis_live_ask_read(&sc->ask, api, blis_live_desk_limits(sc->desk), blis_slice_of(body),
                           &refusal));
  const blis_live_submission submission = {.ask = &sc->ask, .call = sc, .instance = instance};
  CHECK_OK(blis_live_desk_submit(sc->desk, &submission, sc->choices + sc->count, &count, &error),
           &error);
  sc->count += count;
}

static void advance(scene *sc, int64_t now_us) {
  blis_error error;
  CHECK_OK(blis_live_desk_advance(sc->desk, now_us, &error), &error);
}

static void close_all(scene *sc) {
  blis_error error;
  for (size_t i = 0; i < sc->count; i++) {
    CHECK_OK(blis_live_desk_close_choice(sc->desk, sc->choices[i], &error), &error);
  }
  sc->count = 0;
}

static void test_tokens_are_due_when_they_are_computed(void) {
  scene sc;
  open_scene(&sc, 1);
  advance(&sc, 999);
  submit(&sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": \"Hello\", \"max_tokens\": 5, \"ignore_eos\": true}", -1);
  const blis_live_choice *choice = sc.choices[0];
  uint32_t seen = 0;
  while (!choice->is_over) {
    int64_t next_us = blis_live_desk_next_us(sc.desk);
    CHECK(next_us < BLIS_TIME_NEVER_US);
    advance(&sc, next_us);
    CHECK(choice->due_tokens <= seen + 1);
    CHECK(choice->due_tokens == seen || choice->last_us == next_us);
    seen = choice->due_tokens;
  }
  CHECK_EQ_I64(seen, 5);
  CHECK_EQ_I64(choice->arrival_us, 1000);
  CHECK_EQ_I64(choice->finish, BLIS_LIVE_LENGTH);
  const blis_record record = site_records(&sc.s)[0];
  CHECK_EQ_I64(choice->first_us, 1000 + record.ttft_us);
  CHECK_EQ_I64(choice->last_us, 1000 + record.e2e_us);
  CHECK_EQ_I64(blis_live_desk_open_choices(sc.desk), 0);
  close_all(&sc);
  close_scene(&sc);
}

static void test_a_port_chooses_its_instance(void) {
  scene sc;
  open_scene(&sc, 3);
  for (int i = 0; i < 6; i++) {
    submit(&sc, BLIS_LIVE_COMPLETIONS, "{\"prompt\": [5, 6, 7], \"n\": 2}", 2);
  }
  submit(&sc, BLIS_LIVE_COMPLETIONS, "{\"prompt\": [5, 6, 7]}", -1);
  CHECK_EQ_I64(blis_live_desk_load(sc.desk, -1), 13);
  advance(&sc, 10000000);
  CHECK_EQ_I64(sc.over, 13);
  for (size_t i = 0; i < 12; i++) {
    CHECK_EQ_I64(sc.choices[i]->instance, 2);
    CHECK_EQ_I64(sc.choices[i]->index, i % 2);
    CHECK_EQ_I64(sc.choices[i]->finish, BLIS_LIVE_STOP);
  }
  CHECK(sc.choices[12]->instance != 2);
  size_t count;
  const int64_t *pins = blis_live_desk_pins(sc.desk, &count);
  CHECK_EQ_I64(count, 24);
  CHECK_EQ_I64(pins[23], 2);
  close_all(&sc);
  close_scene(&sc);
}

static void test_a_client_that_leaves_frees_everything(void) {
  scene sc;
  open_scene(&sc, 1);
  for (int i = 0; i < 20; i++) {
    submit(&sc, BLIS_LIVE_COMPLETIONS,
           "{\"prompt\": \"Hello\", \"max_tokens\": 4000, \"ignore_eos\": true}", -1);
  }
  advance(&sc, 500000);
  CHECK(blis_instance_get_load(blis_cluster_instance(sc.s.cluster, 0)).batch_size > 0);
  close_all(&sc);
  advance(&sc, 520000);
  const blis_instance_load load = blis_instance_get_load(blis_cluster_instance(sc.s.cluster, 0));
  CHECK_EQ_I64(load.batch_size + load.queue_depth + load.used_kv_blocks, 0);
  CHECK_EQ_I64(blis_live_desk_open_choices(sc.desk), 0);
  CHECK_EQ_I64(blis_live_desk_meter(sc.desk, 0)->finished[BLIS_LIVE_ABORT], 20);
  close_scene(&sc);
}

static void test_a_reply_as_history_is_cached(void) {
  scene sc;
  blis_buffer text;
  blis_alloc heap = blis_alloc_heap();
  open_scene(&sc, 1);
  blis_buffer_init(&text, &heap);
  submit(&sc, BLIS_LIVE_CHAT,
         "{\"messages\": [{\"role\": \"user\", \"content\": \"Tell me something about the blue "
         "whale, please\"}], \"max_tokens\": 100, \"ignore_eos\": true}",
         -1);
  advance(&sc, 5000000);
  const blis_live_choice *first = sc.choices[0];
  CHECK_EQ_I64(first->cached_tokens, 0);
  blis_buffer_string(&text, "{\"messages\": [{\"role\": \"user\", \"content\": \"Tell me something "
                            "about the blue whale, please\"}, {\"role\": \"assistant\", "
                            "\"content\": \"");
  for (uint32_t i = 0; i < 100; i++) {
    char word[BLIS_LIVE_WORD_BYTES];
    blis_live_word(blis_live_reply_token(first->seed, i), word);
    blis_buffer_bytes(&text, word, sizeof word);
  }
  blis_buffer_string(&text, "\"}, {\"role\": \"user\", \"content\": \"And the red one?\"}]}");
  submit(&sc, BLIS_LIVE_CHAT, blis_buffer_text(&text), -1);
  advance(&sc, 10000000);
  CHECK_EQ_I64(sc.choices[1]->cached_tokens, (first->prompt_tokens + 99) / 16 * 16);
  blis_buffer_deinit(&text);
  close_all(&sc);
  close_scene(&sc);
}

static void test_a_stop_text_ends_the_answer(void) {
  scene sc;
  open_scene(&sc, 1);
  const char *body = "{\"prompt\": \"x\", \"max_tokens\": 300, \"ignore_eos\": true}";
  submit(&sc, BLIS_LIVE_COMPLETIONS, body, -1);
  char stop[6] = {0}; /* the end of token 199 and the start of token 200 */
  char words[2 * BLIS_LIVE_WORD_BYTES];
  blis_live_word(blis_live_reply_token(sc.choices[0]->seed, 199), words);
  blis_live_word(blis_live_reply_token(sc.choices[0]->seed, 200), words + BLIS_LIVE_WORD_BYTES);
  memcpy(stop, words + 2, 5);
  char again[200];
  snprintf(again, sizeof again,
           "{\"prompt\": \"x\", \"max_tokens\": 300, \"ignore_eos\": true, \"stop\": [\"%s\"]}",
           stop);
  submit(&sc, BLIS_LIVE_COMPLETIONS, again, -1);
  CHECK_EQ_I64(sc.choices[1]->seed, sc.choices[0]->seed);
  CHECK_EQ_I64(sc.choices[1]->planned_tokens, 201);
  CHECK_EQ_I64(sc.choices[1]->text_bytes, 199 * 4 + 2);
  advance(&sc, 10000000);
  CHECK_EQ_I64(sc.choices[1]->finish, BLIS_LIVE_STOP);
  CHECK_EQ_I64(sc.choices[0]->finish, BLIS_LIVE_LENGTH);
  close_all(&sc);
  close_scene(&sc);
}

/* As an autoscaler starts them. */
static void test_instances_may_come_later(void) {
  scene sc;
  blis_error error;
  open_scene(&sc, 1);
  submit(&sc, BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"x\"}", -1);
  const blis_token_sink *sink = blis_live_desk_sink(sc.desk);
  const blis_token token = {.request = 0, .number = 1, .at_us = 1, .instance = 40};
  CHECK_EQ_I64(blis_live_desk_load(sc.desk, 40), 0);
  CHECK_EQ_I64(blis_live_desk_meter(sc.desk, 40)->generation_tokens, 0);
  CHECK_OK(sink->token(sink->ud, &token, &error), &error);
  CHECK_EQ_I64(blis_live_desk_load(sc.desk, 40), 1);
  advance(&sc, 5000000);
  CHECK_EQ_I64(blis_live_desk_load(sc.desk, 40), 0);
  CHECK_EQ_I64(blis_live_desk_meter(sc.desk, 0)->generation_tokens, sc.choices[0]->due_tokens);
  close_all(&sc);
  close_scene(&sc);
}

/* Answers. */

static void check_json(const char *text, size_t length) {
  blis_json json;
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  blis_json_init(&json, &heap);
  CHECK_OK(blis_json_parse(&json, "answer", 1, (blis_slice){text, length}, &error), &error);
  blis_json_deinit(&json);
}

/* Every event is JSON or [DONE]; returns how many there are. */
static int check_events(const char *text) {
  int count = 0;
  while (*text != '\0') {
    const char *end = strstr(text, "\n\n");
    CHECK(end != NULL && strncmp(text, "data: ", 6) == 0);
    if (strncmp(text + 6, "[DONE]", 6) != 0) {
      check_json(text + 6, (size_t)(end - text) - 6);
    }
    count++;
    text = end + 2;
  }
  return count;
}

static void test_answers_are_json(void) {
  static const char *const bodies[] = {
      "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"max_tokens\": 4, "
      "\"ignore_eos\": true, \"stream\": true, \"stream_options\": {\"include_usage\": true, "
      "\"continuous_usage_stats\": true}}",
      "{\"prompt\": \"x\\\"y\", \"max_tokens\": 4, \"ignore_eos\": true, \"stream\": true, "
      "\"stop\": \"\\\"\\n\", \"echo\": true, \"return_token_ids\": true}",
      "{\"text\": \"x\", \"sampling_params\": {\"max_new_tokens\": 4, \"ignore_eos\": true}, "
      "\"stream\": true}"};
  static const blis_live_api apis[] = {BLIS_LIVE_CHAT, BLIS_LIVE_COMPLETIONS, BLIS_LIVE_GENERATE};
  static const int events[] = {1 + 4 + 1 + 1, 4 + 1, 4 + 1};
  blis_alloc heap = blis_alloc_heap();
  for (int k = 0; k < 3; k++) {
    scene sc;
    blis_buffer text;
    blis_live_answer answer = {0};
    open_scene(&sc, 1);
    blis_buffer_init(&text, &heap);
    submit(&sc, apis[k], bodies[k], -1);
    CHECK(blis_live_answer_init(&answer, &heap, &sc.ask, "id-1", 17, true) == BLIS_OK);
    for (uint32_t sent = 0; !sc.choices[0]->is_over;) {
      advance(&sc, blis_live_desk_next_us(sc.desk));
      if (sc.choices[0]->due_tokens > sent) {
        blis_live_write_event(&text, &answer, sc.choices[0], sent);
        sent = sc.choices[0]->due_tokens;
      }
    }
    const blis_live_choice *const *choices = (const blis_live_choice *const *)sc.choices;
    blis_live_write_end(&text, &answer, choices, 1);
    CHECK_EQ_I64(check_events(blis_buffer_text(&text)), events[k]);
    blis_buffer_clear(&text);
    blis_live_write_whole(&text, &answer, choices, 1);
    check_json(text.data, text.length);
    CHECK_CONTAINS(blis_buffer_text(&text), "\"completion_tokens\":4");
    blis_live_answer_deinit(&answer);
    blis_buffer_deinit(&text);
    close_all(&sc);
    close_scene(&sc);
  }
}

static void test_metrics_count_what_happened(void) {
  scene sc;
  blis_buffer text;
  blis_alloc heap = blis_alloc_heap();
  open_scene(&sc, 1);
  blis_buffer_init(&text, &heap);
  submit(&sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": [1, 2, 3], \"max_tokens\": 4, \"ignore_eos\": true, \"n\": 3}", -1);
  advance(&sc, 5000000);
  const blis_live_metered metered = {.meter = blis_live_desk_meter(sc.desk, 0),
                                     .instance = blis_cluster_instance(sc.s.cluster, 0)};
  const blis_live_page page = {.model = "a\"b\\c\nd",
                               .instances = &metered,
                               .count = 1,
                               .max_model_len = 5000,
                               .time_scale = 2};
  blis_live_write_metrics(&text, &page);
  static const char *const lines[] = {
      "# TYPE vllm:num_requests_running gauge\n",
      "vllm:generation_tokens_total{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\"} 12.0\n",
      "vllm:request_success_total{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\",finished_reason="
      "\"length\"} 3.0\n",
      "vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\",le=\"2.0\"} "
      "0.0\n",
      "vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\",le=\"5.0\"} "
      "3.0\n",
      "vllm:inter_token_latency_seconds_count{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\"} 9.0\n",
      ",le=\"+Inf\"} 9.0\n",
      "blis:live_time_scale 2.0\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    CHECK_CONTAINS(blis_buffer_text(&text), lines[i]);
  }
  CHECK(strstr(blis_buffer_text(&text), "request_prompt_tokens_bucket{engine=\"0\",model_name="
                                        "\"a\\\"b\\\\c\\nd\",le=\"10000.0\"}") == NULL);
  blis_buffer_deinit(&text);
  close_all(&sc);
  close_scene(&sc);
}

int main(void) {
  RUN(test_tokens_are_due_when_they_are_computed);
  RUN(test_a_port_chooses_its_instance);
  RUN(test_a_client_that_leaves_frees_everything);
  RUN(test_a_reply_as_history_is_cached);
  RUN(test_a_stop_text_ends_the_answer);
  RUN(test_instances_may_come_later);
  RUN(test_answers_are_json);
  RUN(test_metrics_count_what_happened);
  return check_done();
}
