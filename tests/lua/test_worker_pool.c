/*
 * test_worker_pool.c - tasks are done once each whatever becomes of the
 * workers, and what became of those that died is told.
 */
#include "lua/workers/worker_pool.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

enum { GOOD, BAD, EXITS, ABORTS, HANGS, EATS, LONG, COUNTS };

static void hang(void) {
  for (;;) {
    struct timespec second = {.tv_sec = 1};
    nanosleep(&second, NULL);
  }
}

static blis_worker_outcome eat(blis_buffer *text) {
  for (int i = 0; i < 1000; i++) {
    char *block = malloc((size_t)1 << 24);
    if (block == NULL) {
      blis_buffer_string(text, "hungry");
      return BLIS_WORKER_NO_MEMORY;
    }
    memset(block, 1, (size_t)1 << 24);
  }
  return BLIS_WORKER_DONE;
}

/* How many tasks this process has done that count. */
static int tasks_seen;

/* A task is 10 * number + kind. */
static blis_worker_outcome work(void *ud, int64_t task, blis_buffer *text) {
  CHECK_STR((const char *)ud, "context");
  switch (task % 10) {
  case BAD:
    blis_buffer_string(text, "reason");
    return BLIS_WORKER_FAILED;
  case EXITS:
    _exit(3);
  case ABORTS:
    (void)signal(SIGABRT, SIG_DFL);
    abort();
  case HANGS:
    hang();
    return BLIS_WORKER_DONE;
  case EATS:
    return eat(text);
  case COUNTS:
    blis_buffer_format(text, "%d", ++tasks_seen);
    return BLIS_WORKER_DONE;
  case LONG:
    blis_buffer_repeat(text, 'x', 3000000);
    return BLIS_WORKER_DONE;
  default:
    blis_buffer_format(text, "%lld", (long long)task * 2);
    return BLIS_WORKER_DONE;
  }
}

static blis_worker_pool *new_pool(int jobs, int64_t time_limit_us, int64_t memory_limit_bytes) {
  static char context[] = "context";
  blis_alloc alloc = blis_alloc_heap();
  blis_worker_options options = {.jobs = jobs,
                                 .time_limit_us = time_limit_us,
                                 .memory_limit_bytes = memory_limit_bytes,
                                 .work = work,
                                 .ud = context};
  blis_worker_pool *pool = NULL;
  blis_error error = {0};
  CHECK_OK(blis_worker_pool_new(&alloc, &options, &pool, &error), &error);
  return pool;
}

static void submit(blis_worker_pool *pool, int64_t task) {
  blis_error error = {0};
  CHECK_OK(blis_worker_pool_submit(pool, task, 0, &error), &error);
}

static blis_worker_result next(blis_worker_pool *pool) {
  blis_worker_result result;
  bool has_result = false;
  blis_error error = {0};
  CHECK_OK(blis_worker_pool_wait(pool, -1, NULL, &result, &has_result, &error), &error);
  CHECK(has_result);
  return result;
}

static void all_tasks_are_done_once(int jobs) {
  enum { COUNT = 1000 };
  bool is_done[COUNT] = {false};
  blis_worker_pool *pool = new_pool(jobs, 0, 0);
  for (int i = 0; i < COUNT; i++) {
    submit(pool, i * 10);
  }
  CHECK_EQ_I64(blis_worker_pool_pending(pool), COUNT);
  for (int i = 0; i < COUNT; i++) {
    blis_worker_result result = next(pool);
    char expected[32];
    snprintf(expected, sizeof expected, "%" PRId64, result.task * 2);
    CHECK_EQ_I64(result.outcome, BLIS_WORKER_DONE);
    CHECK_EQ_I64(result.text.length, strlen(expected));
    CHECK(memcmp(result.text.data, expected, result.text.length) == 0);
    CHECK(!is_done[result.task / 10]);
    is_done[result.task / 10] = true;
  }
  CHECK_EQ_I64(blis_worker_pool_pending(pool), 0);
  blis_worker_pool_free(pool);
}

static void test_all_tasks_are_done_once(void) {
  all_tasks_are_done_once(1);
  all_tasks_are_done_once(2);
  all_tasks_are_done_once(7);
}

static void test_failures_are_told_and_the_rest_goes_on(void) {
  static const blis_worker_outcome expected[] = {
      [GOOD] = BLIS_WORKER_DONE,     [BAD] = BLIS_WORKER_FAILED,    [EXITS] = BLIS_WORKER_EXITED,
      [ABORTS] = BLIS_WORKER_KILLED, [HANGS] = BLIS_WORKER_TIMEOUT,
  };
  blis_worker_pool *pool = new_pool(2, 2000000, 0);
  for (int round = 0; round < 3; round++) {
    for (int kind = GOOD; kind <= HANGS; kind++) {
      submit(pool, round * 10 + kind);
    }
  }
  for (int i = 0; i < 15; i++) {
    blis_worker_result result = next(pool);
    int kind = (int)(result.task % 10);
    CHECK_EQ_I64(result.outcome, expected[kind]);
    if (kind == EXITS) {
      CHECK_EQ_I64(result.detail, 3);
    }
    if (kind == ABORTS) {
      CHECK_EQ_I64(result.detail, SIGABRT);
    }
    if (kind == BAD) {
      CHECK(memcmp(result.text.data, "reason", 6) == 0);
    }
  }
  blis_worker_pool_free(pool);
}

static void test_memory_has_a_limit(void) {
#ifdef HAS_SANITIZER
  return; /* its shadow memory is beyond any limit */
#else
  blis_worker_pool *pool = new_pool(1, 0, 200 << 20);
  submit(pool, EATS);
  submit(pool, GOOD);
  blis_worker_result result = next(pool);
  CHECK_EQ_I64(result.outcome, BLIS_WORKER_NO_MEMORY);
  CHECK(memcmp(result.text.data, "hungry", 6) == 0);
  CHECK_EQ_I64(next(pool).outcome, BLIS_WORKER_DONE);
  blis_worker_pool_free(pool);
#endif
}

static void test_long_results_come_whole(void) {
  blis_worker_pool *pool = new_pool(2, 0, 0);
  for (int i = 0; i < 4; i++) {
    submit(pool, i * 10 + LONG);
  }
  for (int i = 0; i < 4; i++) {
    blis_worker_result result = next(pool);
    CHECK_EQ_I64(result.text.length, 3000000);
    CHECK(result.text.data[0] == 'x' && result.text.data[2999999] == 'x');
  }
  blis_worker_pool_free(pool);
}

static void test_waiting_has_an_end(void) {
  blis_worker_pool *pool = new_pool(1, 0, 0);
  blis_worker_result result;
  bool has_result = true;
  CHECK(blis_worker_pool_wait(pool, -1, NULL, &result, &has_result, NULL) == BLIS_OK);
  CHECK(!has_result);
  submit(pool, HANGS);
  has_result = true;
  CHECK(blis_worker_pool_wait(pool, 20000, NULL, &result, &has_result, NULL) == BLIS_OK);
  CHECK(!has_result);
  CHECK_EQ_I64(blis_worker_pool_pending(pool), 1);
  blis_worker_pool_free(pool); /* with a task in flight */
}

static void test_the_number_of_workers_is_checked(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_worker_options options = {.jobs = 0, .work = work};
  blis_worker_pool *pool = NULL;
  blis_error error = {0};
  CHECK_STATUS(blis_worker_pool_new(&alloc, &options, &pool, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "jobs is 0, expected 1 to 1024");
}

static void test_lack_of_memory_is_an_error(void) {
  for (long n = 1; n < 20; n++) {
    blis_alloc_probe probe = {.fail_at = n};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_worker_options options = {.jobs = 2, .work = work};
    blis_worker_pool *pool = NULL;
    blis_status status = blis_worker_pool_new(&alloc, &options, &pool, NULL);
    for (int i = 0; status == BLIS_OK && i < 70; i++) {
      status = blis_worker_pool_submit(pool, i * 10, 0, NULL);
    }
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    blis_worker_pool_free(pool);
    CHECK_EQ_I64(probe.live_bytes, 0);
  }
}

static blis_worker_pool *new_fresh_pool(int jobs) {
  static char context[] = "context";
  blis_alloc alloc = blis_alloc_heap();
  blis_worker_options options = {.jobs = jobs, .is_fresh = true, .work = work, .ud = context};
  blis_worker_pool *pool = NULL;
  CHECK(blis_worker_pool_new(&alloc, &options, &pool, NULL) == BLIS_OK);
  return pool;
}

static void test_fresh_workers_know_nothing_of_each_other(void) {
  blis_worker_pool *pool = new_fresh_pool(2);
  for (int i = 0; i < 20; i++) {
    submit(pool, i * 10 + COUNTS);
  }
  for (int i = 0; i < 20; i++) {
    blis_worker_result result = next(pool);
    CHECK(result.outcome == BLIS_WORKER_DONE);
    CHECK(result.text.length == 1 && result.text.data[0] == '1');
  }
  blis_worker_pool_free(pool);
}

static void test_a_task_may_have_a_limit_of_its_own(void) {
  blis_worker_pool *pool = new_fresh_pool(2);
  CHECK(blis_worker_pool_submit(pool, HANGS, 1000000, NULL) == BLIS_OK);
  submit(pool, 10);
  blis_worker_result result = next(pool);
  CHECK_EQ_I64(result.task, 10);
  result = next(pool);
  CHECK_EQ_I64(result.task, HANGS);
  CHECK(result.outcome == BLIS_WORKER_TIMEOUT);
  blis_worker_pool_free(pool);
}

static void test_what_is_cancelled_is_not_reported(void) {
  blis_worker_pool *pool = new_fresh_pool(1);
  submit(pool, HANGS);
  submit(pool, 10);
  submit(pool, 20);
  submit(pool, 30);
  bool has_result = true;
  blis_worker_result result;
  CHECK(blis_worker_pool_wait(pool, 1000, NULL, &result, &has_result, NULL) == BLIS_OK);
  CHECK(!has_result);
  CHECK(blis_worker_pool_cancel(pool, HANGS)); /* busy */
  CHECK(blis_worker_pool_cancel(pool, 20));    /* waiting */
  CHECK(!blis_worker_pool_cancel(pool, 20));
  CHECK_EQ_I64(blis_worker_pool_pending(pool), 2);
  CHECK_EQ_I64(next(pool).task, 10);
  CHECK_EQ_I64(next(pool).task, 30);
  CHECK_EQ_I64(blis_worker_pool_pending(pool), 0);
  blis_worker_pool_free(pool);
}

static void test_what_is_watched_ends_a_wait(void) {
  int pair[2];
  CHECK(pipe(pair) == 0);
  int input = dup(STDIN_FILENO);
  CHECK(dup2(pair[0], STDIN_FILENO) >= 0);
  blis_worker_pool *pool = new_fresh_pool(1);
  const blis_worker_watch watch = {.for_input = true};
  bool has_result = true;
  blis_worker_result result;
  CHECK(write(pair[1], "x", 1) == 1);
  CHECK(blis_worker_pool_wait(pool, -1, &watch, &result, &has_result, NULL) == BLIS_OK);
  CHECK(!has_result);
  blis_worker_pool_free(pool);
  CHECK(input < 0 || dup2(input, STDIN_FILENO) >= 0);
}

int main(void) {
  RUN(test_fresh_workers_know_nothing_of_each_other);
  RUN(test_a_task_may_have_a_limit_of_its_own);
  RUN(test_what_is_cancelled_is_not_reported);
  RUN(test_what_is_watched_ends_a_wait);
  RUN(test_all_tasks_are_done_once);
  RUN(test_failures_are_told_and_the_rest_goes_on);
  RUN(test_memory_has_a_limit);
  RUN(test_long_results_come_whole);
  RUN(test_waiting_has_an_end);
  RUN(test_the_number_of_workers_is_checked);
  RUN(test_lack_of_memory_is_an_error);
  return check_done();
}
