/* The store returns records and extra fields as they were added, whatever their values. */
#include "results/record/record_store.h"

#include <string.h>

#include "base/random.h"
#include "check.h"
#include "results/record/recorder.h"

enum { COUNT = 3000 };

/* Mostly what runs have, sometimes a value at the limits of 32 bits. */
static int64_t draw_value(blis_random *random, int64_t least) {
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

static int64_t draw_integer(blis_random *random) {
  static const int64_t edges[] = {INT32_MAX, (int64_t)INT32_MAX + 1, INT32_MIN,
                                  (int64_t)INT32_MIN - 1, -1};
  return blis_random_intn(random, 40) == 0 ? edges[blis_random_intn(random, 5)]
                                           : blis_random_intn(random, COUNT);
}

/* A value that the field can have. */
static int64_t draw_member(blis_random *random, const blis_record_field *field) {
  switch (field->form) {
  case BLIS_FORM_INTEGER:
    return draw_integer(random);
  case BLIS_FORM_STATE:
    return blis_random_intn(random, BLIS_REQUEST_STATE_COUNT);
  case BLIS_FORM_REASON:
    return blis_random_intn(random, BLIS_RECORD_REASON_MAX + 1);
  case BLIS_FORM_FLAG:
    return blis_random_intn(random, 2);
  case BLIS_FORM_TEXT:
  case BLIS_FORM_NAME:
  case BLIS_FORM_INSTANCE:
    return blis_random_intn(random, 3);
  case BLIS_FORM_COUNT:
    return blis_random_int63(random) & UINT32_MAX;
  default:
    return draw_value(random, field->form == BLIS_FORM_MAYBE ? -1 : 0);
  }
}

static blis_record draw_record(blis_random *random) {
  blis_record record = {0};
  size_t count;
  const blis_record_field *fields = blis_record_fields(&count);
  for (size_t f = 0; f < count; f++) {
    if (fields[f].kind == BLIS_FIELD_MEMBER) {
      blis_record_set(&record, (blis_record_member)fields[f].number,
                      draw_member(random, &fields[f]));
    }
  }
  if (blis_random_intn(random, 40) != 0) { /* mostly */
    record.end_us = record.arrival_us + draw_value(random, 0) % (INT64_MAX / 4);
  }
  return record;
}

static void records_come_back(void) {
  static blis_record added[COUNT];
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 5);
  blis__record_store store;
  blis__record_store_init(&store, &alloc);
  for (size_t i = 0; i < COUNT; i++) {
    added[i] = draw_record(&random);
    CHECK(blis__record_store_add(&store, &added[i]) == BLIS_OK);
  }
  size_t count;
  const blis_record_field *fields = blis_record_fields(&count);
  for (size_t i = 0; i < COUNT; i++) {
    const blis_record got = blis__record_store_get(&store, i);
    for (size_t f = 0; f < count; f++) {
      if (fields[f].kind == BLIS_FIELD_MEMBER) {
        CHECK_EQ_I64(blis_record_value(&got, (blis_record_member)fields[f].number),
                     blis_record_value(&added[i], (blis_record_member)fields[f].number));
      }
    }
  }
  CHECK(store.longs.count > 100 && store.longs.count < COUNT);
  CHECK_EQ_I64(store.origins.count, 81); /* three texts for each of four labels */
  blis__record_store_deinit(&store);
}

/* Is the extra field set in record i? The even fields only in late records. */
static bool is_set(int extra, size_t i) {
  return extra % 2 == 0 ? i >= COUNT / 2 && i % 3 == 0 : i % 7 < 5;
}

static void extra_fields_come_back(void) {
  static int64_t values[COUNT][BLIS_EXTRA_COUNT];
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 6);
  blis__record_store store;
  blis__record_store_init(&store, &alloc);
  for (size_t i = 0; i < COUNT; i++) {
    const blis_record record = {.number = (int64_t)i};
    CHECK(blis__record_store_add(&store, &record) == BLIS_OK);
    for (int e = 0; e < BLIS_EXTRA_COUNT; e++) {
      bool is_small = e % 3 == 0;
      int64_t value = is_small ? blis_random_intn(&random, 1000) : draw_value(&random, 0);
      values[i][e] = is_set(e, i) ? value : -1;
      CHECK(blis__record_store_set_extra(&store, (blis_record_extra)e, values[i][e]) == BLIS_OK);
    }
  }
  for (size_t i = 0; i < COUNT; i++) {
    for (int e = 0; e < BLIS_EXTRA_COUNT; e++) {
      CHECK_EQ_I64(blis__record_store_extra(&store, i, (blis_record_extra)e), values[i][e]);
    }
  }
  for (int e = 0; e < BLIS_EXTRA_COUNT; e++) { /* only what does not fit needs 64 bits */
    CHECK((store.extras[e].wide.count > 0) == (e % 3 != 0));
    CHECK((store.extras[e].narrow.count > 0) == (e % 3 == 0));
  }
  blis__record_store_deinit(&store);
}

/* An extra field costs nothing until a record sets it. */
static void unset_extra_fields_need_no_memory(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis__record_store store;
  blis__record_store_init(&store, &alloc);
  for (size_t i = 0; i < COUNT; i++) {
    const blis_record record = {.number = (int64_t)i};
    CHECK(blis__record_store_add(&store, &record) == BLIS_OK);
    for (int e = 0; e < BLIS_EXTRA_COUNT; e++) {
      CHECK(blis__record_store_set_extra(&store, (blis_record_extra)e, -1) == BLIS_OK);
    }
  }
  size_t plain = memory.live_bytes;
  CHECK(plain <= store.records.capacity * sizeof *store.records.items + 1024);
  CHECK(blis__record_store_set_extra(&store, BLIS_EXTRA_adapter_wait_us, 0) == BLIS_OK);
  CHECK(memory.live_bytes >= plain + COUNT * sizeof(uint32_t));
  CHECK(memory.live_bytes <= plain + 2 * COUNT * sizeof(uint32_t));
  blis__record_store_deinit(&store);
  CHECK_EQ_I64(memory.live_bytes, 0);
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
    for (size_t i = COUNT - 300; succeeded && i < COUNT; i++) {
      const blis_record record = draw_record(&random);
      succeeded = blis__record_store_add(&store, &record) == BLIS_OK;
      for (int e = 0; succeeded && e < 3; e++) {
        succeeded = blis__record_store_set_extra(&store, (blis_record_extra)e,
                                                 draw_value(&random, -1)) == BLIS_OK;
      }
    }
    blis__record_store_deinit(&store);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(request > 10);
}

int main(void) {
  RUN(records_come_back);
  RUN(extra_fields_come_back);
  RUN(unset_extra_fields_need_no_memory);
  RUN(sorting_moves_records_and_priorities);
  RUN(no_memory_is_an_error);
  return check_done();
}
