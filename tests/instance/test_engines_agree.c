/*
 * The fast engine gives the stepwise engine's results, to the microsecond and
 * the block, on random traces and settings; every second case with evictions,
 * restarts and changes of speed. Arguments: how many cases (default 400, in the
 * nightly form 10000) and the number of the first one.
 */
#include "engine_rules.h"
#include "engine_twins.h"
#include "latency/coverage.h"

enum { MAX_REQUESTS = 60, PREFIX_BLOCKS = 40, GROUPS = 2 };

typedef struct case_settings {
  blis_instance_config config;
  int count;
  int64_t block_size;
  bool is_one_text; /* of all prompts and outputs */
} case_settings;

static blis_alloc heap;
static blis_block_id shared_ids[GROUPS][PREFIX_BLOCKS];

/* T = 1000 + 10 n + Tp + Cx / 7, with a guard band in which the sums refuse. */
static int64_t toy_time(const blis_batch_sums *sums) {
  return sums->requests == 0
             ? 1
             : 1000 + 10 * sums->requests + sums->prefill_tokens +
                   sums->decode_context_tokens / 7 +
                   sums->prefill_attention / 100 +
                   sums->prefill_context_tokens / 9;
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

static blis_first_token toy_first(const void *state) {
  return (blis_first_token){.delay_us = state == NULL ? 0 : 300, .depth = 1.4};
}

static const blis_coverage *toy_coverage(const void *state) {
  static const blis_coverage limits = {
      .tokens_max = 20, .requests_max = 5, .context_max = 40};
  (void)state;
  return &limits;
}

static const blis_latency_ops toy_ops = {.name = "toy",
                                         .step_time = toy_step,
                                         .step_time_from_sums = toy_sums,
                                         .queueing_time = toy_queueing,
                                         .output_token_time = toy_token,
                                         .fixed_overhead = toy_overhead,
                                         .first_token = toy_first,
                                         .coverage = toy_coverage};

static const blis_latency_ops toy_ahead_ops = {.name = "toy, asked ahead",
                                               .step_time = toy_step,
                                               .step_time_from_sums = toy_sums,
                                               .may_look_ahead = true,
                                               .queueing_time = toy_queueing,
                                               .output_token_time = toy_token,
                                               .fixed_overhead = toy_overhead,
                                               .first_token = toy_first,
                                               .coverage = toy_coverage};

static const blis_latency_ops toy_plain_ops = {.name = "toy without sums",
                                               .step_time = toy_step,
                                               .queueing_time = toy_queueing,
                                               .output_token_time = toy_token,
                                               .coverage = toy_coverage};

static int something;
enum { MODELS = 5 };
static const blis_latency_model models[MODELS] = {
    {.ops = &toy_ops},
    {.ops = &toy_ops, .state = &something},
    {.ops = &toy_ahead_ops},
    {.ops = &toy_ahead_ops, .state = &something},
    {.ops = &toy_plain_ops}};

static blis_status longer_prompt_first(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before,
                                       blis_error *error) {
  (void)ud;
  (void)error;
  *before = a->prompt_tokens > b->prompt_tokens;
  return BLIS_OK;
}

/* By number, and then the one that has got least far. */
static blis_status lowest_rank(void *ud, const blis_running_request *running,
                               size_t count, size_t *victim,
                               blis_error *error) {
  (void)ud;
  (void)error;
  *victim = 0;
  for (size_t i = 1; i < count; i++) {
    const blis_running_request *a = &running[i];
    const blis_running_request *b = &running[*victim];
    int64_t rank_a = a->request->number * 7 % 5;
    int64_t rank_b = b->request->number * 7 % 5;
    if (rank_a > rank_b ||
        (rank_a == rank_b && a->progress_tokens <= b->progress_tokens)) {
      *victim = i;
    }
  }
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
      .latency = &models[draw(random, MODELS)],
      .kv_blocks = 3 + draw(random, draw(random, 2) == 0 ? 20 : 200),
      .block_size_tokens = s.block_size,
      .max_num_seqs = pick(random, seqs, 5),
      .max_batched_tokens = pick(random, budgets, 6),
      .long_prefill_threshold_tokens = pick(random, thresholds, 6),
      .horizon_us = draw(random, 4) == 0 ? 5000 + draw(random, 200000)
                                         : BLIS_TIME_NEVER_US,
      .scheduler = (blis_scheduler_kind)draw(random, 5),
      .preemption = (blis_preemption_kind)draw(random, 3),
      .goes_before = longer_prompt_first,
      .choose_victim = lowest_rank};
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
  s.config.rules = draw_engine_rules(random);
  return s;
}

static blis_live_request draw_request(blis_random *random,
                                      const case_settings *s, int number,
                                      int64_t now_us) {
  int group = s->is_one_text ? 0 : (int)draw(random, GROUPS);
  int64_t prefix =
      !s->is_one_text && draw(random, 2) == 0 ? 0 : draw(random, 30);
  int64_t own = s->is_one_text || draw(random, 4) == 0 ? 0 : draw(random, 25);
  int64_t shared = prefix / s->block_size;
  blis_live_request r = {
      .arrival_us = now_us,
      .number = number,
      .prompt_tokens = prefix + own,
      .output_tokens = draw(random, 20),
      .priority = (double)draw(random, 4),
      .slot = (uint32_t)number,
      .chain = {.shared = shared_ids[group],
                .shared_count =
                    (uint32_t)(shared < PREFIX_BLOCKS ? shared : PREFIX_BLOCKS),
                .prompt_blocks = (uint32_t)((prefix + own) / s->block_size),
                .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(number + 1)
                                                         << 20}};
  if (own == 0 && (s->is_one_text || draw(random, 2) == 0)) {
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

/* Both engines in one case, and what is done to them beside arrivals. */
typedef struct trial {
  twins twins;
  blis_random faults;
  uint64_t next_private;
} trial;

/* Out of the instance; sometimes it comes back as if it were a new one. */
static void evict_both(trial *t, int k) {
  twin *const both[] = {&t->twins.stepwise, &t->twins.fast};
  blis_live_request *r = NULL;
  blis_error error;
  t->next_private += 1 << 20;
  for (int i = 0; i < 2; i++) {
    r = &both[i]->requests[k];
    CHECK_OK(blis_instance_evict(both[i]->instance, r, t->twins.now_us, &error),
             &error);
    CHECK(r->engine == NULL && blis_instance_check(both[i]->instance));
  }
  twins_check_request(&t->twins, k);
  if (draw(&t->faults, 2) == 0) {
    blis_live_request again = *r;
    again.chain.private_base = BLIS_BLOCK_PRIVATE | t->next_private;
    twins_inject(&t->twins, &again);
  }
}

static void restart_both(twins *t) {
  twin *const both[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < t->count; k++) {
      blis_live_request *r = &both[i]->requests[k];
      if (r->engine != NULL) {
        CHECK_OK(blis_instance_evict(both[i]->instance, r, t->now_us, &error),
                 &error);
      }
    }
    CHECK_OK(blis_instance_restart(both[i]->instance, &error), &error);
  }
}

static void suffer(trial *t) {
  static const double factors[] = {0.5, 1, 1, 3.25};
  twins *both = &t->twins;
  int k = (int)draw(&t->faults, both->count + 1);
  switch (draw(&t->faults, 12)) {
  case 0:
  case 1:
    if (k < both->count && both->fast.requests[k].engine != NULL) {
      evict_both(t, k);
    }
    return;
  case 2:
    if (draw(&t->faults, 8) == 0) {
      restart_both(both);
    }
    return;
  case 3: {
    double factor = factors[draw(&t->faults, 4)];
    blis_instance_slow_down(both->stepwise.instance, factor);
    blis_instance_slow_down(both->fast.instance, factor);
    return;
  }
  case 4:
    blis_instance_mark_cache(both->stepwise.instance);
    blis_instance_mark_cache(both->fast.instance);
    return;
  default:
    return;
  }
}

static void check_caches_at_mark(const twins *t,
                                 const blis_block_chain *chain) {
  uint32_t x = 0;
  uint32_t y = 0;
  CHECK(blis_instance_cached_blocks_at_mark(t->stepwise.instance, chain, &x) ==
        BLIS_OK);
  CHECK(blis_instance_cached_blocks_at_mark(t->fast.instance, chain, &y) ==
        BLIS_OK);
  CHECK_EQ_I64(x, y);
}

static void run_arrivals(trial *t, const case_settings *s, blis_random *random,
                         bool has_faults) {
  twins *both = &t->twins;
  int64_t gap_us = 1 + draw(random, draw(random, 2) == 0 ? 300 : 8000);
  while (both->count < s->count && both->now_us <= s->config.horizon_us) {
    blis_live_request r = draw_request(random, s, both->count, both->now_us);
    twin_run_before(&both->stepwise, both->now_us);
    twin_run_before(&both->fast, both->now_us);
    twins_check_stats(both);
    if (has_faults) {
      suffer(t);
    }
    twins_check_cache(both, &r.chain);
    check_caches_at_mark(both, &r.chain);
    twins_inject(both, &r);
    both->count++;
    if (has_faults) {
      suffer(t);
    }
    both->now_us += draw(random, gap_us);
  }
}

static void run_trial(int64_t seed, const case_settings *settings,
                      blis_random *drawn) {
  static trial t;
  case_settings s = *settings;
  blis_random random = *drawn;
  t.next_private = UINT64_C(1) << 40;
  blis_random_init_named(&t.faults, seed, "faults");
  twins_begin(&t.twins, &heap, &s.config);
  blis_instance_mark_cache(t.twins.stepwise.instance);
  blis_instance_mark_cache(t.twins.fast.instance);
  run_arrivals(&t, &s, &random, seed % 2 == 0);
  int64_t limit_us = blis_time_after_us(s.config.horizon_us, 1);
  twin_run_before(&t.twins.stepwise, limit_us);
  twin_run_before(&t.twins.fast, limit_us);
  twins_finish(&t.twins, true);
}

static void run_case(int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  case_settings s = draw_settings(&random);
  run_trial(seed, &s, &random);
}

/*
 * Prompts of one text, and what is produced goes on in it, while prefills take
 * a token a step, as decodes do: who came later decodes earlier, and both fill
 * the same block in the same step.
 */
static void run_lockstep_case(int64_t seed) {
  static const int64_t sizes[] = {2, 3, 4};
  blis_random random;
  blis_random_init_named(&random, seed, "lockstep");
  case_settings s = {.count = 8 + (int)draw(&random, 30),
                     .block_size = pick(&random, sizes, 3),
                     .is_one_text = true};
  s.config = (blis_instance_config){.latency = &models[draw(&random, MODELS)],
                                    .kv_blocks = 12 + draw(&random, 60),
                                    .block_size_tokens = s.block_size,
                                    .max_num_seqs = 2 + draw(&random, 10),
                                    .max_batched_tokens = 64,
                                    .long_prefill_threshold_tokens = 1,
                                    .horizon_us = BLIS_TIME_NEVER_US};
  run_trial(seed, &s, &random);
}

static int64_t case_count;
static int64_t first_case;

static void engines_agree(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_case(first_case + i);
  }
}

static void engines_agree_in_lockstep(void) {
  for (int64_t i = 0; i < case_count / 2; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_lockstep_case(first_case + i);
  }
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  case_count = twins_case_count(argc, argv, 400);
  first_case = twins_first_case(argc, argv);
  for (int g = 0; g < GROUPS; g++) {
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      shared_ids[g][k] = (blis_block_id)(1 + g * PREFIX_BLOCKS + k);
    }
  }
  RUN(engines_agree);
  RUN(engines_agree_in_lockstep);
  return check_done();
}
