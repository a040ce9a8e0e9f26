/*
 * KV that is brought back: times that can be worked out by hand, and random
 * cases in which both engines agree, whatever is offered, lost on its way or
 * not wanted any more. Arguments: how many random cases (default 1500) and the
 * number of the first one.
 */
#include "engine_rules.h"
#include "engine_twins.h"
#include "instance/config/go_blis.h"
#include "toy_engine.h"

enum { REQUESTS_MAX = 50, PREFIX_BLOCKS = 40, GROUPS = 2 };

/* Something on its way to a request. */
typedef struct way {
  int64_t due_us;
  uint32_t end;
  bool is_on;
} way;

/* One engine, and what brings it KV. */
typedef struct side {
  twin *twin;
  blis_kv_source source;
  way ways[TWINS_MAX_REQUESTS]; /* by slot */
  int64_t brought[TWINS_MAX_REQUESTS];
  int64_t count; /* of what was brought, and */
  int64_t canceled;
  int64_t seed;
} side;

static blis_alloc heap;
static blis_block_id shared_ids[GROUPS][PREFIX_BLOCKS];

static uint64_t mix(int64_t a, int64_t b, int64_t c) {
  uint64_t h = (uint64_t)a * UINT64_C(0x9e3779b97f4a7c15) +
               (uint64_t)b * UINT64_C(0xc2b2ae3d27d4eb4f) +
               (uint64_t)c * UINT64_C(0x165667b19e3779f9);
  h ^= h >> 31;
  h *= UINT64_C(0xbf58476d1ce4e5b9);
  return h ^ h >> 29;
}

/* What is offered changes with time, and with what was brought before. */
static blis_status offer(void *ud, const blis_live_request *r, blis_kv_stretch *stretch,
                         int64_t now_us, blis_error *error) {
  (void)error;
  const side *s = ud;
  CHECK(stretch->first < stretch->end);
  CHECK_EQ_I64(r->state, BLIS_REQUEST_QUEUED);
  uint64_t h = mix(s->seed, r->slot, now_us / 20000 + 1000 * s->brought[r->slot]);
  stretch->end = h % 3 == 0 ? 0 : (uint32_t)(h / 3 % (stretch->end + 1));
  return BLIS_OK;
}

static blis_status bring(void *ud, blis_live_request *r, const blis_kv_stretch *stretch,
                         int64_t now_us, blis_error *error) {
  (void)error;
  side *s = ud;
  way *w = &s->ways[r->slot];
  CHECK(!w->is_on && stretch->first < stretch->end);
  uint64_t h = mix(s->seed + 1, r->slot, s->brought[r->slot]++);
  uint32_t lost = h % 5 == 0 ? (uint32_t)(h / 5 % (stretch->end - stretch->first)) : 0;
  *w =
      (way){.due_us = now_us + (int64_t)(h / 64 % 9000), .end = stretch->end - lost, .is_on = true};
  s->count++;
  return BLIS_OK;
}

static void cancel(void *ud, blis_live_request *r) {
  side *s = ud;
  CHECK(s->ways[r->slot].is_on);
  s->ways[r->slot].is_on = false;
  s->canceled++;
}

static int next_way(const side *s) {
  int next = -1;
  for (int i = 0; i < TWINS_MAX_REQUESTS; i++) {
    if (s->ways[i].is_on && (next < 0 || s->ways[i].due_us < s->ways[next].due_us)) {
      next = i;
    }
  }
  return next;
}

/* What arrives at a time comes before what the engine does then. */
static void run_before(side *s, int64_t limit_us) {
  blis_instance *instance = s->twin->instance;
  blis_error error;
  for (;;) {
    int64_t next_us = blis_instance_next_us(instance);
    int i = next_way(s);
    if (i >= 0 && s->ways[i].due_us < limit_us && s->ways[i].due_us <= next_us) {
      s->ways[i].is_on = false;
      CHECK_OK(blis_instance_loaded(instance, &s->twin->requests[i], s->ways[i].end,
                                    s->ways[i].due_us, &error),
               &error);
    } else if (next_us < limit_us) {
      bool clock_moved;
      CHECK_OK(blis_instance_run_next(instance, next_us + 1, &clock_moved, &error), &error);
    } else {
      return;
    }
    CHECK(blis_instance_check(instance));
  }
}

static blis_instance_config draw_config(blis_random *random) {
  static const int64_t sizes[] = {1, 2, 4, 4, 16};
  static const int64_t seqs[] = {1, 2, 3, 8, 256};
  static const int64_t budgets[] = {1, 2, 5, 16, 64, 2048};
  static const int64_t thresholds[] = {0, 0, 0, 1, 3, 8};
  blis_engine_rules rules = draw_engine_rules(random);
  rules.recomputes_last_token = true;
  return (blis_instance_config){.latency = &toy_models[draw(random, TOY_MODELS)],
                                .kv_blocks = 6 + draw(random, draw(random, 2) == 0 ? 20 : 200),
                                .block_size_tokens = pick(random, sizes, 5),
                                .max_num_seqs = pick(random, seqs, 5),
                                .max_batched_tokens = pick(random, budgets, 6),
                                .long_prefill_threshold_tokens = pick(random, thresholds, 6),
                                .horizon_us = draw(random, 4) == 0 ? 5000 + draw(random, 200000)
                                                                   : BLIS_TIME_NEVER_US,
                                .scheduler = (blis_scheduler_kind)draw(random, 5),
                                .preemption = (blis_preemption_kind)draw(random, 3),
                                .goes_before = toy_goes_before,
                                .choose_victim = toy_choose_victim,
                                .rules = rules};
}

static blis_live_request draw_request(blis_random *random, int64_t size, int number,
                                      int64_t now_us) {
  int group = (int)draw(random, GROUPS);
  int64_t prefix = draw(random, 3) == 0 ? 0 : draw(random, 60);
  int64_t own = draw(random, 4) == 0 ? 0 : draw(random, 25);
  int64_t shared = prefix / size;
  blis_live_request r = {
      .arrival_us = now_us,
      .number = number,
      .prompt_tokens = prefix + own,
      .output_tokens = draw(random, 25),
      .priority = (double)draw(random, 4),
      .slot = (uint32_t)number,
      .chain = {.shared = shared_ids[group],
                .shared_count = (uint32_t)(shared < PREFIX_BLOCKS ? shared : PREFIX_BLOCKS),
                .prompt_blocks = (uint32_t)((prefix + own) / size),
                .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(number + 1) << 20}};
  r.output_budget_tokens = r.output_tokens;
  if (draw(random, 3) == 0) {
    r.deadline_us = now_us + 1 + draw(random, 60000);
  }
  return r;
}

static void evict(twins *t, side *sides, int k) {
  blis_error error;
  for (int i = 0; i < 2; i++) {
    blis_live_request *r = &sides[i].twin->requests[k];
    CHECK_OK(blis_instance_evict(sides[i].twin->instance, r, t->now_us, &error), &error);
    CHECK(r->engine == NULL && !sides[i].ways[k].is_on);
  }
  twins_check_request(t, k);
}

static int64_t all_brought;
static int64_t all_canceled;
static int64_t all_preempted;

static void run_case(int64_t seed) {
  static twins t;
  static side sides[2];
  blis_random random;
  blis_random_init_named(&random, seed, "kv source");
  blis_instance_config config = draw_config(&random);
  twin *const both[] = {&t.stepwise, &t.fast};
  t = (twins){0};
  for (int i = 0; i < 2; i++) {
    sides[i] = (side){.twin = both[i], .seed = seed};
    sides[i].source =
        (blis_kv_source){.ud = &sides[i], .offer = offer, .bring = bring, .cancel = cancel};
    config.kv_source = &sides[i].source;
    twin_begin(both[i], &heap, &config, i == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST, true);
  }
  int64_t gap_us = 1 + draw(&random, draw(&random, 2) == 0 ? 300 : 8000);
  int64_t limit_us = blis_time_after_us(config.horizon_us, 1);
  int count = 1 + (int)draw(&random, REQUESTS_MAX);
  while (t.count < count && t.now_us < limit_us) {
    blis_live_request r = draw_request(&random, config.block_size_tokens, t.count, t.now_us);
    run_before(&sides[0], t.now_us);
    run_before(&sides[1], t.now_us);
    twins_check_stats(&t);
    int k = (int)draw(&random, t.count + 1);
    if (k < t.count && draw(&random, 4) == 0 && t.stepwise.requests[k].engine != NULL) {
      evict(&t, sides, k);
    }
    twins_inject(&t, &r);
    t.count++;
    t.now_us += draw(&random, gap_us);
  }
  run_before(&sides[0], limit_us);
  run_before(&sides[1], limit_us);
  CHECK_EQ_I64(sides[0].count, sides[1].count);
  CHECK_EQ_I64(sides[0].canceled, sides[1].canceled);
  blis_instance_stats stats;
  blis_instance_get_stats(t.fast.instance, &stats);
  all_brought += sides[0].count;
  all_canceled += sides[0].canceled;
  all_preempted += stats.preemptions;
  if (config.horizon_us == BLIS_TIME_NEVER_US) {
    CHECK_EQ_I64(stats.used_kv_blocks, 0);
    CHECK_EQ_I64(stats.queue_depth, 0);
  }
  twins_finish(&t, true);
}

static int64_t case_count;
static int64_t first_case;

static void engines_agree(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_case(first_case + i);
  }
  printf("# brought %" PRId64 ", canceled %" PRId64 ", preempted %" PRId64 "\n", all_brought,
         all_canceled, all_preempted);
  CHECK(case_count < 100 || (all_brought > case_count && all_canceled > 0));
}

/* A source that offers the first blocks of a prompt. */
typedef struct plain {
  uint32_t end;
  int64_t asked;
  blis_live_request *wants;
} plain;

static blis_status plain_offer(void *ud, const blis_live_request *r, blis_kv_stretch *stretch,
                               int64_t now_us, blis_error *error) {
  (void)r;
  (void)now_us;
  (void)error;
  plain *p = ud;
  p->asked++;
  if (stretch->end > p->end) {
    stretch->end = p->end;
  }
  return BLIS_OK;
}

static blis_status plain_bring(void *ud, blis_live_request *r, const blis_kv_stretch *stretch,
                               int64_t now_us, blis_error *error) {
  (void)now_us;
  (void)error;
  plain *p = ud;
  CHECK_EQ_I64(stretch->first, 0);
  p->wants = r;
  return BLIS_OK;
}

static void plain_cancel(void *ud, blis_live_request *r) {
  plain *p = ud;
  CHECK(p->wants == r);
  p->wants = NULL;
}

/*
 * The toy model: a request is queued 100 us after its arrival, and a step takes
 * 1000 + 10 n + prefill tokens + ... us, plus 7 for a token. 10 of 12 blocks of
 * 4 are offered and come 5000 us later; the other 8 tokens take a step of
 * 1000 + 10 + 8 + attention of (8 * 40 ...) / 100 + 40 / 9.
 */
static void one_request_waits_for_its_kv(void) {
  for (int engine = 0; engine < 2; engine++) {
    static twin t;
    plain p = {.end = 10};
    const blis_kv_source source = {
        .ud = &p, .offer = plain_offer, .bring = plain_bring, .cancel = plain_cancel};
    const blis_instance_config config = {.latency = &toy_models[0],
                                         .kv_blocks = 40,
                                         .block_size_tokens = 4,
                                         .max_num_seqs = 8,
                                         .max_batched_tokens = 64,
                                         .horizon_us = BLIS_TIME_NEVER_US,
                                         .rules = {.leaves_at_step_end = true,
                                                   .resumes_preempted = true,
                                                   .counts_prompt_blocks = true,
                                                   .recomputes_last_token = true,
                                                   .drops_last_kv = true,
                                                   .knows_cached_context = true},
                                         .kv_source = &source};
    twin_begin(&t, &heap, &config, engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST, true);
    t.requests[0] =
        (blis_live_request){.prompt_tokens = 48,
                            .output_tokens = 1,
                            .output_budget_tokens = 1,
                            .chain = {.prompt_blocks = 12, .private_base = BLIS_BLOCK_PRIVATE | 1}};
    blis_error error;
    CHECK_OK(blis_instance_inject(t.instance, &t.requests[0], 0, &error), &error);
    twin_run_before(&t, 5000);
    CHECK(p.wants == &t.requests[0] && p.asked == 1);
    blis_instance_stats stats;
    blis_instance_get_stats(t.instance, &stats);
    CHECK_EQ_I64(stats.queue_depth, 1);
    CHECK_EQ_I64(stats.used_kv_blocks, 10);
    CHECK_EQ_I64(stats.steps, 0);
    CHECK_OK(blis_instance_loaded(t.instance, p.wants, 10, 5100, &error), &error);
    twin_run_before(&t, BLIS_TIME_NEVER_US);
    const blis_batch_item item = {
        .progress_tokens = 40, .new_tokens = 8, .prompt_tokens = 48, .output_tokens = 1};
    const blis_batch_sums sums = blis_batch_sums_of(&item, 1);
    CHECK_EQ_I64(t.requests[0].state, BLIS_REQUEST_COMPLETED);
    CHECK_EQ_I64(t.requests[0].ttft_us, 5100 + toy_time(&sums) + 7);
    CHECK_EQ_I64(t.requests[0].scheduling_delay_us, 5100);
    CHECK(t.requests[0].had_hit);
    blis_instance_get_stats(t.instance, &stats);
    CHECK_EQ_I64(stats.cache_hits, 10);
    CHECK_EQ_I64(stats.cache_misses, 2);
    CHECK_EQ_I64(stats.used_kv_blocks, 0);
    CHECK_EQ_I64(p.asked, 1);
    twin_free(&t);
  }
}

static void go_blis_has_no_other_source(void) {
  plain p = {0};
  const blis_kv_source source = {
      .ud = &p, .offer = plain_offer, .bring = plain_bring, .cancel = plain_cancel};
  const blis_instance_config config = {.latency = &toy_models[0],
                                       .kv_blocks = 40,
                                       .block_size_tokens = 4,
                                       .max_num_seqs = 8,
                                       .max_batched_tokens = 64,
                                       .defects = blis_instance_go_blis,
                                       .kv_source = &source};
  const blis_instance_events events = {.ended = twin_on_ended};
  blis_instance *instance;
  blis_error error;
  CHECK(blis_instance_new(&heap, &config, &events, &instance, &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "go-blis") != NULL);
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  case_count = twins_case_count(argc, argv, 1500);
  first_case = twins_first_case(argc, argv);
  for (int g = 0; g < GROUPS; g++) {
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      shared_ids[g][k] = (blis_block_id)(1 + g * PREFIX_BLOCKS + k);
    }
  }
  RUN(one_request_waits_for_its_kv);
  RUN(go_blis_has_no_other_source);
  RUN(engines_agree);
  return check_done();
}
