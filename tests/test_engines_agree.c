/*
 * The fast engine gives the stepwise engine's results, to the microsecond and
 * the block, on random traces and settings; every second case with evictions,
 * restarts and changes of speed. Argument: how many cases (default 400; the
 * nightly form is 10000), and the number of the first one.
 */
#include "base/random.h"
#include "base/time.h"
#include "check.h"
#include "instance/instance.h"

enum { MAX_REQUESTS = 60, PREFIX_BLOCKS = 40, GROUPS = 2 };

typedef struct case_settings {
  blis_instance_config config;
  int count;
  int64_t block_size;
} case_settings;

/* One run of one engine. */
typedef struct run {
  blis_instance *instance;
  blis_histogram itl_us;
  blis_live_request requests[MAX_REQUESTS];
  int64_t end_us[MAX_REQUESTS];
  bool has_ended[MAX_REQUESTS];
  int first_tokens;
} run;

static blis_alloc heap;
static blis_block_id shared_ids[GROUPS][PREFIX_BLOCKS];

/* T = 1000 + 10 n + Tp + Cx / 7, with a guard band in which the sums refuse. */
static int64_t toy_time(const blis_batch_sums *sums) {
  return sums->requests == 0
             ? 1
             : 1000 + 10 * sums->requests + sums->prefill_tokens +
                   sums->decode_context_tokens / 7 +
                   sums->prefill_attention / 100;
}

static blis_status toy_step(void *state, const blis_batch_item *items,
                            size_t count, int64_t *step_us, blis_error *error) {
  (void)state;
  (void)error;
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  *step_us = toy_time(&sums);
  return BLIS_OK;
}

static bool toy_sums(const void *state, const blis_batch_sums *sums,
                     int64_t *step_us) {
  (void)state;
  *step_us = toy_time(sums);
  return *step_us % 5 != 0;
}

static int64_t toy_queueing(const void *state, int64_t prompt_tokens) {
  return state == NULL ? 100 : 100 + prompt_tokens * 37 % 1500;
}

static int64_t toy_token(const void *state) {
  (void)state;
  return 7;
}

static int64_t toy_overhead(const void *state) {
  (void)state;
  return 50;
}

static const blis_latency_ops toy_ops = {.name = "toy",
                                         .step_time = toy_step,
                                         .step_time_from_sums = toy_sums,
                                         .queueing_time = toy_queueing,
                                         .output_token_time = toy_token,
                                         .fixed_overhead = toy_overhead};

static const blis_latency_ops toy_plain_ops = {.name = "toy without sums",
                                               .step_time = toy_step,
                                               .queueing_time = toy_queueing,
                                               .output_token_time = toy_token};

static int something;
static const blis_latency_model models[] = {
    {.ops = &toy_ops},
    {.ops = &toy_ops, .state = &something},
    {.ops = &toy_plain_ops}};

static int64_t draw(blis_random *random, int64_t n) {
  return blis_random_intn(random, (int32_t)n);
}

static int64_t pick(blis_random *random, const int64_t *values, int64_t n) {
  return values[draw(random, n)];
}

static blis_status longer_prompt_first(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before,
                                       blis_error *error) {
  (void)ud;
  (void)error;
  *before = a->prompt_tokens > b->prompt_tokens;
  return BLIS_OK;
}

static case_settings draw_settings(blis_random *random) {
  static const int64_t sizes[] = {1, 2, 4, 4, 16};
  static const int64_t seqs[] = {1, 2, 3, 8, 256};
  static const int64_t budgets[] = {1, 2, 5, 16, 64, 2048};
  static const int64_t thresholds[] = {0, 0, 0, 1, 3, 8};
  case_settings s = {.count = 1 + (int)draw(random, MAX_REQUESTS)};
  s.block_size = pick(random, sizes, 5);
  s.config = (blis_instance_config){
      .latency = &models[draw(random, 3)],
      .kv_blocks = 3 + draw(random, draw(random, 2) == 0 ? 20 : 200),
      .block_size_tokens = s.block_size,
      .max_num_seqs = pick(random, seqs, 5),
      .max_batched_tokens = pick(random, budgets, 6),
      .long_prefill_threshold_tokens = pick(random, thresholds, 6),
      .horizon_us = draw(random, 4) == 0 ? 5000 + draw(random, 200000)
                                         : BLIS_TIME_NEVER_US,
      .scheduler = (blis_scheduler_kind)draw(random, 5),
      .preemption = (blis_preemption_kind)draw(random, 2),
      .goes_before = longer_prompt_first};
  if (draw(random, 3) == 0) {
    s.config.max_model_len_tokens = 1 + draw(random, 60);
    int64_t limit = s.config.kv_blocks * s.block_size;
    if (s.config.max_model_len_tokens > limit) {
      s.config.max_model_len_tokens = limit;
    }
  }
  /* Only with a horizon, since what is reproduced may never end. */
  s.config.reproduce_go_blis_defects =
      s.config.horizon_us < BLIS_TIME_NEVER_US && draw(random, 2) == 0;
  return s;
}

static blis_live_request draw_request(blis_random *random,
                                      const case_settings *s, int number,
                                      int64_t now_us) {
  int group = (int)draw(random, GROUPS);
  int64_t prefix = draw(random, 2) == 0 ? 0 : draw(random, 30);
  int64_t own = draw(random, 4) == 0 ? 0 : draw(random, 25);
  int64_t shared = prefix / s->block_size;
  blis_live_request r = {
      .arrival_us = now_us,
      .number = number,
      .prompt_tokens = prefix + own,
      .output_tokens = draw(random, 20),
      .priority = (int32_t)draw(random, 4),
      .slot = (uint32_t)number,
      .chain = {.shared = shared_ids[group],
                .shared_count =
                    (uint32_t)(shared < PREFIX_BLOCKS ? shared : PREFIX_BLOCKS),
                .prompt_blocks = (uint32_t)((prefix + own) / s->block_size),
                .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(number + 1)
                                                         << 20}};
  if (own == 0 && draw(random, 2) == 0) {
    /* What it produces is where the next prompt of the group goes on. */
    int64_t all = (prefix + r.output_tokens) / s->block_size;
    r.chain.shared_count =
        (uint32_t)(all < PREFIX_BLOCKS ? all : PREFIX_BLOCKS);
  }
  r.output_budget_tokens = draw(random, 8) == 0 ? 0 : r.output_tokens;
  if (draw(random, 3) == 0) {
    r.deadline_us = now_us + 1 + draw(random, 60000);
  }
  return r;
}

static void on_first_token(void *ud, blis_live_request *request,
                           int64_t now_us) {
  (void)request;
  (void)now_us;
  ((run *)ud)->first_tokens++;
}

static blis_status on_ended(void *ud, blis_live_request *request,
                            int64_t now_us, int64_t end_us, blis_error *error) {
  run *r = ud;
  (void)now_us;
  (void)error;
  CHECK(!r->has_ended[request->slot]);
  r->has_ended[request->slot] = true;
  r->end_us[request->slot] = end_us;
  return BLIS_OK;
}

static void begin(run *r, const case_settings *s, blis_engine_kind engine) {
  *r = (run){0};
  blis_histogram_init(&r->itl_us, &heap);
  blis_instance_config config = s->config;
  config.engine = engine;
  blis_instance_events events = {.ud = r,
                                 .first_token = on_first_token,
                                 .ended = on_ended,
                                 .itl_us = &r->itl_us};
  blis_error error;
  CHECK_OK(blis_instance_new(&heap, &config, &events, &r->instance, &error),
           &error);
}

static void run_before(run *r, int64_t limit_us) {
  blis_error error;
  while (blis_instance_next_us(r->instance) < limit_us) {
    bool clock_moved = false;
    CHECK_OK(
        blis_instance_run_next(r->instance, limit_us, &clock_moved, &error),
        &error);
    CHECK(blis_instance_check(r->instance));
  }
}

static void check_same_stats(const run *a, const run *b) {
  blis_instance_stats x;
  blis_instance_stats y;
  blis_instance_get_stats(a->instance, &x);
  blis_instance_get_stats(b->instance, &y);
#define SAME(field) CHECK_EQ_I64(x.field, y.field)
  SAME(queue_depth);
  SAME(batch_size);
  SAME(used_kv_blocks);
  SAME(cache_hits);
  SAME(cache_misses);
  SAME(preemptions);
  SAME(kv_allocation_failures);
  SAME(completed);
  SAME(length_capped);
  SAME(timed_out);
  SAME(unservable);
  SAME(prompt_tokens);
  SAME(output_tokens);
  SAME(steps);
  SAME(queue_depth_sum);
#undef SAME
}

static void check_same_request(const run *a, const run *b, int i) {
  const blis_live_request *x = &a->requests[i];
  const blis_live_request *y = &b->requests[i];
  CHECK_EQ_I64(x->state, y->state);
  CHECK_EQ_I64(x->was_counted, y->was_counted);
  CHECK_EQ_I64(x->ttft_us, y->ttft_us);
  CHECK_EQ_I64(x->scheduling_delay_us, y->scheduling_delay_us);
  CHECK_EQ_I64(x->itl_sum_us, y->itl_sum_us);
  CHECK_EQ_I64(x->itl_count, y->itl_count);
  CHECK_EQ_I64(x->e2e_us, y->e2e_us);
  CHECK_EQ_I64(a->has_ended[i], b->has_ended[i]);
  CHECK_EQ_I64(a->end_us[i], b->end_us[i]);
}

static void check_same_itl(run *a, run *b) {
  int64_t x = -1;
  int64_t y = -1;
  uint64_t count_x = 0;
  uint64_t count_y = 0;
  while (blis_histogram_next(&a->itl_us, &x, &count_x)) {
    CHECK(blis_histogram_next(&b->itl_us, &y, &count_y));
    CHECK_EQ_I64(x, y);
    CHECK_EQ_I64(count_x, count_y);
  }
  CHECK(!blis_histogram_next(&b->itl_us, &y, &count_y));
}

static void finish(run *r, int64_t *end_us) {
  blis_instance_stats stats;
  blis_instance_get_stats(r->instance, &stats);
  *end_us = stats.end_us;
  blis_instance_close(r->instance);
}

/* Both engines in one case, and what is done to them beside arrivals. */
typedef struct twins {
  run stepwise;
  run fast;
  blis_random faults;
  int count;
  int64_t now_us;
  uint64_t next_private;
} twins;

static void inject_both(twins *t, int k) {
  run *const runs[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(blis_instance_inject(runs[i]->instance, &runs[i]->requests[k],
                                  t->now_us, &error),
             &error);
  }
}

/* Out of the instance; sometimes it comes back as if it were a new one. */
static void evict_both(twins *t, int k) {
  run *const runs[] = {&t->stepwise, &t->fast};
  blis_error error;
  t->next_private += 1 << 20;
  for (int i = 0; i < 2; i++) {
    blis_live_request *r = &runs[i]->requests[k];
    CHECK_OK(blis_instance_evict(runs[i]->instance, r, t->now_us, &error),
             &error);
    CHECK(r->engine == NULL && blis_instance_check(runs[i]->instance));
    r->chain.private_base = BLIS_BLOCK_PRIVATE | t->next_private;
  }
  check_same_request(&t->stepwise, &t->fast, k);
  if (draw(&t->faults, 2) == 0) {
    inject_both(t, k);
  }
}

static void restart_both(twins *t) {
  run *const runs[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < t->count; k++) {
      blis_live_request *r = &runs[i]->requests[k];
      if (r->engine != NULL) {
        CHECK_OK(blis_instance_evict(runs[i]->instance, r, t->now_us, &error),
                 &error);
      }
    }
    CHECK_OK(blis_instance_restart(runs[i]->instance, &error), &error);
  }
}

static void suffer(twins *t) {
  static const double factors[] = {0.5, 1, 1, 3.25};
  int k = (int)draw(&t->faults, t->count + 1);
  switch (draw(&t->faults, 12)) {
  case 0:
  case 1:
    if (k < t->count && t->fast.requests[k].engine != NULL) {
      evict_both(t, k);
    }
    return;
  case 2:
    if (draw(&t->faults, 8) == 0) {
      restart_both(t);
    }
    return;
  case 3: {
    double factor = factors[draw(&t->faults, 4)];
    blis_instance_slow_down(t->stepwise.instance, factor);
    blis_instance_slow_down(t->fast.instance, factor);
    return;
  }
  case 4:
    blis_instance_mark_cache(t->stepwise.instance);
    blis_instance_mark_cache(t->fast.instance);
    return;
  default:
    return;
  }
}

static void check_same_cache(const twins *t, const blis_block_chain *chain) {
  uint32_t x = 0;
  uint32_t y = 0;
  CHECK_EQ_I64(blis_instance_cached_blocks(t->stepwise.instance, chain),
               blis_instance_cached_blocks(t->fast.instance, chain));
  CHECK(blis_instance_cached_blocks_at_mark(t->stepwise.instance, chain, &x) ==
        BLIS_OK);
  CHECK(blis_instance_cached_blocks_at_mark(t->fast.instance, chain, &y) ==
        BLIS_OK);
  CHECK_EQ_I64(x, y);
}

static void run_arrivals(twins *t, const case_settings *s, blis_random *random,
                         bool has_faults) {
  int64_t gap_us = 1 + draw(random, draw(random, 2) == 0 ? 300 : 8000);
  while (t->count < s->count && t->now_us <= s->config.horizon_us) {
    blis_live_request r = draw_request(random, s, t->count, t->now_us);
    run_before(&t->stepwise, t->now_us);
    run_before(&t->fast, t->now_us);
    check_same_stats(&t->stepwise, &t->fast);
    if (has_faults) {
      suffer(t);
    }
    check_same_cache(t, &r.chain);
    t->stepwise.requests[t->count] = r;
    t->fast.requests[t->count] = r;
    inject_both(t, t->count++);
    if (has_faults) {
      suffer(t);
    }
    t->now_us += draw(random, gap_us);
  }
}

static void run_case(int64_t seed) {
  static twins t;
  blis_random random;
  blis_random_init(&random, seed);
  case_settings s = draw_settings(&random);
  t = (twins){.next_private = UINT64_C(1) << 40};
  blis_random_init_named(&t.faults, seed, "faults");
  begin(&t.stepwise, &s, BLIS_ENGINE_STEPWISE);
  begin(&t.fast, &s, BLIS_ENGINE_FAST);
  blis_instance_mark_cache(t.stepwise.instance);
  blis_instance_mark_cache(t.fast.instance);
  run_arrivals(&t, &s, &random, seed % 2 == 0);
  int64_t limit_us = blis_time_after_us(s.config.horizon_us, 1);
  run_before(&t.stepwise, limit_us);
  run_before(&t.fast, limit_us);
  check_same_stats(&t.stepwise, &t.fast);
  int64_t end_stepwise = 0;
  int64_t end_fast = 0;
  finish(&t.stepwise, &end_stepwise);
  finish(&t.fast, &end_fast);
  CHECK_EQ_I64(end_stepwise, end_fast);
  for (int k = 0; k < t.count; k++) {
    check_same_request(&t.stepwise, &t.fast, k);
  }
  check_same_itl(&t.stepwise, &t.fast);
  CHECK_EQ_I64(t.stepwise.first_tokens, t.fast.first_tokens);
  blis_instance_free(t.stepwise.instance);
  blis_instance_free(t.fast.instance);
  blis_histogram_deinit(&t.stepwise.itl_us);
  blis_histogram_deinit(&t.fast.itl_us);
}

static int64_t case_count = 400;
static int64_t first_case = 1;

static void engines_agree(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_case(first_case + i);
  }
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  if (argc > 1) {
    case_count = strtoll(argv[1], NULL, 10);
  }
  if (argc > 2) {
    first_case = strtoll(argv[2], NULL, 10);
  }
  for (int g = 0; g < GROUPS; g++) {
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      shared_ids[g][k] = (blis_block_id)(1 + g * PREFIX_BLOCKS + k);
    }
  }
  RUN(engines_agree);
  return check_done();
}
