/* The log of loads: what is kept, and what is only counted. */
#include "cluster/tiers/kv_tiers.h"
#include "results/log/load_log.h"

#include "check.h"

static void the_first_ones_are_kept(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_load_log log;
  blis_error error;
  blis_load_log_init(&log, &alloc, 2);
  const blis_load_sink sink = blis_load_log_sink(&log);
  for (uint32_t i = 0; i < 3; i++) {
    const blis_adapter_load load = {.adapter = 5 + i, .end_us = 10};
    const blis_kv_move move = {.tier = i, .blocks = 7};
    CHECK_OK(sink.adapter(sink.ud, 40 + i, &load, &error), &error);
    CHECK_OK(sink.moved(sink.ud, &move, &error), &error);
  }
  blis_load_log_settle(&log);
  CHECK_EQ_I64((int64_t)log.loads.count, 2);
  CHECK_EQ_I64((int64_t)log.moves.count, 2);
  CHECK_EQ_I64(log.left_out, 2);
  CHECK_EQ_I64(log.loads.items[1].instance, 41);
  CHECK_EQ_I64(log.loads.items[1].load.adapter, 6);
  CHECK_EQ_I64(log.moves.items[1].tier, 1);
  blis_load_log_deinit(&log);
  blis_load_log_deinit(&log);
}

/* End, instance, adapter, start: in the order in which they are to be. */
static const int64_t ends[][4] = {{10, 2, 1, 3}, {20, 0, 4, 9}, {20, 1, 1, 9},
                                  {20, 1, 2, 8}, {20, 1, 2, 9}, {30, 0, 1, 0}};

enum { END_COUNT = sizeof ends / sizeof ends[0] };

static void add(const blis_load_sink *sink, size_t i) {
  const blis_adapter_load load = {
      .adapter = (uint32_t)ends[i][2], .start_us = ends[i][3], .end_us = ends[i][0]};
  blis_error error;
  CHECK_OK(sink->adapter(sink->ud, (uint32_t)ends[i][1], &load, &error), &error);
}

static void check_kept(const blis_load_log *log, size_t count) {
  CHECK_EQ_I64((int64_t)log->loads.count, (int64_t)count);
  CHECK_EQ_I64(log->left_out, (int64_t)(END_COUNT - count));
  for (size_t i = 0; i < count; i++) {
    const blis_logged_load *logged = &log->loads.items[i];
    CHECK_EQ_I64(logged->load.end_us, ends[i][0]);
    CHECK_EQ_I64(logged->instance, ends[i][1]);
    CHECK_EQ_I64(logged->load.adapter, ends[i][2]);
    CHECK_EQ_I64(logged->load.start_us, ends[i][3]);
  }
}

/* Every rotation, both ways, also with a look in between: the same is kept. */
static void it_does_not_matter_when_one_is_told_of(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (size_t most = 0; most <= END_COUNT; most++) {
    for (size_t k = 0; k < 4 * END_COUNT; k++) {
      blis_load_log log;
      blis_load_log_init(&log, &alloc, most);
      const blis_load_sink sink = blis_load_log_sink(&log);
      for (size_t i = 0; i < END_COUNT; i++) {
        size_t at = (i + k) % END_COUNT;
        add(&sink, k / END_COUNT % 2 == 0 ? at : END_COUNT - 1 - at);
        if (k >= 2 * END_COUNT && i == END_COUNT / 2) {
          blis_load_log_settle(&log);
        }
      }
      CHECK(log.loads.count <= (most == 0 ? 1 : 2 * most));
      blis_load_log_settle(&log);
      check_kept(&log, most);
      blis_load_log_deinit(&log);
    }
  }
}

/* How many of the loads are there, if at first instance 1 is lost at at_us. */
static int64_t kept_after(int64_t at_us) {
  blis_alloc alloc = blis_alloc_heap();
  blis_load_log log;
  blis_load_log_init(&log, &alloc, 2 * END_COUNT);
  const blis_load_sink sink = blis_load_log_sink(&log);
  sink.lost(sink.ud, 1, 0); /* nobody has told of anything yet */
  for (size_t i = 0; i < END_COUNT; i++) {
    add(&sink, i);
  }
  sink.lost(sink.ud, 1, at_us);
  sink.lost(sink.ud, 1, at_us + 1); /* it has loaded nothing since */
  sink.lost(sink.ud, 77, 0);
  blis_load_log_settle(&log);
  int64_t kept = (int64_t)log.loads.count;
  for (size_t i = 0; i < log.loads.count; i++) {
    CHECK(kept == END_COUNT || log.loads.items[i].instance != 1);
  }
  /* What it loads later is its own. */
  add(&sink, 3);
  blis_load_log_settle(&log);
  CHECK_EQ_I64((int64_t)log.loads.count, kept + 1);
  sink.lost(sink.ud, 1, 19);
  blis_load_log_settle(&log);
  CHECK_EQ_I64((int64_t)log.loads.count, kept);
  CHECK_EQ_I64(log.left_out, 0);
  blis_load_log_deinit(&log);
  return kept;
}

static void lost_loads_are_forgotten(void) {
  CHECK_EQ_I64(kept_after(20), END_COUNT); /* they have just ended */
  CHECK_EQ_I64(kept_after(19), END_COUNT - 3);
}

/* Were all that is kept looked at each time, this would take minutes. */
static void many_are_lost(void) {
  enum { MANY = 300000 };
  blis_alloc alloc = blis_alloc_heap();
  blis_load_log log;
  blis_error error;
  blis_load_log_init(&log, &alloc, MANY);
  const blis_load_sink sink = blis_load_log_sink(&log);
  for (int64_t i = 0; i < MANY; i++) {
    /* The first one ends in time. */
    const blis_adapter_load loads[] = {{.start_us = i, .end_us = i + 1},
                                       {.start_us = i, .end_us = i + 2}};
    uint32_t instance = (uint32_t)(i % 7);
    CHECK_OK(sink.adapter(sink.ud, instance, &loads[0], &error), &error);
    CHECK_OK(sink.adapter(sink.ud, instance, &loads[1], &error), &error);
    sink.lost(sink.ud, instance, i + 1);
  }
  blis_load_log_settle(&log);
  CHECK_EQ_I64((int64_t)log.loads.count, MANY);
  CHECK_EQ_I64(log.left_out, 0);
  for (size_t i = 0; i < MANY; i++) {
    CHECK(log.loads.items[i].load.end_us == (int64_t)i + 1);
  }
  blis_load_log_deinit(&log);
}

int main(void) {
  RUN(the_first_ones_are_kept);
  RUN(it_does_not_matter_when_one_is_told_of);
  RUN(lost_loads_are_forgotten);
  RUN(many_are_lost);
  return check_done();
}
