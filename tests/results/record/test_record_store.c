/* Records are kept short, and come back as they were. */
#include "results/record/record_store.h"

#include <string.h>

#include "base/random.h"
#include "check.h"
#include "results/record/recorder.h"

enum { COUNT = 3000 };

/* Mostly what runs have, sometimes at the edges of what is kept short. */
static int64_t draw_us(blis_random *random, int64_t least) {
  static const int64_t edges[] = {0,
                                  1,
                                  (int64_t)UINT32_MAX - 2,
                                  (int64_t)UINT32_MAX - 1,
                                  UINT32_MAX,
                                  (int64_t)UINT32_MAX + 1,
                                  INT64_MAX / 4};
  switch (blis_random_intn(random, 40)) {
  case 0:
    return least;
  case 1:
    return edges[blis_random_intn(random, 7)];
  default:
    return blis_random_intn(random, 1000000);
  }
}

static int64_t draw_number(blis_random *random, int64_t i) {
  static const int64_t edges[] = {INT32_MAX, (int64_t)INT32_MAX + 1, INT32_MIN,
                                  (int64_t)INT32_MIN - 1, -1};
  return blis_random_intn(random, 40) == 0 ? edges[blis_random_intn(random, 5)] : i;
}

static blis_record draw_record(blis_random *random, int64_t i, bool has_sessions) {
  blis_record record = {
      .number = draw_number(random, i),
      .arrival_us = i * 1000,
      .ttft_us = draw_us(random, -1),
      .e2e_us = draw_us(random, -1),
      .scheduling_delay_us = draw_us(random, -1),
      .itl_sum_us = draw_us(random, 0),
      .itl_count = (uint32_t)blis_random_intn(random, 1000),
      .prompt_tokens = (uint32_t)blis_random_int63(random),
      .output_tokens = (uint32_t)blis_random_int63(random),
      .instance = (int32_t)blis_random_intn(random, 4) - 1,
      .tenant = (uint32_t)blis_random_intn(random, 3),
      .slo_class = (uint32_t)blis_random_intn(random, 3),
      .model = (uint32_t)blis_random_intn(random, 2),
      .reason = (uint32_t)blis_random_intn(random, BLIS_RECORD_REASON_MAX + 1),
      .state = (uint32_t)blis_random_intn(random, BLIS_REQUEST_STATE_COUNT) & 15U,
      .was_counted = blis_random_intn(random, 2) == 1,
  };
  record.end_us = record.arrival_us + draw_us(random, 0);
  record.gateway_wait_us = i < 10 ? -1 : draw_us(random, -1);
  record.adapter_wait_us = i % 7 < 5 ? -1 : draw_us(random, -1);
  record.drafted_tokens = i < COUNT / 2 || i % 5 == 0 ? -1 : i;
  record.accepted_tokens = record.drafted_tokens < 0 ? -1 : i / 2;
  if (has_sessions && i > COUNT / 2) {
    record.session = (uint32_t)blis_random_intn(random, 50);
    record.round_index = (int32_t)blis_random_intn(random, 5);
  }
  return record;
}

static void check_equal(const blis_record *a, const blis_record *b) {
  CHECK_EQ_I64(a->number, b->number);
  CHECK_EQ_I64(a->arrival_us, b->arrival_us);
  CHECK_EQ_I64(a->ttft_us, b->ttft_us);
  CHECK_EQ_I64(a->e2e_us, b->e2e_us);
  CHECK_EQ_I64(a->scheduling_delay_us, b->scheduling_delay_us);
  CHECK_EQ_I64(a->itl_sum_us, b->itl_sum_us);
  CHECK_EQ_I64(a->end_us, b->end_us);
  CHECK_EQ_I64(a->gateway_wait_us, b->gateway_wait_us);
  CHECK_EQ_I64(a->adapter_wait_us, b->adapter_wait_us);
  CHECK_EQ_I64(a->drafted_tokens, b->drafted_tokens);
  CHECK_EQ_I64(a->accepted_tokens, b->accepted_tokens);
  CHECK_EQ_I64(a->itl_count, b->itl_count);
  CHECK_EQ_I64(a->prompt_tokens, b->prompt_tokens);
  CHECK_EQ_I64(a->output_tokens, b->output_tokens);
  CHECK_EQ_I64(a->instance, b->instance);
  CHECK_EQ_I64(a->tenant, b->tenant);
  CHECK_EQ_I64(a->slo_class, b->slo_class);
  CHECK_EQ_I64(a->model, b->model);
  CHECK_EQ_I64(a->session, b->session);
  CHECK_EQ_I64(a->round_index, b->round_index);
  CHECK_EQ_I64(a->reason, b->reason);
  CHECK_EQ_I64(a->state, b->state);
  CHECK_EQ_I64(a->was_counted, b->was_counted);
}

static void records_come_back(void) {
  static blis_record added[COUNT];
  blis_alloc alloc = blis_alloc_heap();
  for (int has_sessions = 0; has_sessions < 2; has_sessions++) {
    blis_random random;
    blis_random_init(&random, 5 + has_sessions);
    blis__record_store store;
    blis__record_store_init(&store, &alloc);
    for (int64_t i = 0; i < COUNT; i++) {
      added[i] = draw_record(&random, i, has_sessions);
      CHECK(blis__record_store_add(&store, &added[i]) == BLIS_OK);
    }
    for (size_t i = 0; i < COUNT; i++) {
      const blis_record got = blis__record_store_get(&store, i);
      check_equal(&got, &added[i]);
    }
    CHECK_EQ_I64(store.sessions.count, has_sessions ? COUNT : 0);
    CHECK(store.longs.count > 100 && store.longs.count < COUNT / 2);
    CHECK_EQ_I64(store.origins.count, 18);
    blis__record_store_deinit(&store);
  }
}

static blis_status end_request(blis_recorder *recorder, int64_t number, double priority) {
  const blis_request_sink *sink = blis_recorder_sink(recorder);
  blis_request request = {.number = number, .arrival_us = number / 3};
  blis_request_end end = {.request = &request,
                          .state = BLIS_REQUEST_COMPLETED,
                          .e2e_us = 1,
                          .end_us = number / 3 + 1,
                          .priority = priority};
  return sink->ended(sink->ud, &end, NULL);
}

/* Those that come later are behind them until they are sorted, too. */
static void sorting_moves_records_and_priorities(void) {
  static const int order[] = {4, 2, 5, 0, 1, 3};
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  for (size_t i = 0; i < 5; i++) {
    CHECK(end_request(recorder, order[i], order[i] + 0.5) == BLIS_OK);
  }
  CHECK(blis_recorder_sort(recorder) == BLIS_OK);
  CHECK_EQ_I64(blis_recorder_record(recorder, 2).number, 2);
  CHECK_EQ_I64(blis_recorder_record(recorder, 3).number, 4);
  CHECK(end_request(recorder, order[5], order[5] + 0.5) == BLIS_OK);
  CHECK_EQ_I64(blis_recorder_record(recorder, 5).number, 3);
  CHECK(blis_recorder_sort(recorder) == BLIS_OK);
  for (size_t i = 0; i < 6; i++) {
    double priority = 0;
    CHECK_EQ_I64(blis_recorder_record(recorder, i).number, i);
    CHECK(blis_recorder_priority(recorder, i, &priority));
    CHECK_EQ_DOUBLE(priority, (double)i + 0.5);
  }
  blis_recorder_free(recorder);
}

static void no_memory_is_an_error(void) {
  bool succeeded = false;
  long request = 0;
  for (request = 1; !succeeded; request++) {
    blis_alloc_probe memory = {.fail_at = request, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_random random;
    blis_random_init(&random, 6);
    blis__record_store store;
    blis__record_store_init(&store, &alloc);
    succeeded = true;
    for (int64_t i = COUNT - 300; succeeded && i < COUNT; i++) {
      const blis_record record = draw_record(&random, i, true);
      succeeded = blis__record_store_add(&store, &record) == BLIS_OK;
    }
    blis__record_store_deinit(&store);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(request > 10);
}

int main(void) {
  RUN(records_come_back);
  RUN(sorting_moves_records_and_priorities);
  RUN(no_memory_is_an_error);
  return check_done();
}
