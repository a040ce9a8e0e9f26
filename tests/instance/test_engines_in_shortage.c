/*
 * The fast engine gives the stepwise engine's results where KV blocks are
 * short: requests that together need several times the cache, growing while
 * they run, of mixed lengths and with common prefixes, preempted many times,
 * some of them cancelled or late, with somebody looking in between. Arguments:
 * how many cases (default 5000, in the long form 50000) and the number of the
 * first one.
 */
#include "base/minmax.h"
#include "engine_rules.h"
#include "engine_trial.h"
#include "toy_engine.h"

enum { GROUPS = 3, PREFIX_BLOCKS = 64 };

/* What requests of a case are like, in blocks of its size. */
typedef struct shape {
  int64_t block_size;
  int64_t prompt_blocks; /* own, at most */
  int64_t prefix_blocks; /* common, at most; 0 = nothing is common */
  int64_t output_blocks; /* at most */
  bool is_one_text;      /* outputs are found by later prompts, too */
  bool has_deadlines;
  int count;
  int64_t gap_us; /* between arrivals, at most */
} shape;

static blis_alloc heap;
static blis_block_id shared_ids[GROUPS][PREFIX_BLOCKS];
static int64_t case_count;
static int64_t first_case;
static int64_t preempting_cases;
static int64_t preemptions;
static int64_t requests;

static shape draw_shape(blis_random *random) {
  static const int64_t sizes[] = {1, 2, 4, 4, 16};
  static const int64_t counts[] = {8, 15, 25, 25, 40, 60};
  static const int64_t gaps_us[] = {1, 1, 300, 1000, 2500};
  shape s = {.block_size = pick(random, sizes, 5)};
  s.prompt_blocks = 1 + draw(random, 8);
  s.prefix_blocks = draw(random, 2) == 0 ? 0 : 1 + draw(random, 12);
  s.output_blocks = 3 + draw(random, s.block_size == 16 ? 6 : 18);
  s.is_one_text = draw(random, 10) == 0;
  s.has_deadlines = draw(random, 3) == 0;
  s.count = (int)pick(random, counts, 6);
  if (draw(random, 40) == 0) {
    s.count = TWINS_MAX_REQUESTS;
  }
  s.gap_us = pick(random, gaps_us, 5);
  return s;
}

/* Room for one to three requests of full length at a time. */
static int64_t draw_blocks(blis_random *random, const shape *s) {
  int64_t most = s->prompt_blocks + s->prefix_blocks + s->output_blocks;
  return most + 1 + draw(random, 3 * (int32_t)most / 2);
}

static blis_instance_config draw_config(blis_random *random, const shape *s) {
  static const int64_t seqs[] = {3, 6, 16, 256, 256, 256};
  static const int64_t budgets[] = {3, 16, 64, 64, 2048, 2048};
  static const int64_t thresholds[] = {0, 0, 0, 0, 1, 5, 32};
  static const blis_preemption_kind preemptions_of[] = {
      BLIS_PREEMPTION_FCFS, BLIS_PREEMPTION_FCFS, BLIS_PREEMPTION_FCFS, BLIS_PREEMPTION_PRIORITY,
      BLIS_PREEMPTION_SCRIPTED};
  blis_instance_config c = {
      .latency = &toy_models[draw(random, TOY_MODELS)],
      .kv_blocks = draw_blocks(random, s),
      .block_size_tokens = s->block_size,
      .max_num_seqs = pick(random, seqs, 6),
      .max_batched_tokens = pick(random, budgets, 6),
      .long_prefill_threshold_tokens = pick(random, thresholds, 7),
      .horizon_us = draw(random, 5) == 0 ? 5000 + draw(random, 300000) : BLIS_TIME_NEVER_US,
      .scheduler =
          draw(random, 2) == 0 ? BLIS_SCHEDULER_FCFS : (blis_scheduler_kind)draw(random, 5),
      .preemption = preemptions_of[draw(random, 5)],
      .goes_before = toy_goes_before,
      .choose_victim = toy_choose_victim,
      .rules = draw_engine_rules(random)};
  if (draw(random, 8) == 0) {
    int64_t room = c.kv_blocks * s->block_size;
    c.max_model_len_tokens = room - draw(random, (int32_t)room / 2);
  }
  if (draw(random, 20) == 0) {
    c.cpu_blocks = 1 + draw(random, 100);
    c.cpu_bandwidth_tokens_per_us = 0.5;
    c.cpu_base_latency_us = 20;
  }
  return c;
}

/* Up to most blocks, and sometimes whole blocks. */
static int64_t draw_tokens(blis_random *random, const shape *s, int64_t most) {
  int64_t tokens = draw(random, (int32_t)(most * s->block_size) + 1);
  return draw(random, 3) == 0 ? tokens / s->block_size * s->block_size : tokens;
}

static blis_live_request draw_request(blis_random *random, const shape *s, int slot,
                                      int64_t now_us) {
  int64_t group = draw(random, GROUPS);
  int64_t prefix =
      s->prefix_blocks == 0 || draw(random, 4) == 0 ? 0 : draw_tokens(random, s, s->prefix_blocks);
  int64_t own = s->is_one_text ? 0 : draw_tokens(random, s, s->prompt_blocks);
  int64_t output = blis_max_i64(draw_tokens(random, s, s->output_blocks),
                                draw_tokens(random, s, s->output_blocks));
  int64_t known = prefix + (s->is_one_text ? output : 0);
  blis_live_request r = {
      .arrival_us = now_us,
      .number = slot,
      .prompt_tokens = prefix + own,
      .output_tokens = output,
      .output_budget_tokens = output,
      .priority = (double)draw(random, 3),
      .slot = (uint32_t)slot,
      .chain = {.shared = shared_ids[group],
                .shared_count = (uint32_t)blis_min_i64(known / s->block_size, PREFIX_BLOCKS),
                .prompt_blocks = (uint32_t)((prefix + own) / s->block_size),
                .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(slot + 1) << 20}};
  if (s->has_deadlines && draw(random, 2) == 0) {
    r.deadline_us = now_us + 1 + draw(random, 300000);
  }
  return r;
}

/* Looks at both every so often until all is done, or for a while only. */
static bool run_and_look(trial *t, blis_random *random, const shape *s, int64_t horizon_us) {
  twins *both = &t->twins;
  int64_t slice_us = 1 + draw(random, 50000);
  bool is_cut = draw(random, 5) == 0;
  int looks = is_cut ? (int)draw(random, 10) : 20;
  for (int i = 0; i < looks && both->now_us <= horizon_us; i++) {
    blis_live_request r = draw_request(random, s, TWINS_MAX_REQUESTS, both->now_us);
    trial_run_before(t, both->now_us);
    twins_check_cache(both, &r.chain);
    trial_check_mark(both, &r.chain);
    if (t->has_faults) {
      trial_suffer(t);
    }
    both->now_us = blis_time_after_us(both->now_us, slice_us);
  }
  if (!is_cut) {
    trial_run_before(t, blis_time_after_us(horizon_us, 1));
  }
  return !is_cut;
}

static void count_case(const trial *t) {
  blis_instance_stats stats;
  blis_instance_get_stats(t->twins.fast.instance, &stats);
  preemptions += stats.preemptions;
  preempting_cases += stats.preemptions > 0;
  requests += t->twins.count;
}

static void run_case(int64_t seed) {
  static trial t;
  blis_random random;
  blis_random_init_named(&random, seed, "shortage");
  shape s = draw_shape(&random);
  blis_instance_config config = draw_config(&random, &s);
  t.twins.has_no_itl = draw(&random, 10) == 0;
  trial_begin(&t, &heap, &config, seed);
  t.has_faults = draw(&random, 3) == 0;
  while (t.twins.count < s.count && t.twins.now_us <= config.horizon_us) {
    blis_live_request r = draw_request(&random, &s, t.twins.count, t.twins.now_us);
    trial_arrive(&t, &r);
    t.twins.now_us += draw(&random, (int32_t)s.gap_us);
  }
  bool is_over = run_and_look(&t, &random, &s, config.horizon_us);
  count_case(&t);
  twins_finish(&t.twins, is_over);
}

static void engines_agree_in_shortage(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_case(first_case + i);
  }
  printf("# %" PRId64 " of %" PRId64 " cases preempt, %" PRId64 " times in all, %" PRId64
         " requests\n",
         preempting_cases, case_count, preemptions, requests);
  CHECK(case_count < 100 || preempting_cases * 10 > case_count * 7);
}

/*
 * A request that lost its place long ago still has its latencies, or takes them
 * along when its deadline comes, after more steps than the engine remembers.
 */
static void latencies_outlive_the_history(int64_t deadline_us) {
  static const int64_t gaps_us[] = {1, 5000, 1, 1, 130000};
  static twins t;
  blis_instance_config config = {.latency = &toy_models[2],
                                 .kv_blocks = 130,
                                 .block_size_tokens = 4,
                                 .max_num_seqs = 2,
                                 .max_batched_tokens = 64,
                                 .horizon_us = BLIS_TIME_NEVER_US,
                                 .scheduler = BLIS_SCHEDULER_SJF,
                                 .rules.resumes_preempted = true};
  t.has_no_itl = false;
  twins_begin(&t, &heap, &config);
  /* Two that do not fit together, and then shorter ones, one after another. */
  for (int i = 0; i < TWINS_MAX_REQUESTS; i++) {
    blis_live_request r = {.arrival_us = t.now_us,
                           .number = i,
                           .slot = (uint32_t)i,
                           .prompt_tokens = i < 2 ? 10 : 4,
                           .output_tokens = i < 2 ? 400 : 250,
                           .deadline_us = i == 1 ? deadline_us : 0,
                           .chain = {.prompt_blocks = i < 2 ? 2 : 1,
                                     .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(i + 1) << 20}};
    r.output_budget_tokens = r.output_tokens;
    twin_run_before(&t.stepwise, t.now_us);
    twin_run_before(&t.fast, t.now_us);
    twins_inject(&t, &r);
    t.count++;
    t.now_us += gaps_us[blis_min_i64(i, 4)];
  }
  twin_run_before(&t.stepwise, BLIS_TIME_NEVER_US);
  twin_run_before(&t.fast, BLIS_TIME_NEVER_US);
  blis_instance_stats stats;
  blis_instance_get_stats(t.fast.instance, &stats);
  CHECK(stats.preemptions > 0 && stats.steps > 1 << 14);
  CHECK_EQ_I64(stats.timed_out, deadline_us > 0);
  twins_finish(&t, true);
}

static void latencies_kept_for_long(void) {
  latencies_outlive_the_history(0);
}

static void latencies_taken_back_late(void) {
  latencies_outlive_the_history(37000000);
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  case_count = twins_case_count(argc, argv, 5000);
  first_case = twins_first_case(argc, argv);
  for (int g = 0; g < GROUPS; g++) {
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      shared_ids[g][k] = (blis_block_id)(1 + g * PREFIX_BLOCKS + k);
    }
  }
  RUN(engines_agree_in_shortage);
  RUN(latencies_kept_for_long);
  RUN(latencies_taken_back_late);
  return check_done();
}
