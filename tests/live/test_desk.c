/* A desk in virtual time: what clients receive, and when, and their answers as JSON. */
#include "live/desk.h"

#include "live/answer.h"
#include "live_scene.h"

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

static void test_adapters_come_and_go(void) {
  static const uint32_t lengths[] = {4};
  static const char *const names[] = {"one", "two"};
  blis_alloc heap = blis_alloc_heap();
  blis_live_desk *desk;
  blis_live_refusal refusal;
  blis_error error;
  const blis_live_desk_config config = {.limits = {.vocabulary = 128256,
                                                   .max_model_len = 50,
                                                   .models = scene_models,
                                                   .model_count = 1},
                                        .block_tokens = 16,
                                        .lengths = lengths,
                                        .length_count = 1,
                                        .instance_count = 1,
                                        .adapters = names,
                                        .adapter_count = 2};
  CHECK_OK(blis_live_desk_new(&heap, &config, &desk, &error), &error);
  const blis_live_limits *limits = blis_live_desk_limits(desk);
  CHECK(!blis_live_desk_load_adapter(desk, blis_slice_of("two"), &refusal));
  CHECK_CONTAINS(refusal.message, "already been loaded");
  CHECK(!blis_live_desk_load_adapter(desk, blis_slice_of("new"), &refusal));
  CHECK_CONTAINS(refusal.message, "all 2 adapters");
  CHECK(blis_live_desk_unload_adapter(desk, blis_slice_of("one"), &refusal));
  CHECK(blis_live_desk_unload_adapter(desk, blis_slice_of("two"), &refusal));
  CHECK(!blis_live_desk_unload_adapter(desk, blis_slice_of("two"), &refusal));
  CHECK_EQ_I64(refusal.status, 404);
  CHECK(!blis_live_desk_unload_adapter(desk, blis_slice_of(""), &refusal));
  CHECK(blis_live_desk_load_adapter(desk, blis_slice_of("two"), &refusal)); /* its own place */
  CHECK_STR(limits->adapters[1].name, "two");
  CHECK(blis_live_desk_load_adapter(desk, blis_slice_of("new"), &refusal));
  CHECK_STR(limits->adapters[0].name, "new");
  CHECK_STR(limits->adapters[0].own_name, "one");
  blis_live_desk_free(desk);
}

static void test_a_sleeping_instance_loses_its_requests(void) {
  scene sc;
  blis_error error;
  open_scene(&sc, 1);
  submit(&sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": \"Hello\", \"max_tokens\": 4000, \"ignore_eos\": true}", -1);
  advance(&sc, 200000);
  CHECK_EQ_I64(blis_live_desk_sleep_level(sc.desk, 0), 0);
  CHECK_OK(blis_live_desk_sleep(sc.desk, 0, 2, &error), &error);
  advance(&sc, 300000);
  CHECK(sc.choices[0]->is_over && sc.choices[0]->failure != NULL);
  CHECK_EQ_I64(blis_live_desk_sleep_level(sc.desk, 0), 2);
  CHECK_OK(blis_live_desk_sleep(sc.desk, 0, 0, &error), &error);
  CHECK_OK(blis_live_desk_sleep(sc.desk, 0, 0, &error), &error);
  submit(&sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": \"Hello\", \"max_tokens\": 4, \"ignore_eos\": true}", -1);
  advance(&sc, 5000000);
  CHECK_EQ_I64(sc.choices[1]->finish, BLIS_LIVE_LENGTH);
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

int main(void) {
  RUN(test_tokens_are_due_when_they_are_computed);
  RUN(test_a_port_chooses_its_instance);
  RUN(test_a_client_that_leaves_frees_everything);
  RUN(test_a_reply_as_history_is_cached);
  RUN(test_a_stop_text_ends_the_answer);
  RUN(test_instances_may_come_later);
  RUN(test_adapters_come_and_go);
  RUN(test_a_sleeping_instance_loses_its_requests);
  RUN(test_answers_are_json);
  return check_done();
}
