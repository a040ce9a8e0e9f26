/*
 * The engine at its edges: requests that never fit, length caps, schedulers,
 * failures of what it is given, wrong settings, exhausted memory.
 */
#include "engine_driver.h"
#include "instance/config/go_blis.h"
#include "instance/fast/fast_engine.h"
#include "instance/stepwise/stepwise.h"

/* One run of requests that tests look into afterwards. */
typedef struct plain_run {
  driver d;
  driver_latency state;
  blis_latency_model latency;
  blis_alloc alloc;
} plain_run;

static void start(plain_run *run, blis_instance_config config, driver_request *requests,
                  size_t count) {
  run->alloc = blis_alloc_heap();
  run->state = (driver_latency){0};
  run->latency = (blis_latency_model){.ops = &driver_latency_ops, .state = &run->state};
  config.latency = &run->latency;
  driver_set_up(&run->d, &run->alloc, &config, requests, count);
}

/* E08: I + O - 1 tokens need 15 blocks, there are 10. */
static void test_request_that_outgrows_the_cache(void) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 30, 30)};
  blis_instance_config config = driver_base_config(NULL);
  config.kv_blocks = 10;
  config.horizon_us = 60000;
  plain_run run;
  blis_error error;
  start(&run, config, requests, 1);
  CHECK_OK(driver_run(&run.d, &error), &error);
  CHECK_EQ_I64(requests[0].live.state, BLIS_REQUEST_UNSERVABLE);
  CHECK_EQ_I64(driver_stats(&run.d).unservable, 1);
  CHECK_EQ_I64(driver_stats(&run.d).prompt_tokens, 0);
  CHECK(!requests[0].live.was_counted);
  driver_deinit(&run.d);

  config.defects = blis_instance_go_blis;
  start(&run, config, requests, 1);
  run.d.check_always = false;
  CHECK_OK(driver_run(&run.d, &error), &error);
  blis_instance_stats stats = driver_stats(&run.d);
  CHECK_EQ_I64(requests[0].live.state, BLIS_REQUEST_RUNNING);
  CHECK_EQ_I64(stats.preemptions, 5);
  CHECK_EQ_I64(stats.end_us, 59695);
  CHECK_EQ_I64(stats.batch_size, 1);
  driver_deinit(&run.d);
}

/* The same without a horizon, close to the end of the engine's patience. */
static void test_stuck_is_an_error(void) {
  blis_alloc alloc = blis_alloc_heap();
  driver_latency state = {0};
  blis_latency_model latency = {.ops = &driver_latency_ops, .state = &state};
  blis_instance_config config = driver_base_config(&latency);
  config.kv_blocks = 10;
  config.horizon_us = BLIS_TIME_NEVER_US;
  config.defects = blis_instance_go_blis;
  blis_instance_events events = {.ended = driver_on_ended};
  blis_live_request request = {.number = 7,
                               .prompt_tokens = 30,
                               .output_tokens = 30,
                               .chain = {.prompt_blocks = 7, .private_base = BLIS_BLOCK_PRIVATE}};
  blis__engine engine;
  blis_error error;
  CHECK_OK(blis__stepwise_new(&alloc, &config, &events, NULL, NULL, &blis__serving_vllm, &engine,
                              &error),
           &error);
  CHECK_OK(engine.ops->inject(engine.state, &request, 0, &error), &error);
  blis__stepwise *stepwise = engine.state;
  blis_status status = BLIS_OK;
  while (status == BLIS_OK) {
    bool clock_moved;
    if (stepwise->idle_steps == 100) {
      stepwise->idle_steps = BLIS__STUCK_STEPS - 100;
    }
    CHECK(stepwise->clock_us < 1000000);
    status = engine.ops->run_next(engine.state, BLIS_TIME_NEVER_US, &clock_moved, &error);
  }
  CHECK_STATUS(status, BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "request_7 needs 15 KV blocks and holds ");
  CHECK_CONTAINS(error.message, " of 10 are free");
  CHECK(engine.ops->check(engine.state));
  engine.ops->free(engine.state);
}

static void test_stuck_fast_engine_is_an_error(void) {
  blis_alloc alloc = blis_alloc_heap();
  driver_latency state = {0};
  blis_latency_model latency = {.ops = &driver_latency_ops, .state = &state};
  blis_instance_config config = driver_base_config(&latency);
  config.kv_blocks = 10;
  config.horizon_us = BLIS_TIME_NEVER_US;
  config.defects = blis_instance_go_blis;
  blis_instance_events events = {.ended = driver_on_ended};
  blis_live_request request = {.number = 7,
                               .prompt_tokens = 30,
                               .output_tokens = 30,
                               .chain = {.prompt_blocks = 7, .private_base = BLIS_BLOCK_PRIVATE}};
  blis__engine engine;
  blis_error error;
  CHECK_OK(blis__fast_new(&alloc, &config, &events, NULL, NULL, &engine, &error), &error);
  CHECK_OK(engine.ops->inject(engine.state, &request, 0, &error), &error);
  fast_engine *fast = engine.state;
  blis_status status = BLIS_OK;
  for (int64_t limit_us = 0; status == BLIS_OK; limit_us += 1000) {
    bool clock_moved;
    status = engine.ops->run_next(engine.state, limit_us, &clock_moved, &error);
    if (fast->fruitless_preemptions > 3) {
      fast->fruitless_preemptions += 1 << 19; /* to get there sooner */
    }
    CHECK(limit_us < 10000000);
  }
  CHECK_STATUS(status, BLIS_ERR_STUCK);
  CHECK_CONTAINS(error.message, "request_7 needs 15 KV blocks");
  CHECK_CONTAINS(error.message, "of 10 blocks are free");
  engine.ops->free(engine.state);
}

/* The client allowed fewer tokens than the model would produce. */
static void test_length_cap(void) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 6, 20)};
  requests[0].budget = 4;
  blis_instance_config config = driver_base_config(NULL);
  config.max_model_len_tokens = 10;
  plain_run run;
  blis_error error;
  start(&run, config, requests, 1);
  CHECK_OK(driver_run(&run.d, &error), &error);
  blis_instance_stats stats = driver_stats(&run.d);
  CHECK_EQ_I64(requests[0].live.state, BLIS_REQUEST_LENGTH_CAPPED);
  CHECK_EQ_I64(stats.length_capped, 1);
  CHECK_EQ_I64(stats.completed, 1);
  CHECK_EQ_I64(stats.output_tokens, 4);
  CHECK_EQ_I64(requests[0].live.e2e_us, 1117 + 3 * 1017 + 50);
  driver_deinit(&run.d);
}

/* What the owner may do at a time does not depend on the engine. */
static void test_events_of_a_time_are_together(void) {
  for (int engine = 0; engine < 2; engine++) {
    driver_request requests[] = {DRIVER_PLAIN(0, 0, 6, 5), DRIVER_PLAIN(1, 0, 6, 5)};
    blis_instance_config config = driver_base_config(NULL);
    config.engine = engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
    requests[0].deadline_us = 1; /* over before they are queued */
    requests[1].deadline_us = 1;
    plain_run run;
    blis_error error;
    start(&run, config, requests, 2);
    for (bool done = false; !done;) {
      CHECK(run.d.ended == 0 || run.d.ended == 2);
      CHECK_OK(driver_step(&run.d, &done, &error), &error);
    }
    CHECK_EQ_I64(run.d.ended, 2);
    driver_deinit(&run.d);
  }
}

static void check_failing_latency_model(blis_engine_kind engine) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 6, 5), DRIVER_PLAIN(1, 900, 7, 5)};
  blis_instance_config config = driver_base_config(NULL);
  config.engine = engine;
  plain_run run;
  blis_error error;
  for (int64_t fail_after = 1; fail_after < 6; fail_after++) {
    start(&run, config, requests, 2);
    run.state.fail_after = fail_after;
    CHECK_STATUS(driver_run(&run.d, &error), BLIS_ERR_POLICY);
    CHECK_STR(error.message, "no idea how long this takes");
    /* A fast engine is left in the middle of its step. */
    CHECK(engine == BLIS_ENGINE_FAST || blis_instance_check(run.d.instances[0]));
    bool clock_moved;
    if (blis_instance_next_us(run.d.instances[0]) < BLIS_TIME_NEVER_US) {
      CHECK_STATUS(
          blis_instance_run_next(run.d.instances[0], BLIS_TIME_NEVER_US, &clock_moved, &error),
          BLIS_ERR_POLICY);
    }
    driver_deinit(&run.d);
  }
}

static void test_failing_latency_model(void) {
  check_failing_latency_model(BLIS_ENGINE_STEPWISE);
  check_failing_latency_model(BLIS_ENGINE_FAST);
}

typedef struct script {
  int calls;
  int fail_at;
} script;

static blis_status longest_first(void *ud, const blis_live_request *a, const blis_live_request *b,
                                 bool *before, blis_error *error) {
  script *s = ud;
  if (++s->calls == s->fail_at) {
    return blis_fail(error, BLIS_ERR_POLICY, "cannot compare");
  }
  *before = a->prompt_tokens > b->prompt_tokens;
  return BLIS_OK;
}

static void test_scripted_scheduler(void) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 4, 1), DRIVER_PLAIN(1, 0, 8, 1),
                               DRIVER_PLAIN(2, 0, 4, 1), DRIVER_PLAIN(3, 0, 9, 1)};
  for (int fail_at = 0; fail_at < 4; fail_at++) {
    script s = {.fail_at = fail_at};
    blis_instance_config config = driver_base_config(NULL);
    config.max_num_seqs = 1;
    config.scheduler = BLIS_SCHEDULER_SCRIPTED;
    config.goes_before = longest_first;
    config.goes_before_ud = &s;
    plain_run run;
    blis_error error;
    start(&run, config, requests, 4);
    if (fail_at == 0) {
      CHECK_OK(driver_run(&run.d, &error), &error);
      CHECK_EQ_I64(requests[3].live.scheduling_delay_us, 100);
      CHECK_EQ_I64(requests[1].live.scheduling_delay_us, 1110);
      CHECK_EQ_I64(requests[0].live.scheduling_delay_us, 2120);
      CHECK_EQ_I64(requests[2].live.scheduling_delay_us, 3130);
    } else {
      CHECK_STATUS(driver_run(&run.d, &error), BLIS_ERR_POLICY);
      CHECK(blis_instance_check(run.d.instances[0]));
    }
    driver_deinit(&run.d);
  }
}

static void test_built_in_schedulers(void) {
  static const struct {
    blis_scheduler_kind scheduler;
    bool orders_ids_as_text;
    int order[4]; /* of slots */
  } cases[] = {
      {BLIS_SCHEDULER_FCFS, false, {0, 1, 2, 3}},
      {BLIS_SCHEDULER_PRIORITY_FCFS, false, {2, 3, 1, 0}},
      {BLIS_SCHEDULER_SJF, false, {3, 1, 0, 2}},
      {BLIS_SCHEDULER_REVERSE_PRIORITY, false, {0, 3, 1, 2}},
      {BLIS_SCHEDULER_FCFS, true, {0, 1, 2, 3}},
      {BLIS_SCHEDULER_PRIORITY_FCFS, true, {2, 1, 3, 0}},
      {BLIS_SCHEDULER_SJF, true, {1, 3, 0, 2}},
      {BLIS_SCHEDULER_REVERSE_PRIORITY, true, {0, 1, 3, 2}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    /* Equal arrivals and keys: 2 before 10 by number, request_10 before request_2 by text. */
    driver_request requests[] = {
        DRIVER_REQUEST(1, 0, 0, 8, 1, 5, 0, 0), DRIVER_REQUEST(10, 0, 0, 4, 1, 1, 0, 0),
        DRIVER_REQUEST(3, 0, 0, 9, 1, 0, 0, 0), DRIVER_REQUEST(2, 0, 0, 4, 1, 1, 0, 0)};
    blis_instance_config config = driver_base_config(NULL);
    config.max_num_seqs = 1;
    config.scheduler = cases[c].scheduler;
    config.defects.orders_ids_as_text = cases[c].orders_ids_as_text;
    plain_run run;
    blis_error error;
    start(&run, config, requests, 4);
    CHECK_OK(driver_run(&run.d, &error), &error);
    for (int k = 0; k < 4; k++) {
      CHECK_EQ_I64(requests[cases[c].order[k]].live.scheduling_delay_us, 100 + 1010 * k);
    }
    driver_deinit(&run.d);
  }
}

static void test_wrong_configurations(void) {
  driver_latency state = {0};
  blis_latency_model latency = {.ops = &driver_latency_ops, .state = &state};
  const blis_instance_config good = driver_base_config(&latency);
  struct {
    blis_instance_config config;
    const char *part;
  } cases[] = {
      {good, "kv_blocks is 0"},
      {good, "block_size_tokens is -1"},
      {good, "max_num_seqs is 0"},
      {good, "max_batched_tokens is 0"},
      {good, "long_prefill_threshold_tokens is -3"},
      {good, "max_model_len_tokens is 401, which needs 101 KV blocks"},
      {good, "horizon_us is -1"},
      {good, "cpu_bandwidth_tokens_per_us is 0"},
      {good, "a scripted scheduler needs goes_before"},
  };
  cases[0].config.kv_blocks = 0;
  cases[1].config.block_size_tokens = -1;
  cases[2].config.max_num_seqs = 0;
  cases[3].config.max_batched_tokens = 0;
  cases[4].config.long_prefill_threshold_tokens = -3;
  cases[5].config.max_model_len_tokens = 401;
  cases[6].config.horizon_us = -1;
  cases[7].config.cpu_blocks = 5;
  cases[8].config.scheduler = BLIS_SCHEDULER_SCRIPTED;
  blis_alloc alloc = blis_alloc_heap();
  blis_instance_events events = {.ended = driver_on_ended};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_instance *instance;
    blis_error error;
    CHECK_STATUS(blis_instance_new(&alloc, &cases[i].config, &events, &instance, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].part);
  }
  blis_instance_free(NULL);
}

/* One run with exhausted memory at the fail_at-th request for it. */
static blis_status run_out_of_memory(const blis_instance_config *config, long fail_at) {
  driver_request requests[] = {DRIVER_REQUEST(0, 0, 0, 8, 9, 1, 1, 8), DRIVER_PLAIN(1, 10, 7, 8),
                               DRIVER_REQUEST(2, 20, 9000, 12, 3, 1, 1, 8),
                               DRIVER_REQUEST(3, 30, 0, 8, 9, 1, 1, 8)};
  blis_alloc_probe memory = {.fail_at = fail_at};
  driver_latency state = {0};
  blis_latency_model latency = {.ops = &driver_latency_ops, .state = &state};
  driver d = {.alloc = blis_alloc_probed(&memory),
              .config = *config,
              .requests = requests,
              .request_count = 4};
  d.config.latency = &latency;
  blis_error error;
  blis_status status = driver_init(&d, 1, &error);
  if (status == BLIS_OK) {
    status = driver_run(&d, &error);
    CHECK(blis_instance_check(d.instances[0]) || status != BLIS_OK);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  driver_deinit(&d);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

/* Wherever memory runs out, the run stops with that error and leaks nothing. */
static void test_out_of_memory(void) {
  blis_instance_config tiered = driver_base_config(NULL);
  tiered.kv_blocks = 6;
  blis_instance_config fast = tiered;
  fast.engine = BLIS_ENGINE_FAST;
  blis_instance_config tight = fast;
  tight.max_batched_tokens = 2;
  blis_instance_config resuming = fast;
  resuming.preemption = BLIS_PREEMPTION_PRIORITY; /* leaves some out */
  resuming.rules = (blis_engine_rules){.leaves_at_step_end = true, .resumes_preempted = true};
  tiered.cpu_blocks = 8;
  tiered.cpu_bandwidth_tokens_per_us = 1;
  const blis_instance_config *configs[] = {&tiered, &fast, &tight, &resuming};
  for (int i = 0; i < 4; i++) {
    long fail_at = 1;
    while (run_out_of_memory(configs[i], fail_at) != BLIS_OK) {
      fail_at++;
    }
    CHECK(fail_at > 10);
  }
}

int main(void) {
  RUN(test_request_that_outgrows_the_cache);
  RUN(test_stuck_is_an_error);
  RUN(test_stuck_fast_engine_is_an_error);
  RUN(test_length_cap);
  RUN(test_events_of_a_time_are_together);
  RUN(test_failing_latency_model);
  RUN(test_scripted_scheduler);
  RUN(test_built_in_schedulers);
  RUN(test_wrong_configurations);
  RUN(test_out_of_memory);
  return check_done();
}
