/* The log of steps: entries, and what is put together when there are many. */
#include "results/log/step_log.h"

#include "base/random.h"
#include "check.h"

static blis_step_report report_at(int64_t start_us, int64_t end_us) {
  return (blis_step_report){.start_us = start_us,
                            .end_us = end_us,
                            .prefill_requests = 1,
                            .prefill_tokens = 100,
                            .decode_requests = 7,
                            .waiting = 2,
                            .used_kv_blocks = 40};
}

static void add(blis_step_log *log, uint32_t instance, int64_t start_us, int64_t end_us) {
  blis_step_report report = report_at(start_us, end_us);
  CHECK(blis_step_log_add(log, instance, &report, 3) == BLIS_OK);
}

static const blis_step_entry *entry(const blis_step_log *log, size_t instance, size_t index) {
  return &log->lists.items[instance].entries.items[index];
}

static void steps_are_entries_of_their_own(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_step_log log;
  blis_step_log_init(&log, &alloc, 100, 0, INT64_MAX);
  add(&log, 2, 10, 30);
  add(&log, 0, 15, 20);
  add(&log, 2, 30, 45);
  CHECK_EQ_I64((int64_t)log.lists.count, 3);
  CHECK_EQ_I64((int64_t)log.lists.items[1].entries.count, 0);
  CHECK_EQ_I64((int64_t)log.lists.items[2].entries.count, 2);
  const blis_step_entry *second = entry(&log, 2, 1);
  CHECK_EQ_I64(second->steps, 1);
  CHECK_EQ_I64(second->start_us, 30);
  CHECK_EQ_I64(second->end_us, 45);
  CHECK_EQ_I64(second->busy_us, 15);
  CHECK_EQ_I64(second->prefill_tokens, 100);
  CHECK_EQ_I64(second->decode_requests, 7);
  CHECK_EQ_I64(second->used_kv_blocks, 40);
  CHECK_EQ_I64(second->in_front_end, 3);
  blis_step_log_deinit(&log);
  blis_step_log_deinit(&log);
}

static void what_is_outside_the_window_is_left_out(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_step_log log;
  blis_step_log_init(&log, &alloc, 100, 100, 200);
  add(&log, 0, 10, 99);
  add(&log, 0, 99, 100);
  add(&log, 0, 150, 160);
  add(&log, 0, 200, 300);
  add(&log, 0, 201, 300);
  CHECK_EQ_I64((int64_t)log.count, 3);
  blis_step_log_deinit(&log);
}

static void a_lost_instance_cuts_its_step(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_step_log log;
  blis_step_log_init(&log, &alloc, 100, 0, INT64_MAX);
  add(&log, 0, 0, 100);
  add(&log, 0, 60, 80);
  CHECK_EQ_I64(entry(&log, 0, 0)->end_us, 60);
  CHECK_EQ_I64(entry(&log, 0, 0)->busy_us, 60);
  CHECK_EQ_I64(entry(&log, 0, 1)->start_us, 60);
  blis_step_log_deinit(&log);
}

static void neighbours_become_one_when_there_are_too_many(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_step_log log;
  blis_step_log_init(&log, &alloc, 4, 0, INT64_MAX);
  for (int64_t i = 0; i < 5; i++) {
    add(&log, 0, 100 * i, 100 * i + 50);
  }
  CHECK_EQ_I64(log.merged, 2);
  CHECK_EQ_I64((int64_t)log.count, 3);
  CHECK_EQ_I64(entry(&log, 0, 0)->steps, 2);
  CHECK_EQ_I64(entry(&log, 0, 0)->end_us, 150);
  CHECK_EQ_I64(entry(&log, 0, 0)->busy_us, 100);
  CHECK_EQ_I64(entry(&log, 0, 0)->decode_requests, 14);
  CHECK_EQ_I64(entry(&log, 0, 2)->steps, 1);
  add(&log, 0, 500, 510); /* fills the last one */
  CHECK_EQ_I64((int64_t)log.count, 3);
  CHECK_EQ_I64(entry(&log, 0, 2)->steps, 2);
  blis_step_log_deinit(&log);
}

enum { INSTANCES = 5, STEPS = 20000, MOST = 64 };

static void random_steps_add_up(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init_named(&random, 7, "steps");
  blis_step_log log;
  blis_step_log_init(&log, &alloc, MOST, 0, INT64_MAX);
  int64_t now_us[INSTANCES] = {0};
  int64_t steps[INSTANCES] = {0};
  int64_t busy_us[INSTANCES] = {0};
  for (int i = 0; i < STEPS; i++) {
    uint32_t k = (uint32_t)(blis_random_int63(&random) % INSTANCES);
    int64_t start_us = now_us[k] + blis_random_int63(&random) % 3;
    now_us[k] = start_us + 1 + blis_random_int63(&random) % 50;
    add(&log, k, start_us, now_us[k]);
    steps[k]++;
    busy_us[k] += now_us[k] - start_us;
    CHECK(log.count <= MOST + 1);
  }
  for (size_t k = 0; k < INSTANCES; k++) {
    int64_t before_us = 0;
    for (size_t i = 0; i < log.lists.items[k].entries.count; i++) {
      const blis_step_entry *one = entry(&log, k, i);
      CHECK(one->start_us >= before_us && one->end_us > one->start_us);
      CHECK(one->steps <= log.merged && one->waiting == 2 * one->steps);
      before_us = one->end_us;
      steps[k] -= one->steps;
      busy_us[k] -= one->busy_us;
    }
    CHECK_EQ_I64(steps[k], 0);
    CHECK_EQ_I64(busy_us[k], 0);
  }
  blis_step_log_deinit(&log);
}

static void no_memory_leaves_nothing(void) {
  for (long limit = 1; limit < 12; limit++) {
    blis_alloc_probe probe = {.fail_at = limit, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_step_log log;
    blis_step_log_init(&log, &alloc, 4, 0, INT64_MAX);
    for (int64_t i = 0; i < 40; i++) {
      size_t before = log.count;
      blis_step_report report = report_at(10 * i, 10 * i + 10);
      if (blis_step_log_add(&log, (uint32_t)(i % 3), &report, 0) != BLIS_OK) {
        CHECK(log.count == before);
      }
    }
    blis_step_log_deinit(&log);
    CHECK_EQ_I64((int64_t)probe.live_bytes, 0);
  }
}

int main(void) {
  RUN(steps_are_entries_of_their_own);
  RUN(what_is_outside_the_window_is_left_out);
  RUN(a_lost_instance_cuts_its_step);
  RUN(neighbours_become_one_when_there_are_too_many);
  RUN(random_steps_add_up);
  RUN(no_memory_leaves_nothing);
  return check_done();
}
