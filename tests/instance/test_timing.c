/*
 * What the engines make of latency models whose answers are beyond reason:
 * an error that names the time, or a result without an overflow.
 */
#include "engine_driver.h"

/* Times that a script could give. */
typedef struct odd_times {
  int64_t step_us;
  int64_t token_us;
  int64_t overhead_us;
} odd_times;

static blis_status odd_step(void *state, const blis_batch_item *items, size_t count,
                            int64_t *step_us, blis_error *error) {
  (void)items;
  (void)count;
  (void)error;
  *step_us = ((odd_times *)state)->step_us;
  return BLIS_OK;
}

static bool odd_step_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  (void)sums;
  *step_us = ((const odd_times *)state)->step_us;
  return true;
}

static int64_t odd_token_time(const void *state) {
  return ((const odd_times *)state)->token_us;
}

static int64_t odd_overhead(const void *state) {
  return ((const odd_times *)state)->overhead_us;
}

static const blis_latency_ops odd_ops = {
    .name = "odd",
    .step_time = odd_step,
    .step_time_from_sums = odd_step_from_sums,
    .output_token_time = odd_token_time,
    .fixed_overhead = odd_overhead,
};

static void check_odd_times(blis_engine_kind engine, odd_times times, int64_t output_tokens,
                            const char *message) {
  blis_latency_model latency = {.ops = &odd_ops, .state = &times};
  blis_instance_config config = driver_base_config(&latency);
  config.horizon_us = BLIS_TIME_NEVER_US;
  config.kv_blocks = 100000;
  config.engine = engine;
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 6, output_tokens)};
  blis_alloc alloc = blis_alloc_heap();
  driver d = {.alloc = alloc, .config = config, .requests = requests, .request_count = 1};
  blis_error error;
  blis_status status = driver_init(&d, 1, &error);
  status = status == BLIS_OK ? driver_run(&d, &error) : status;
  CHECK_STATUS(status, message == NULL ? BLIS_OK : BLIS_ERR_INVALID);
  if (message != NULL) {
    CHECK_CONTAINS(error.message, message);
  }
  driver_deinit(&d);
}

static void test_times_beyond_reason(void) {
  const blis_engine_kind engines[] = {BLIS_ENGINE_STEPWISE, BLIS_ENGINE_FAST};
  const int64_t most_us = INT64_C(1) << 50;
  for (int i = 0; i < 2; i++) {
    check_odd_times(engines[i], (odd_times){most_us + 1, 0, 0}, 5,
                    "latency model odd: a step takes 1125899906842625 us; "
                    "expected up to 1125899906842624");
    check_odd_times(engines[i], (odd_times){1, -1, 0}, 5,
                    "latency model odd: the time per output token is -1 us; "
                    "expected 0 to 1125899906842624");
    check_odd_times(engines[i], (odd_times){1, 0, INT64_MAX}, 5,
                    "the fixed overhead is 9223372036854775807 us");
    check_odd_times(engines[i], (odd_times){-7, 0, 0}, 5, NULL);
    check_odd_times(engines[i], (odd_times){most_us, most_us, most_us}, 5, NULL);
    check_odd_times(engines[i], (odd_times){1, most_us, 0}, 20000,
                    "the inter-token latencies add up to more than 2^64 us");
  }
}

int main(void) {
  RUN(test_times_beyond_reason);
  return check_done();
}
