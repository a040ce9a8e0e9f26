/*
 * What requests of a client are like: labels, deadlines, conversations, users,
 * prompts of several modalities; and that there is one list of requests, drawn
 * at once or one by one.
 */
#include <math.h>

#include "base/random.h"
#include "workload/go_blis.h"
#include "written_fixture.h"

#define SECOND INT64_C(1000000)

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define TOTALS "aggregate_rate: 1\nnum_requests: 6\n"
#define CLIENT                                                                                     \
  "clients:\n"                                                                                     \
  "  - id: a\n"                                                                                    \
  "    rate_fraction: 1\n"                                                                         \
  "    arrival: {process: constant}\n"                                                             \
  "    input_distribution: {type: constant, params: {value: 30}}\n"                                \
  "    output_distribution: {type: constant, params: {value: 4}}\n"
#define USERS                                                                                      \
  "num_requests: 40\n"                                                                             \
  "clients:\n"                                                                                     \
  "  - id: u\n"                                                                                    \
  "    concurrency: 3\n"                                                                           \
  "    think_time_us: 200\n"                                                                       \
  "    input_distribution: {type: constant, params: {value: 30}}\n"                                \
  "    output_distribution: {type: constant, params: {value: 4}}\n"

static request_list list;

static const blis_spec_settings compatible = {.rules = &blis_workload_go_blis};

/* What follows when a request ends well at a time; false when nothing does. */
static bool answer(const blis_request *request, int64_t end_us, blis_request *follow_up) {
  blis_error error;
  const blis_request_outcome outcome = {.end_us = end_us,
                                        .produced_tokens = (int64_t)request->output_tokens - 1,
                                        .is_completed = true};
  bool has_follow_up;
  CHECK_OK(
      list.source.ended(list.source.state, request, &outcome, follow_up, &has_follow_up, &error),
      &error);
  return has_follow_up;
}

/* Labels and deadlines. */

static void requests_have_the_labels_of_their_client(void) {
  list_requests(&list,
                TOTALS CLIENT "    tenant_id: ten\n"
                              "    slo_class: batch\n"
                              "    model: some/model\n"
                              "    adapter: lora\n"
                              "    streaming: true\n"
                              "    slo_target_us: 5000\n"
                              "    prefix_group: g\n"
                              "    prefix_length: 7\n"
                              "    timeout: 9\n",
                NULL);
  CHECK_EQ_I64(list.count, 6);
  for (size_t i = 0; i < list.count; i++) {
    const blis_request *r = &list.items[i];
    CHECK_STR(text_of(&list, r->client), "a");
    CHECK_STR(text_of(&list, r->tenant), "ten");
    CHECK_STR(text_of(&list, r->slo_class), "batch");
    CHECK_STR(text_of(&list, r->model), "some/model");
    CHECK_STR(text_of(&list, r->adapter), "lora");
    CHECK_STR(text_of(&list, r->prefix_group), "g");
    CHECK(r->is_streaming);
    CHECK_EQ_I64(r->slo_target_us, 5000);
    CHECK_EQ_I64(r->prefix_tokens, 7);
    CHECK_EQ_I64(r->prompt_tokens, 37);
    CHECK_EQ_I64(r->deadline_us, r->arrival_us + 9);
    CHECK_EQ_I64(r->max_output_tokens, 4);
    CHECK_EQ_I64(r->number, (int64_t)i);
  }
  free_requests(&list);
}

static void check_deadline(const char *text, const blis_spec_settings *settings,
                           int64_t timeout_us) {
  list_requests(&list, text, settings);
  CHECK(list.count > 0);
  const blis_request *r = &list.items[0];
  int64_t expected = timeout_us > 0 ? r->arrival_us + timeout_us : 0;
  CHECK_EQ_I64(r->deadline_us, expected);
  free_requests(&list);
}

static void sessions_have_a_deadline_unless_it_is_zero(void) {
  check_deadline(TOTALS CLIENT, NULL, 0);
  check_deadline(TOTALS CLIENT "    timeout: 0\n", NULL, 0);
  check_deadline(TOTALS CLIENT "    closed_loop: true\n", NULL, 300 * SECOND);
  check_deadline(USERS, NULL, 300 * SECOND);
  check_deadline(USERS "    timeout: 0\n", NULL, 0);
#define TURNS "    reasoning: {multi_turn: {max_rounds: 2}}\n"
  check_deadline(TOTALS CLIENT TURNS, NULL, 300 * SECOND);
  check_deadline(TOTALS CLIENT TURNS "    closed_loop: false\n", NULL, 0);
  check_deadline(TOTALS CLIENT TURNS "    timeout: 0\n", NULL, 0);
  check_deadline(TOTALS CLIENT TURNS "    timeout: 7\n", NULL, 7);
  check_deadline(TOTALS CLIENT TURNS "    closed_loop: false\n", &compatible, 300 * SECOND);
  check_deadline(TOTALS CLIENT, &compatible, 0);
  /* In windows with rates BLIS (Go) loses a client's, but not the run's. */
#define WINDOWS                                                                                    \
  "    lifecycle: {windows: [{start_us: 0, end_us: 9000000, trace_rate: "                          \
  "1}]}\n"
  check_deadline(TOTALS CLIENT WINDOWS "    timeout: 7\n", NULL, 7);
  check_deadline(TOTALS CLIENT WINDOWS "    timeout: 7\n", &compatible, 0);
  const blis_spec_settings nine = {
      .rules = &blis_workload_go_blis, .replaces_timeout = true, .timeout_us = 9};
  check_deadline(TOTALS CLIENT WINDOWS "    timeout: 7\n", &nine, 9);
  const blis_spec_settings none = {.replaces_timeout = true};
  check_deadline(TOTALS CLIENT TURNS, &none, 0);
}

/* Conversations. */

#define OPEN(keys)                                                                                 \
  TOTALS CLIENT "    prefix_group: g\n"                                                            \
                "    prefix_length: 7\n"                                                           \
                "    streaming: true\n"                                                            \
                "    slo_target_us: 5000\n"                                                        \
                "    closed_loop: false\n"                                                         \
                "    reasoning: {multi_turn: {" keys "}}\n"

/* Sessions start every second; a round comes 0.4 s and 4 us behind another. */
static void planned_rounds_have_planned_times(void) {
  for (int grows = 0; grows < 2; grows++) {
    list_requests(&list,
                  grows ? OPEN("max_rounds: 3, think_time_us: 400000, "
                               "context_growth: accumulate")
                        : OPEN("max_rounds: 3, think_time_us: 400000"),
                  NULL);
    CHECK_EQ_I64(list.count, 6);
    CHECK(list.source.ended == NULL);
    static const int rounds[] = {0, 1, 2, 0, 1, 2};
    for (size_t i = 0; i < 6; i++) {
      const blis_request *r = &list.items[i];
      int round = rounds[i];
      int64_t start_us = list.items[i < 3 ? 0 : 3].arrival_us;
      CHECK_EQ_I64(r->round_index, round);
      CHECK_EQ_I64(r->arrival_us, start_us + 400004 * round);
      CHECK_EQ_I64(r->prompt_tokens, grows ? 37 + 34 * round : 37);
      CHECK_EQ_I64(r->shared_tokens, grows ? r->prompt_tokens : 7);
      CHECK_EQ_I64(r->segment_count, grows ? 2 : 1);
      CHECK(r->shares_output == (grows && round < 2));
      CHECK(r->shares_last_output == (grows && round < 2));
      CHECK(r->is_streaming && r->slo_target_us == 5000);
      CHECK_EQ_I64(r->prefix_tokens, 7);
      CHECK_STR(text_of(&list, r->prefix_group), "g");
      CHECK(strncmp(text_of(&list, r->session), "sess_", 5) == 0);
      CHECK_EQ_I64(r->session, list.items[i < 3 ? 0 : 3].session);
    }
    CHECK(list.items[0].session != list.items[3].session);
    free_requests(&list);
  }
}

/* BLIS (Go) leaves out labels of rounds, but for the length of the prefix. */
static void rounds_lose_labels_as_in_go_blis(void) {
  list_requests(&list, OPEN("max_rounds: 3"), &compatible);
  const blis_request *r = &list.items[0];
  CHECK_STR(text_of(&list, r->prefix_group), "");
  CHECK_EQ_I64(r->prefix_tokens, 7);
  CHECK_EQ_I64(r->prompt_tokens, 37);
  CHECK(!r->is_streaming);
  CHECK_EQ_I64(r->slo_target_us, 5000);
  free_requests(&list);
#define WINDOW "    lifecycle: {windows: [{end_us: 9000000, trace_rate: 1}]}\n"
  list_requests(&list, OPEN("max_rounds: 1") WINDOW, &compatible);
  CHECK_EQ_I64(list.items[0].slo_target_us, 0);
  free_requests(&list);
  list_requests(&list, OPEN("max_rounds: 1") WINDOW, NULL);
  CHECK_EQ_I64(list.items[0].slo_target_us, 5000);
  free_requests(&list);
}

/* The second prompt of a client that asks for a prefix of its own length. */
static int64_t second_prompt(const char *own_length, bool grows,
                             const blis_spec_settings *settings) {
  char text[1200];
  snprintf(text, sizeof text,
           "%s    prefix_group: g\n    prefix_length: 64\n"
           "  - id: b\n    rate_fraction: 3\n"
           "    arrival: {process: constant}\n"
           "    input_distribution: {type: constant, params: {value: 30}}\n"
           "    output_distribution: {type: constant, params: {value: 4}}\n"
           "    prefix_group: g\n%s"
           "    reasoning: {multi_turn: {max_rounds: 2%s}}\n",
           TOTALS CLIENT, own_length, grows ? ", context_growth: accumulate" : "");
  list_requests(&list, text, settings);
  CHECK_EQ_I64(list.items[0].prompt_tokens, 64 + 30);
  blis_request second;
  CHECK(answer(&list.items[0], 5000000, &second));
  int64_t tokens = second.prompt_tokens;
  free_requests(&list);
  return tokens;
}

static void go_blis_cuts_the_prefixes_of_later_rounds(void) {
  static const struct {
    const char *own_length;
    int64_t expected; /* tokens of the prefix */
  } cases[] = {{"", 0},
               {"    prefix_length: 10\n", 10},
               {"    prefix_length: 64\n", 64},
               {"    prefix_length: 90\n", 64}};
  blis_spec_settings keeps = compatible;
  keeps.keeps_group_prefixes = true;
  for (size_t i = 0; i < COUNT(cases); i++) {
    const char *own = cases[i].own_length;
    CHECK_EQ_I64(second_prompt(own, false, &compatible), cases[i].expected + 30);
    CHECK_EQ_I64(second_prompt(own, false, &keeps), 64 + 30);
    CHECK_EQ_I64(second_prompt(own, false, NULL), 64 + 30);
    /* What was said begins with all of it. */
    CHECK_EQ_I64(second_prompt(own, true, &compatible), 64 + 30 + 3 + 30);
  }
}

static void rounds_end_at_the_horizon_and_are_dropped_between_windows(void) {
  blis_spec_settings settings = {.horizon_us = 1900000};
  list_requests(&list, OPEN("max_rounds: 9, think_time_us: 200000"), &settings);
  CHECK_EQ_I64(list.count, 5);
  CHECK(list.items[4].arrival_us < settings.horizon_us);
  free_requests(&list);
  list_requests(&list,
                OPEN("max_rounds: 9, think_time_us: 200000") "    lifecycle: {windows: "
                                                             "[{start_us: 900000, end_us: "
                                                             "1300000}, {start_us: "
                                                             "1500000, end_us: "
                                                             "1700000}]}\n",
                NULL);
  CHECK_EQ_I64(list.count, 3);
  static const int rounds[] = {0, 1, 3};
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_I64(list.items[i].round_index, rounds[i]);
  }
  free_requests(&list);
  /* Where rates vary, rounds end with their window. */
  list_requests(&list,
                OPEN("max_rounds: 9, think_time_us: 200000") "    lifecycle: {windows: "
                                                             "[{start_us: 900000, end_us: "
                                                             "2900000, trace_rate: 2}]}\n",
                NULL);
  for (size_t i = 0; i < list.count; i++) {
    CHECK(list.items[i].arrival_us < 2900000);
  }
  CHECK_EQ_I64(list.count, 6);
  free_requests(&list);
}

static void a_single_session_starts_once(void) {
  static const char turns[] = OPEN("max_rounds: 4, think_time_us: 200000, single_session: true");
  list_requests(&list, turns, NULL);
  CHECK_EQ_I64(list.count, 4);
  int64_t gap_us = list.items[0].arrival_us;
  CHECK(gap_us == 1000000 || gap_us == 999999);
  free_requests(&list);
  char text[2048];
  snprintf(text, sizeof text,
           "%s    lifecycle: {windows: [{start_us: 5000000, end_us: "
           "9000000}]}\n",
           turns);
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(list.count, 4);
  CHECK_EQ_I64(list.items[0].arrival_us, 5000000 + gap_us);
  free_requests(&list);
  snprintf(text, sizeof text,
           "%s    lifecycle: {windows: [{start_us: 5000000, end_us: "
           "5900000}, {start_us: 6100000, end_us: 9000000}]}\n",
           turns);
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(list.count, 0); /* it would start between the windows */
  free_requests(&list);
  snprintf(text, sizeof text,
           "%s    lifecycle: {windows: [{start_us: 5000000, end_us: 9000000, "
           "trace_rate: 3}]}\n",
           turns);
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(list.count, 4);
  free_requests(&list);
}

/* Reason ratios are percents, at most 100. */
static void check_ratio(const char *distribution, const blis_spec_settings *settings,
                        double expected) {
  char text[1024];
  snprintf(text, sizeof text,
           TOTALS CLIENT "    closed_loop: false\n"
                         "    reasoning: {multi_turn: {max_rounds: 2}, "
                         "reason_ratio_distribution: {%s}}\n",
           distribution);
  list_requests(&list, text, settings);
  for (size_t i = 0; i < list.count; i++) {
    CHECK_EQ_DOUBLE(list.items[i].reason_ratio, expected);
  }
  free_requests(&list);
}

static void ratios_of_reasoning_are_percents(void) {
  check_ratio("type: constant, params: {value: 50}", NULL, 0.5);
  check_ratio("type: constant, params: {value: 95}", NULL, 0.95);
  check_ratio("type: constant, params: {value: 250}", NULL, 1);
  check_ratio("type: constant, params: {value: 0}", NULL, 0);
  check_ratio("type: constant, params: {value: 0}", &compatible, 0.01);
  check_ratio("type: empirical, params: {\"0\": 1}", NULL, 0);
}

/* Closed loops. */

#define CLOSED(keys)                                                                               \
  TOTALS CLIENT "    prefix_group: g\n"                                                            \
                "    streaming: true\n"                                                            \
                "    reasoning: {multi_turn: {max_rounds: 3, think_time_us: 1000" keys "}}\n"

static void rounds_follow_on_answers(void) {
  list_requests(&list, CLOSED(", context_growth: accumulate"), NULL);
  CHECK_EQ_I64(list.count, 2); /* of six rounds, the first of each session */
  blis_request first = list.items[0];
  CHECK(first.shares_output && !first.shares_last_output);
  blis_request second;
  CHECK(answer(&first, 5000000, &second));
  CHECK_EQ_I64(second.arrival_us, 5001000);
  CHECK_EQ_I64(second.deadline_us, 305001000);
  /* The prefix, 30, 3 of the 4 that were answered, 30. */
  CHECK_EQ_I64(second.prompt_tokens, 50 + 63);
  CHECK_EQ_I64(second.round_index, 1);
  CHECK(second.is_streaming);
  CHECK_STR(text_of(&list, second.prefix_group), "g");
  blis_request third;
  CHECK(answer(&second, 6000000, &third));
  CHECK_EQ_I64(third.prompt_tokens, 50 + 96);
  CHECK(!third.shares_output);
  CHECK(!answer(&third, 7000000, &second));
  free_requests(&list);
}

static void follow_ups_lose_labels_as_in_go_blis(void) {
  list_requests(&list, CLOSED(""), &compatible);
  blis_request second;
  CHECK(answer(&list.items[0], 5000000, &second));
  CHECK(!second.is_streaming);
  CHECK_STR(text_of(&list, second.prefix_group), "");
  CHECK_EQ_I64(list.items[0].prompt_tokens, 80);
  CHECK_EQ_I64(second.prompt_tokens, 30); /* the default prefix is lost */
  free_requests(&list);
  list_requests(&list, CLOSED(""), NULL);
  CHECK(answer(&list.items[0], 5000000, &second));
  CHECK_EQ_I64(second.prompt_tokens, 80);
  free_requests(&list);
}

static void nothing_follows_behind_the_horizon(void) {
  const blis_spec_settings settings = {.horizon_us = 5001000};
  blis_request second;
  list_requests(&list, CLOSED(""), &settings);
  CHECK(answer(&list.items[0], 5000000, &second)); /* right on it */
  free_requests(&list);
  list_requests(&list, CLOSED(""), &settings);
  CHECK(!answer(&list.items[0], 5000001, &second));
  free_requests(&list);
}

/* Users. */

static void users_start_one_after_the_other(void) {
  list_requests(&list, USERS, NULL);
  CHECK_EQ_I64(list.count, 3);
  static const int64_t starts_us[] = {0, 66, 133};
  for (size_t i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "concurrency_u_user_%zu", i);
    CHECK_EQ_I64(list.items[i].arrival_us, starts_us[i]);
    CHECK_STR(text_of(&list, list.items[i].session), name);
  }
  blis_request next = list.items[1];
  for (int64_t i = 0; i < 37; i++) {
    blis_request follow_up;
    CHECK(answer(&next, 1000 * (i + 1), &follow_up));
    CHECK_EQ_I64(follow_up.arrival_us, 1000 * (i + 1) + 200);
    next = follow_up;
  }
  blis_request none;
  CHECK(!answer(&next, 1000000, &none)); /* 40 requests are all there are */
  free_requests(&list);
}

/* Modalities. */

#define IMAGES                                                                                     \
  "    multimodal:\n"                                                                              \
  "      text_distribution: {type: constant, params: {value: 11}}\n"                               \
  "      image_distribution: {type: constant, params: {value: 100}}\n"                             \
  "      image_count_distribution: {type: empirical, params: {\"0\": 1, "                          \
  "\"2\": 1}}\n"                                                                                   \
  "      audio_distribution: {type: constant, params: {value: 1000}}\n"                            \
  "      audio_count_distribution: {type: constant, params: {value: 3}}\n"                         \
  "      video_distribution: {type: constant, params: {value: 20000}}\n"                           \
  "      video_count_distribution: {type: constant, params: {value: 1}}\n"

/* Returns whether there are images in it. */
static bool check_parts(const blis_request *r) {
  CHECK_EQ_I64(r->text_tokens, 11);
  CHECK(r->image_tokens == 0 || r->image_tokens == 200);
  CHECK_EQ_I64(r->audio_tokens, 3000);
  CHECK_EQ_I64(r->video_tokens, 20000);
  CHECK_EQ_I64(r->prompt_tokens - r->shared_tokens, 23011 + r->image_tokens);
  CHECK_EQ_I64(r->output_tokens, 4);
  return r->image_tokens > 0;
}

static void prompts_have_parts_of_every_modality(void) {
  static const char *const texts[] = {
      "aggregate_rate: 1\nnum_requests: 400\n" CLIENT IMAGES "    prefix_group: g\n",
      /* Also where rates vary. */
      "num_requests: 400\n" CLIENT IMAGES
      "    lifecycle: {windows: [{end_us: 400000000, trace_rate: 1}]}\n"};
  for (size_t i = 0; i < COUNT(texts); i++) {
    list_requests(&list, texts[i], NULL);
    CHECK_EQ_I64(list.count, 400);
    int64_t with_images = 0;
    for (size_t k = 0; k < list.count; k++) {
      CHECK_EQ_I64(list.items[k].shared_tokens, i == 0 ? 50 : 0);
      with_images += check_parts(&list.items[k]);
    }
    CHECK(with_images > 160 && with_images < 240); /* standard deviation 10 */
    free_requests(&list);
  }
  list_requests(&list, texts[1], &compatible); /* text alone there */
  CHECK_EQ_I64(list.items[0].prompt_tokens, 30);
  CHECK_EQ_I64(list.items[0].video_tokens, 0);
  free_requests(&list);
}

static void every_request_of_a_user_has_parts(void) {
  list_requests(&list, USERS IMAGES, NULL);
  blis_request next = list.items[0];
  int with_images = check_parts(&next);
  for (int64_t i = 0; i < 30; i++) {
    blis_request follow_up;
    CHECK(answer(&next, 1000 * (i + 1), &follow_up));
    with_images += check_parts(&follow_up);
    next = follow_up;
  }
  CHECK(with_images > 2 && with_images < 29);
  free_requests(&list);
  list_requests(&list, USERS IMAGES, &compatible);
  CHECK_EQ_I64(list.items[0].prompt_tokens, 30);
  CHECK_EQ_I64(list.items[0].audio_tokens, 0);
  free_requests(&list);
}

static void a_prompt_without_parts_has_one_token(void) {
  list_requests(&list,
                TOTALS CLIENT "    multimodal: {image_distribution: {type: constant, params: "
                              "{value: 9}}, image_count_distribution: {type: empirical, "
                              "params: {\"0\": 1}}}\n",
                NULL);
  CHECK_EQ_I64(list.items[0].prompt_tokens, 1);
  CHECK_EQ_I64(list.items[0].image_tokens, 0);
  free_requests(&list);
}

static void modalities_take_the_place_of_the_input(void) {
  list_requests(&list,
                TOTALS "clients:\n"
                       "  - rate_fraction: 1\n"
                       "    arrival: {process: poisson}\n"
                       "    output_distribution: {type: constant, params: {value: "
                       "4}}\n" IMAGES,
                NULL);
  check_parts(&list.items[0]);
  free_requests(&list);
}

static void prompts_of_too_many_tokens_are_errors(void) {
  static const char *const texts[] = {
      "image_distribution: {type: constant, params: {value: 600000000}}, "
      "image_count_distribution: {type: constant, params: {value: 2}}",
      "image_distribution: {type: empirical, params: {\"0\": 1}}, "
      "image_count_distribution: {type: constant, params: {value: 1.0e+12}}",
      "text_distribution: {type: constant, params: {value: 600000000}}, "
      "image_distribution: {type: constant, params: {value: 600000000}}, "
      "image_count_distribution: {type: constant, params: {value: 1}}"};
  static const char *const parts[] = {
      "client 1 ('a'): a multimodal prompt has at least 1200000000 tokens of "
      "image; at most 1000000000",
      "has at least 1e+12 tokens of image", "has at least 1200000000 tokens; "};
  for (size_t i = 0; i < COUNT(texts); i++) {
    char text[1024];
    snprintf(text, sizeof text, TOTALS CLIENT "    multimodal: {%s}\n", texts[i]);
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_written_spec *written = must_read(&alloc, text, NULL);
    blis_generator *generator;
    blis_error error;
    CHECK_STATUS(blis_generator_new(&alloc, blis_written_spec_get(written), &generator, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, parts[i]);
    blis_written_spec_free(written);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

/* At once and one by one. */

static const char *pick(blis_random *random, const char *const *texts, int count) {
  return texts[blis_random_intn(random, count)];
}

static void write_random(blis_random *random, char text[4096]) {
  static const char *const arrivals[] = {"{process: constant}", "{process: poisson}",
                                         "{process: gamma, cv: 2}", "{process: weibull, cv: 0.5}"};
  static const char *const lengths[] = {"{type: exponential, params: {mean: 20}}",
                                        "{type: constant, params: {value: 5}}",
                                        "{type: lognormal, params: {mu: 3, sigma: 1}}"};
  static const char *const prefixes[] = {"", "    prefix_group: g\n", "    prefix_group: h\n"};
  int length = snprintf(text, 4096,
                        "seed: %d\naggregate_rate: %d\nnum_requests: %d\n"
                        "clients:\n",
                        blis_random_intn(random, 1000), 1 + blis_random_intn(random, 100000),
                        1 + blis_random_intn(random, 40));
  int clients = 1 + blis_random_intn(random, 6);
  for (int i = 0; i < clients; i++) {
    length += snprintf(text + length, 4096 - (size_t)length,
                       "  - id: c%d\n"
                       "    rate_fraction: %d\n"
                       "    arrival: %s\n"
                       "    input_distribution: %s\n"
                       "    output_distribution: %s\n%s",
                       i, 1 + blis_random_intn(random, 50), pick(random, arrivals, COUNT(arrivals)),
                       pick(random, lengths, COUNT(lengths)), pick(random, lengths, COUNT(lengths)),
                       pick(random, prefixes, COUNT(prefixes)));
  }
}

/* Kept tokens and lists that are cut while they grow change no request. */
static void requests_are_the_same_at_once_and_one_by_one(void) {
  static request_list kept;
  blis_random random;
  blis_random_init(&random, 3);
  for (int round = 0; round < 300; round++) {
    char text[4096];
    write_random(&random, text);
    blis_spec_settings settings = {.lazy_tokens = round % 2 == 1, .replaces_tokens = true};
    list_requests(&list, text, &settings);
    settings.keep_tokens = true;
    list_requests(&kept, text, &settings);
    CHECK_EQ_I64(list.count, kept.count);
    for (size_t i = 0; i < list.count; i++) {
      const blis_request *a = &list.items[i];
      const blis_request *b = &kept.items[i];
      CHECK_EQ_I64(a->arrival_us, b->arrival_us);
      CHECK_EQ_I64(a->prompt_tokens, b->prompt_tokens);
      CHECK_EQ_I64(a->output_tokens, b->output_tokens);
      CHECK_EQ_I64(a->shared_tokens, b->shared_tokens);
      CHECK_STR(text_of(&list, a->client), text_of(&kept, b->client));
    }
    free_requests(&list);
    free_requests(&kept);
  }
}

/* Two streams of one seed: were they the same, gaps would be lengths. */
static void lazy_lengths_do_not_depend_on_arrivals(void) {
  static const blis_spec_settings settings = {.lazy_tokens = true, .replaces_tokens = true};
  list_requests(&list,
                "aggregate_rate: 1000\nnum_requests: 4000\n"
                "clients:\n"
                "  - rate_fraction: 1\n"
                "    arrival: {process: poisson}\n"
                "    input_distribution: {type: exponential, params: {mean: "
                "1000}}\n"
                "    output_distribution: {type: constant, params: {value: "
                "1}}\n",
                &settings);
  double gaps = 0;
  double lengths = 0;
  double products = 0;
  for (size_t i = 0; i < list.count; i++) {
    int64_t before_us = i > 0 ? list.items[i - 1].arrival_us : 0;
    double gap = (double)(list.items[i].arrival_us - before_us);
    gaps += gap;
    lengths += list.items[i].prompt_tokens;
    products += gap * list.items[i].prompt_tokens;
  }
  double n = (double)list.count;
  double correlation = (products / n - gaps / n * (lengths / n)) / 1e6;
  CHECK(fabs(correlation) < 5 / sqrt(n)); /* in standard deviations */
  free_requests(&list);
}

int main(void) {
  RUN(requests_have_the_labels_of_their_client);
  RUN(sessions_have_a_deadline_unless_it_is_zero);
  RUN(planned_rounds_have_planned_times);
  RUN(rounds_lose_labels_as_in_go_blis);
  RUN(go_blis_cuts_the_prefixes_of_later_rounds);
  RUN(rounds_end_at_the_horizon_and_are_dropped_between_windows);
  RUN(a_single_session_starts_once);
  RUN(ratios_of_reasoning_are_percents);
  RUN(rounds_follow_on_answers);
  RUN(follow_ups_lose_labels_as_in_go_blis);
  RUN(nothing_follows_behind_the_horizon);
  RUN(users_start_one_after_the_other);
  RUN(prompts_have_parts_of_every_modality);
  RUN(every_request_of_a_user_has_parts);
  RUN(a_prompt_without_parts_has_one_token);
  RUN(modalities_take_the_place_of_the_input);
  RUN(prompts_of_too_many_tokens_are_errors);
  RUN(requests_are_the_same_at_once_and_one_by_one);
  RUN(lazy_lengths_do_not_depend_on_arrivals);
  return check_done();
}
