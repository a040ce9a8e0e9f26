/*
 * The fast engine gives the stepwise engine's results where figures are absurd
 * or meet exactly: token counts near 2^31 and at every limit, budgets of one
 * token, horizons of 0, equal arrivals, deadlines at the very time of a step,
 * latency models that answer 0 or months. Arguments: how many cases (default
 * 1250, in the long form 12500) and the number of the first one.
 */
#include <math.h>

#include "engine_rules.h"
#include "engine_twins.h"
#include "instance/config/go_blis.h"

enum { SHARED_BLOCKS = 24, MAX_STEPS = 3000 };

static const int64_t most_tokens = UINT32_MAX;
static const int64_t months_us = INT64_C(1) << 44;
static blis_alloc heap;
static blis_block_id shared_ids[SHARED_BLOCKS];

typedef enum step_kind {
  STEPS_OF_ZERO, /* which counts as 1 us */
  STEPS_OF_1000, /* so that all sorts of events meet */
  STEPS_BY_SUMS, /* another time for every batch there can be */
  STEPS_OF_MONTHS
} step_kind;

typedef enum refusal { REFUSE_NEVER, REFUSE_SOME, REFUSE_ALL } refusal;

typedef struct timing {
  step_kind steps;
  refusal sums;
  int64_t queueing_us;
  bool queueing_by_prompt;
  int64_t token_us;
  int64_t overhead_us;
} timing;

static uint64_t mix(uint64_t hash, int64_t value) {
  hash = (hash ^ (uint64_t)value) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 31;
}

/* Every sum shows in the result. */
static uint64_t hash_of(const blis_batch_sums *sums) {
  uint64_t hash = mix(1, sums->requests);
  hash = mix(hash, sums->prefill_tokens);
  hash = mix(hash, sums->decode_requests);
  hash = mix(hash, sums->decode_context_tokens);
  hash = mix(hash, sums->prefill_attention);
  hash = mix(hash, sums->prefill_pairs);
  return mix(hash, sums->prefill_context_tokens);
}

static int64_t time_of(const timing *t, const blis_batch_sums *sums) {
  switch (t->steps) {
  case STEPS_OF_ZERO:
    return 0;
  case STEPS_OF_1000:
    return sums->requests == 0 ? 1 : 1000;
  case STEPS_BY_SUMS:
    return 1 + (int64_t)(hash_of(sums) % 3000);
  case STEPS_OF_MONTHS:
    return hash_of(sums) % 8 == 0 ? months_us : 1;
  }
  return 1;
}

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  (void)error;
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  *step_us = time_of(state, &sums);
  return BLIS_OK;
}

static bool from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const timing *t = state;
  *step_us = time_of(t, sums);
  return t->sums == REFUSE_NEVER || (t->sums == REFUSE_SOME && hash_of(sums) % 3 != 0);
}

static int64_t queueing(const void *state, int64_t prompt_tokens) {
  const timing *t = state;
  return t->queueing_by_prompt ? prompt_tokens * 37 % 3000 : t->queueing_us;
}

static int64_t token_time(const void *state) {
  return ((const timing *)state)->token_us;
}

static int64_t overhead(const void *state) {
  return ((const timing *)state)->overhead_us;
}

static const blis_latency_ops ops = {.name = "limits",
                                     .step_time = step_time,
                                     .step_time_from_sums = from_sums,
                                     .may_look_ahead = true,
                                     .queueing_time = queueing,
                                     .output_token_time = token_time,
                                     .fixed_overhead = overhead};

static timing draw_timing(blis_random *random) {
  const int64_t queueing_us[] = {0, 0, 1, 1000, 1000, months_us, INT64_MAX, -5};
  const int64_t small_us[] = {0, 0, 0, 7, months_us};
  return (timing){.steps = (step_kind)draw(random, 4),
                  .sums = (refusal)draw(random, 3),
                  .queueing_us = pick(random, queueing_us, 8),
                  .queueing_by_prompt = draw(random, 3) == 0,
                  .token_us = pick(random, small_us, 5),
                  .overhead_us = pick(random, small_us, 5)};
}

static int64_t at_most(int64_t value, int64_t limit) {
  return value < limit ? value : limit;
}

static blis_instance_config draw_config(blis_random *random, const blis_latency_model *latency) {
  static const int64_t sizes[] = {1, 1, 2, 3, 7, 16, 16, 1000};
  static const int64_t blocks[] = {1, 2, 3, 5, 9, 20, 60, 400};
  static const int64_t seqs[] = {1, 2, 7, 256, INT64_MAX};
  static const int64_t budgets[] = {1, 2, 3, 17, 2048, INT64_MAX};
  static const int64_t thresholds[] = {0, 0, 0, 1, 2, 16, INT64_MAX};
  static const int64_t horizons[] = {0,         1,         1000,     20000, INT64_MAX - 1,
                                     INT64_MAX, INT64_MAX, INT64_MAX};
  blis_instance_config c = {.latency = latency,
                            .block_size_tokens = pick(random, sizes, 8),
                            .kv_blocks = pick(random, blocks, 8),
                            .max_num_seqs = pick(random, seqs, 5),
                            .max_batched_tokens = pick(random, budgets, 6),
                            .long_prefill_threshold_tokens = pick(random, thresholds, 7),
                            .horizon_us = pick(random, horizons, 8),
                            .scheduler = (blis_scheduler_kind)draw(random, BLIS_SCHEDULER_SCRIPTED),
                            .preemption = (blis_preemption_kind)draw(random, 2)};
  if (draw(random, 20) == 0) {
    c.block_size_tokens = INT64_C(1) << 31; /* no fast engine for that */
  } else if (draw(random, 20) == 0) {
    c.block_size_tokens = 1 << 16;
    c.kv_blocks = 1 << 15; /* room for a prompt of 2^31 tokens */
  }
  if (draw(random, 3) == 0) {
    int64_t room = c.kv_blocks * c.block_size_tokens;
    c.max_model_len_tokens = draw(random, 2) == 0 ? 1 + draw(random, (int32_t)at_most(room, 40))
                                                  : room - draw(random, (int32_t)at_most(room, 3));
  }
  c.defects = (draw(random, 4) == 0) ? blis_instance_go_blis : (blis_instance_defects){false};
  c.rules = draw_engine_rules(random);
  return c;
}

/* A length at, or one beside, something that limits lengths. */
static int64_t draw_tokens(blis_random *random, const blis_instance_config *c) {
  int64_t size = c->block_size_tokens;
  const int64_t edges[] = {0,
                           1,
                           size,
                           2 * size,
                           size * draw(random, 5),
                           c->kv_blocks * size,
                           c->max_model_len_tokens,
                           c->max_batched_tokens,
                           INT64_C(1) << 31,
                           most_tokens};
  int64_t tokens = draw(random, 2) == 0 ? draw(random, 40) : pick(random, edges, 10);
  tokens = at_most(tokens, most_tokens) + draw(random, 3) - 1;
  return tokens < 0 ? 0 : at_most(tokens, most_tokens);
}

static int64_t draw_deadline(blis_random *random, int64_t now_us) {
  const int64_t deadlines[] = {now_us,
                               now_us + 1,
                               now_us + 1000,
                               now_us + 2000,
                               now_us + 1000 * draw(random, 30),
                               now_us + draw(random, 20000),
                               INT64_MAX,
                               1};
  return draw(random, 2) == 0 ? 0 : pick(random, deadlines, 8);
}

static int64_t draw_budget(blis_random *random, const blis_instance_config *c,
                           const blis_live_request *r) {
  const int64_t budgets[] = {
      0,  r->output_tokens, r->output_tokens + 1, c->max_model_len_tokens - r->prompt_tokens,
      -1, INT64_MAX};
  return draw(random, 2) == 0 ? r->output_tokens : pick(random, budgets, 6);
}

static blis_live_request draw_request(blis_random *random, const blis_instance_config *c, int slot,
                                      int64_t now_us) {
  static const double priorities[] = {0, 0.5, (double)INFINITY, -(double)INFINITY};
  int64_t size = c->block_size_tokens;
  blis_live_request r = {.arrival_us = now_us,
                         .number = draw(random, 10) == 0 ? INT64_MAX - slot : slot,
                         .slot = (uint32_t)slot,
                         .prompt_tokens = draw_tokens(random, c),
                         .output_tokens = draw_tokens(random, c),
                         .priority = priorities[draw(random, 4)],
                         .deadline_us = draw_deadline(random, now_us)};
  if (draw(random, 10) == 0) {
    r.number = -1 - slot;
    r.session = draw(random, 2) == 0 ? "" : "s_round_1_1";
    r.round_index = draw(random, 2) == 0 ? INT32_MAX : (int32_t)(slot % 2);
  }
  r.output_budget_tokens = draw_budget(random, c, &r);
  int64_t known = r.prompt_tokens + (draw(random, 3) == 0 ? r.output_tokens : 0);
  r.chain = (blis_block_chain){
      .shared = shared_ids,
      .shared_count = (uint32_t)at_most(known / size, draw(random, 2) == 0 ? SHARED_BLOCKS : 0),
      .prompt_blocks = (uint32_t)(r.prompt_tokens / size),
      .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(slot + 1) << 33};
  return r;
}

/* Another request just like first. */
static blis_live_request twin_of(const blis_live_request *first, int slot, int64_t now_us) {
  blis_live_request r = *first;
  r.arrival_us = now_us;
  r.number = r.number < 0 ? -1 - slot : slot;
  r.slot = (uint32_t)slot;
  r.chain.private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(slot + 1) << 33;
  r.deadline_us = 0;
  return r;
}

/*
 * Up to limit_us, or some steps more than so many: a prompt of 2^31 tokens at
 * one token a step takes too long. Both stop at the same time.
 */
static bool run_before(twins *t, int64_t limit_us) {
  blis_instance_stats stats;
  blis_error error;
  blis_instance *stepwise = t->stepwise.instance;
  bool is_long = false;
  for (int64_t us = blis_instance_next_us(stepwise); us < limit_us;
       us = blis_instance_next_us(stepwise)) {
    bool clock_moved;
    blis_instance_get_stats(stepwise, &stats);
    if (stats.steps > MAX_STEPS) {
      limit_us = blis_time_after_us(us, 1);
      is_long = true;
    }
    CHECK_OK(blis_instance_run_next(stepwise, limit_us, &clock_moved, &error), &error);
  }
  CHECK(blis_instance_check(stepwise));
  twin_run_before(&t->fast, limit_us);
  twins_check_stats(t);
  return !is_long;
}

static void run_case(int64_t seed) {
  static twins t;
  static const int64_t gaps_us[] = {0, 0, 1, 500, 1000, 5000};
  static const int64_t counts[] = {1, 2, 5, 20, 60, TWINS_MAX_REQUESTS};
  blis_random random;
  blis_random_init(&random, seed);
  timing times = draw_timing(&random);
  const blis_latency_model latency = {.ops = &ops, .state = &times};
  blis_instance_config config = draw_config(&random, &latency);
  int64_t gap_us = pick(&random, gaps_us, 6);
  bool is_regular = draw(&random, 2) == 0;
  bool all_alike = draw(&random, 5) == 0;
  int count = (int)pick(&random, counts, 6);
  twins_begin(&t, &heap, &config);
  int64_t end_us = blis_time_after_us(config.horizon_us, 1);
  bool goes_on = true;
  blis_live_request first = {0};
  while (goes_on && t.count < count && t.now_us <= config.horizon_us) {
    blis_live_request r = all_alike && t.count > 0
                              ? twin_of(&first, t.count, t.now_us)
                              : draw_request(&random, &config, t.count, t.now_us);
    if (t.count == 0) {
      first = r;
    }
    twins_check_cache(&t, &r.chain);
    twins_inject(&t, &r);
    t.count++;
    t.now_us += is_regular ? gap_us : draw(&random, (int32_t)gap_us + 1);
    goes_on = run_before(&t, at_most(t.now_us, end_us));
  }
  twins_finish(&t, goes_on && run_before(&t, end_us));
}

static int64_t case_count;
static int64_t first_case;

static void engines_agree_at_limits(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_case(first_case + i);
  }
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  case_count = twins_case_count(argc, argv, 1250);
  first_case = twins_first_case(argc, argv);
  for (int k = 0; k < SHARED_BLOCKS; k++) {
    shared_ids[k] = (blis_block_id)(1 + k);
  }
  RUN(engines_agree_at_limits);
  return check_done();
}
