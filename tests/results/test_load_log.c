/* The log of loads: what is kept, and what is only counted. */
#include "results/load_log.h"

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
  CHECK_EQ_I64((int64_t)log.loads.count, 2);
  CHECK_EQ_I64((int64_t)log.moves.count, 2);
  CHECK_EQ_I64(log.left_out, 2);
  CHECK_EQ_I64(log.loads.items[1].instance, 41);
  CHECK_EQ_I64(log.loads.items[1].load.adapter, 6);
  CHECK_EQ_I64(log.moves.items[1].tier, 1);
  blis_load_log_deinit(&log);
  blis_load_log_deinit(&log);
}

int main(void) {
  RUN(the_first_ones_are_kept);
  return check_done();
}
