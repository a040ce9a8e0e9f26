/* The API server before the scheduler: bursts, several processes, and absurd times. */
#include "instance/config/front_end.h"

#include "base/random.h"
#include "base/time.h"
#include "check.h"

/* 64 prompts of 1,024 tokens at once, with the times of the composed model. */
static void test_burst(void) {
  const blis_front_end_config config = {1, 1e6 / 296, 3.449, 3998};
  blis__front_end front_end = {0};
  int64_t last_us = 0;
  for (int i = 0; i < 64; i++) {
    last_us = blis__front_end_take(&front_end, &config, 1024, 0);
  }
  CHECK_EQ_I64(last_us, 64 * 6910 + 3998);
}

static void test_processes_share_a_burst(void) {
  const blis_front_end_config config = {2, 100, 0, 7};
  blis__front_end front_end = {0};
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 1000), 1107);
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 1000), 1107);
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 1000), 1207);
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 5000), 5107);
}

static void test_absurd_times_stay_in_range(void) {
  const blis_front_end_config config = {1, 1e300, 1e300, INT64_MAX};
  blis__front_end front_end = {0};
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 1000), BLIS_TIME_NEVER_US);
  CHECK_EQ_I64(blis__front_end_take(&front_end, &config, 5, 1000), BLIS_TIME_NEVER_US);
}

/* More processes never make a request leave later, and no process is faster than one request. */
static void test_random_arrivals(void) {
  blis_random random;
  blis_random_init(&random, 20261130);
  for (int i = 0; i < 2000; i++) {
    blis_front_end_config one = {1, blis_random_intn(&random, 900), 0.5, 40};
    blis_front_end_config more = one;
    more.servers = 1 + blis_random_intn(&random, BLIS_FRONT_END_SERVERS_MAX);
    blis__front_end of_one = {0};
    blis__front_end of_more = {0};
    int64_t now_us = 0;
    for (int j = 0; j < 20; j++) {
      now_us += blis_random_intn(&random, 800);
      int64_t tokens = blis_random_intn(&random, 1000);
      int64_t alone_us = now_us + (int64_t)(one.request_us + 0.5 * (double)tokens) + 40;
      int64_t one_us = blis__front_end_take(&of_one, &one, tokens, now_us);
      int64_t more_us = blis__front_end_take(&of_more, &more, tokens, now_us);
      CHECK(more_us <= one_us && more_us >= alone_us);
    }
  }
}

int main(void) {
  RUN(test_burst);
  RUN(test_processes_share_a_burst);
  RUN(test_absurd_times_stay_in_range);
  RUN(test_random_arrivals);
  return check_done();
}
