/* What inference-perf asks for, as clients. */
#include "workload/go_blis.h"
#include "workload/spec/inference_perf.h"

#include "written_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define PREFIX(keys)                                                                               \
  "  shared_prefix: {num_unique_system_prompts: 2, "                                               \
  "num_users_per_system_prompt: 2, question_len: 10, output_len: 5" keys "}\n"

static const char one_stage[] =
    "inference_perf:\n  stages: [{rate: 4, duration: 3}]\n" PREFIX(", system_prompt_len: 20");

static blis_alloc heap;

static const blis_spec_settings compatible = {.rules = &blis_workload_go_blis};

static const char *const ids[] = {"prompt-0-user-0", "prompt-0-user-1", "prompt-1-user-0",
                                  "prompt-1-user-1"};

static void check_user(const blis_client_spec *client, int index, const char *id) {
  CHECK_STR(client->id, id);
  CHECK_STR(client->tenant, index < 2 ? "prompt-0" : "prompt-1");
  CHECK_STR(client->prefix_group, client->tenant);
  CHECK_EQ_I64(client->prefix_tokens, 20);
  CHECK_STR(client->slo_class, "standard");
  CHECK_STR(client->arrival.process, "poisson");
  CHECK_EQ_DOUBLE(client->input.params[0].value, 10);
  CHECK_EQ_DOUBLE(client->output.params[0].value, 5);
}

static void users_of_one_stage_share_its_requests(void) {
  blis_written_spec *written = must_read(&heap, one_stage, NULL);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  CHECK_STR(spec->category, "language");
  CHECK_EQ_DOUBLE(spec->aggregate_rate, 4);
  CHECK_EQ_I64(spec->client_count, 4);
  for (int i = 0; i < 4; i++) {
    const blis_client_spec *client = &spec->clients[i];
    check_user(client, i, ids[i]);
    CHECK_EQ_DOUBLE(client->rate_fraction, 0.25);
    CHECK_EQ_I64(client->spread_count, 3);
    CHECK_EQ_I64(client->spread_us, 3000000);
    CHECK(client->multi_turn == NULL && client->window_count == 0);
  }
  blis_written_spec_free(written);
}

/* 14 requests: the first two of four users have one more. */
static void what_is_left_goes_to_the_first_users(void) {
  static const int64_t counts[] = {4, 4, 3, 3};
  static const char *const texts[] = {
      "inference_perf:\n  stages: [{rate: 2.9, duration: 5}]\n" PREFIX(""),
      "inference_perf:\n  stages: [{rate: 2.9, duration: 5}]\n" PREFIX(
          ", enable_multi_turn_chat: true")};
  for (int is_multi = 0; is_multi < 2; is_multi++) {
    blis_written_spec *written = must_read(&heap, texts[is_multi], NULL);
    const blis_workload_spec *spec = blis_written_spec_get(written);
    CHECK_STR(spec->category, is_multi ? "reasoning" : "language");
    for (int i = 0; i < 4; i++) {
      const blis_client_spec *client = &spec->clients[i];
      CHECK_EQ_I64(is_multi ? client->multi_turn->max_rounds : client->spread_count, counts[i]);
      CHECK(client->prefix_group == NULL); /* of no tokens */
    }
    blis_written_spec_free(written);
  }
}

static void chats_are_one_session_per_user(void) {
  blis_written_spec *written =
      must_read(&heap,
                "inference_perf:\n  stages: [{rate: 3, duration: 9}]\n" PREFIX(
                    ", enable_multi_turn_chat: true"),
                NULL);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  for (int i = 0; i < 4; i++) {
    const blis_client_spec *client = &spec->clients[i];
    CHECK(client->multi_turn->single_session);
    CHECK(client->multi_turn->context_growth == NULL);
    CHECK_EQ_I64(client->multi_turn->think_time_us, 1333333); /* 4 / 3 s */
    CHECK_STR(client->reason_ratio.type, "constant");
    CHECK_EQ_DOUBLE(client->reason_ratio.params[0].value, 0);
    CHECK_EQ_I64(client->spread_count, 0);
    CHECK_EQ_DOUBLE(client->rate_fraction, 0.25);
    CHECK(blis_client_is_closed_loop(client));
  }
  blis_written_spec_free(written);
}

static void stages_follow_each_other(void) {
  static const char *const names[] = {"stage-0-prompt-0-user-0", "stage-1-prompt-1-user-1"};
  blis_written_spec *written =
      must_read(&heap,
                "aggregate_rate: 7\n"
                "inference_perf:\n"
                "  stages: [{rate: 4, duration: 3}, {rate: 8, duration: 5}]\n" PREFIX(
                    ", system_prompt_len: 20"),
                NULL);
  const blis_workload_spec *spec = blis_written_spec_get(written);
  CHECK_EQ_I64(spec->client_count, 8);
  CHECK_EQ_DOUBLE(spec->aggregate_rate, 12);
  CHECK_EQ_I64(blis_written_spec_note_count(written), 1);
  CHECK_CONTAINS(blis_written_spec_note(written, 0),
                 "aggregate_rate 7 is overridden by that of inference_perf, 12");
  check_user(&spec->clients[0], 0, names[0]);
  check_user(&spec->clients[7], 3, names[1]);
  for (size_t i = 0; i < 8; i++) {
    const blis_client_spec *client = &spec->clients[i];
    CHECK_EQ_DOUBLE(client->rate_fraction, 1);
    CHECK_EQ_DOUBLE(client->fixed_rate, i < 4 ? 1 : 2);
    CHECK_EQ_I64(client->window_count, 1);
    CHECK_EQ_I64(client->windows[0].start_us, i < 4 ? 0 : 3000000);
    CHECK_EQ_I64(client->windows[0].end_us, i < 4 ? 3000000 : 8000000);
    CHECK_EQ_I64(client->spread_count, 0);
  }
  blis_written_spec_free(written);
}

static request_list list;

/* BLIS (Go) takes no prefix for the default one, and no reasoning for 1 %. */
static void defects_of_go_blis_are_there_when_asked_for(void) {
  static const char text[] = "inference_perf:\n  stages: [{rate: 4, duration: 3}]\n" PREFIX(
      ", enable_multi_turn_chat: true");
  list_requests(&list, text, &compatible);
  CHECK(list.count > 0);
  CHECK_EQ_I64(list.items[0].prompt_tokens, 60);
  CHECK_EQ_DOUBLE(list.items[0].reason_ratio, 0.01);
  free_requests(&list);
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(list.items[0].prompt_tokens, 10);
  CHECK_EQ_DOUBLE(list.items[0].reason_ratio, 0);
  free_requests(&list);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(users_of_one_stage_share_its_requests);
  RUN(what_is_left_goes_to_the_first_users);
  RUN(chats_are_one_session_per_user);
  RUN(stages_follow_each_other);
  RUN(defects_of_go_blis_are_there_when_asked_for);
  return check_done();
}
