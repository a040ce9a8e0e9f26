/*
 * The fast engine gives the stepwise engine's results, to the microsecond and
 * the block, on random traces and settings; every second case with evictions,
 * restarts and changes of speed, every third one with KV that moves. Arguments:
 * how many cases (default 2500, in the long form 25000, as many with adapters,
 * and half as many of three other kinds) and the number of the first one.
 */
#include "engine_rules.h"
#include "engine_trial.h"
#include "instance/config/go_blis.h"
#include "instance/parts/power.h"
#include "kv_layouts.h"
#include "toy_engine.h"

enum { MAX_REQUESTS = 60, PREFIX_BLOCKS = 40, GROUPS = 2, ADAPTERS = 6 };

typedef struct case_settings {
  blis_instance_config config;
  int count;
  int64_t block_size;
  bool is_one_text;      /* of all prompts and outputs, */
  bool has_others;       /* or of most */
  int64_t text_tokens;   /* of prompts, fewer than so many */
  int64_t output_tokens; /* fewer than so many */
  int64_t gap_us;        /* between arrivals, at most; 0 = drawn */
  bool has_adapters;     /* and requests name some of them */
} case_settings;

static blis_alloc heap;
static blis_block_id shared_ids[GROUPS][PREFIX_BLOCKS];

static case_settings draw_settings(blis_random *random) {
  static const int64_t sizes[] = {1, 2, 4, 4, 16};
  static const int64_t seqs[] = {1, 2, 3, 8, 256};
  static const int64_t budgets[] = {1, 2, 5, 16, 64, 2048};
  static const int64_t thresholds[] = {0, 0, 0, 1, 3, 8};
  case_settings s = {
      .count = 1 + (int)draw(random, MAX_REQUESTS), .text_tokens = 30, .output_tokens = 20};
  s.block_size = pick(random, sizes, 5);
  s.config = (blis_instance_config){.latency = &toy_models[draw(random, TOY_MODELS)],
                                    .kv_blocks = 3 + draw(random, draw(random, 2) == 0 ? 20 : 200),
                                    .block_size_tokens = s.block_size,
                                    .max_num_seqs = pick(random, seqs, 5),
                                    .max_batched_tokens = pick(random, budgets, 6),
                                    .long_prefill_threshold_tokens = pick(random, thresholds, 6),
                                    .horizon_us = draw(random, 4) == 0 ? 5000 + draw(random, 200000)
                                                                       : BLIS_TIME_NEVER_US,
                                    .scheduler = (blis_scheduler_kind)draw(random, 5),
                                    .preemption = (blis_preemption_kind)draw(random, 3),
                                    .goes_before = toy_goes_before,
                                    .choose_victim = toy_choose_victim};
  if (draw(random, 3) == 0) {
    s.config.max_model_len_tokens = 1 + draw(random, 60);
    int64_t limit = s.config.kv_blocks * s.block_size;
    if (s.config.max_model_len_tokens > limit) {
      s.config.max_model_len_tokens = limit;
    }
  }
  /* Only with a horizon, since what is reproduced may never end. */
  s.config.defects = (s.config.horizon_us < BLIS_TIME_NEVER_US && draw(random, 2) == 0)
                         ? blis_instance_go_blis
                         : (blis_instance_defects){false};
  s.config.rules = draw_engine_rules(random);
  static const blis_front_end_config front_ends[] = {{1, 300, 1.5, 40}, {3, 2000, 0, 0}};
  int64_t front_end = s.config.kv_blocks % 6;
  s.config.front_end = front_end < 2 ? &front_ends[front_end] : NULL;
  if (draw(random, 4) == 0) { /* as under a power cap */
    s.config.prefill_slowdown = 0.7 + (double)draw(random, 200) / 100;
    s.config.decode_slowdown = 0.7 + (double)draw(random, 100) / 100;
  }
  return s;
}

static blis_live_request draw_request(blis_random *random, const case_settings *s, int number,
                                      int64_t now_us) {
  bool tells = s->is_one_text && !(s->has_others && draw(random, 3) == 0);
  int group = s->is_one_text ? 0 : (int)draw(random, GROUPS);
  bool has_prefix = s->is_one_text ? tells : draw(random, 2) != 0;
  int64_t prefix = has_prefix ? draw(random, s->text_tokens) : 0;
  int64_t own = tells || (!s->is_one_text && draw(random, 4) == 0) ? 0 : draw(random, 25);
  int64_t shared = prefix / s->block_size;
  blis_live_request r = {
      .arrival_us = now_us,
      .number = number,
      .prompt_tokens = prefix + own,
      .output_tokens = draw(random, s->output_tokens),
      .priority = (double)draw(random, 4),
      .slot = (uint32_t)number,
      .chain = {.shared = shared_ids[group],
                .shared_count = (uint32_t)(shared < PREFIX_BLOCKS ? shared : PREFIX_BLOCKS),
                .prompt_blocks = (uint32_t)((prefix + own) / s->block_size),
                .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)(number + 1) << 20}};
  if (own == 0 && (tells || draw(random, 2) == 0)) {
    /* What it produces is where the next prompt of the group goes on. */
    int64_t all = (prefix + r.output_tokens) / s->block_size;
    r.chain.shared_count = (uint32_t)(all < PREFIX_BLOCKS ? all : PREFIX_BLOCKS);
  }
  r.output_budget_tokens = draw(random, 8) == 0 ? 0 : r.output_tokens;
  if (draw(random, 3) == 0) {
    r.deadline_us = now_us + 1 + draw(random, 60000);
  }
  if (s->has_adapters) {
    r.adapter = (uint32_t)draw(random, ADAPTERS + 1);
  }
  return r;
}

static void run_trial(int64_t seed, const case_settings *settings, blis_random *drawn) {
  static trial t;
  case_settings s = *settings;
  blis_random random = *drawn;
  bool has_moves = seed % 3 == 0;
  if (has_moves) { /* who lacks blocks would try in every microsecond */
    s.config.defects = (blis_instance_defects){false};
    s.config.rules.recomputes_last_token = true;
  }
  trial_begin(&t, &heap, &s.config, seed);
  t.has_faults = seed % 2 == 0;
  t.has_moves = has_moves;
  int64_t gap_us = s.gap_us > 0 ? s.gap_us : 1 + draw(&random, draw(&random, 2) == 0 ? 300 : 8000);
  while (t.twins.count < s.count && t.twins.now_us <= s.config.horizon_us) {
    blis_live_request r = draw_request(&random, &s, t.twins.count, t.twins.now_us);
    trial_arrive(&t, &r);
    t.twins.now_us += draw(&random, gap_us);
  }
  int64_t limit_us = blis_time_after_us(s.config.horizon_us, 1);
  trial_bring_home(&t, limit_us);
  trial_run_before(&t, limit_us);
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
                     .is_one_text = true,
                     .text_tokens = 30,
                     .output_tokens = 20};
  s.config = (blis_instance_config){.latency = &toy_models[draw(&random, TOY_MODELS)],
                                    .kv_blocks = 12 + draw(&random, 60),
                                    .block_size_tokens = s.block_size,
                                    .max_num_seqs = 2 + draw(&random, 10),
                                    .max_batched_tokens = 64,
                                    .long_prefill_threshold_tokens = 1,
                                    .horizon_us = BLIS_TIME_NEVER_US};
  run_trial(seed, &s, &random);
}

/*
 * One text is told again and again: what decodes fill is in the cache already,
 * in blocks that they are about to take.
 */
static void run_retold_case(int64_t seed) {
  static const int64_t sizes[] = {1, 2, 3, 4};
  static const int64_t gaps_us[] = {1000, 20000, 200000, 1000000};
  blis_random random;
  blis_random_init_named(&random, seed, "retold");
  case_settings s = {.count = 8 + (int)draw(&random, 20),
                     .block_size = pick(&random, sizes, 4),
                     .is_one_text = true,
                     .gap_us = pick(&random, gaps_us, 4)};
  s.has_others = draw(&random, 2) == 0;
  s.text_tokens = (1 + draw(&random, PREFIX_BLOCKS)) * s.block_size;
  s.output_tokens = PREFIX_BLOCKS * s.block_size - s.text_tokens + 1;
  s.config = (blis_instance_config){.latency = &toy_models[draw(&random, TOY_MODELS)],
                                    .kv_blocks = PREFIX_BLOCKS + draw(&random, 40),
                                    .block_size_tokens = s.block_size,
                                    .max_num_seqs = 1 + draw(&random, 6),
                                    .max_batched_tokens = 64,
                                    .long_prefill_threshold_tokens = draw(&random, 2) == 0 ? 0 : 1,
                                    .horizon_us = BLIS_TIME_NEVER_US,
                                    .rules = draw_engine_rules(&random)};
  run_trial(seed, &s, &random);
}

/* Few slots for several adapters, under every rule that there is for them. */
static blis_adapter_config draw_adapters(blis_random *random) {
  static const int64_t ranks[ADAPTERS] = {8, 8, 12, 16, 64, 1};
  static const int64_t load_us[ADAPTERS] = {1, 900, 2500, 6000, 40000, 5000};
  static const int64_t fetch_us[ADAPTERS] = {0, 3000, 0, 20000, 1, 7};
  static const blis_adapter_tier tiers[] = {{8, 0.02}, {16, 0.3}, {32, 1.25}};
  int64_t slots = 1 + draw(random, ADAPTERS);
  return (blis_adapter_config){.count = ADAPTERS,
                               .ranks = ranks,
                               .load_us = load_us,
                               .fetch_us = fetch_us,
                               .slots = slots,
                               .host_slots = draw(random, 2) == 0 ? 0 : slots + draw(random, 3),
                               .tiers = tiers,
                               .tier_count = (size_t)draw(random, 4),
                               .skips = draw(random, 3) != 0,
                               .max_skip_us = draw(random, 2) == 0 ? 0 : 1 + draw(random, 20000),
                               .loads_in_steps = draw(random, 3) == 0,
                               .pins_preempted = draw(random, 3) == 0};
}

static blis_status draw_watts(void *ud, const blis_power_step *step, double *watts,
                              blis_error *error) {
  (void)ud, (void)error;
  *watts = 50 + (double)(step->prefill_tokens * 7 + step->decode_tokens * 3 + step->kv_tokens % 11 +
                         step->duration_us % 13);
  return BLIS_OK;
}

static blis_power_config draw_power(blis_random *random) {
  bool is_asked = draw(random, 3) == 0;
  return (blis_power_config){.prefill_watts = 0.123 * (double)draw(random, 5000),
                             .decode_watts = 0.123 * (double)draw(random, 5000),
                             .mixes = draw(random, 2) == 0,
                             .cap_watts = draw(random, 2) == 0 ? 1e6 : 300,
                             .gpus = 1 + draw(random, 4),
                             .draw = is_asked ? draw_watts : NULL};
}

/* Energy of engines and requests, with and without adapters and drafts. */
static void run_power_case(int64_t seed) {
  blis_random random;
  blis_random_init_named(&random, seed, "power");
  case_settings s = draw_settings(&random);
  blis_power_config power = draw_power(&random);
  blis_adapter_config adapters = draw_adapters(&random);
  adapters.pins_preempted = adapters.pins_preempted && seed % 3 != 0;
  blis_speculation_config speculation = {
      .tokens = 3, .acceptance = {0.7, 0.6, 0.5}, .seed = (uint64_t)seed};
  blis_carbon_step carbon[] = {{0, 400, 0}, {1 + draw(&random, 50000), 35.5, 0}, {90000, 700, 0}};
  blis_carbon_add_up(carbon, 3);
  if (draw(&random, 2) == 0) {
    power.carbon = carbon;
    power.carbon_count = 3;
  }
  s.config.power = &power;
  s.config.speculation = draw(&random, 4) == 0 ? &speculation : NULL;
  if (draw(&random, 3) == 0) {
    s.has_adapters = true;
    s.config.adapters = &adapters;
  }
  run_trial(seed, &s, &random);
}

static void run_adapters_case(int64_t seed) {
  blis_random random;
  blis_random_init_named(&random, seed, "adapters");
  case_settings s = draw_settings(&random);
  blis_adapter_config adapters = draw_adapters(&random);
  if (seed % 3 == 0) {
    /* Where KV moves: it and a pinned slot could wait for each other. */
    adapters.pins_preempted = false;
  }
  s.has_adapters = true;
  s.config.adapters = &adapters;
  run_trial(seed, &s, &random);
}

/* A rate for each request and position, which nothing else changes. */
static blis_status rates_of(void *ud, const blis_live_request *request, double *rates,
                            blis_error *error) {
  const blis_speculation_config *speculation = ud;
  (void)error;
  for (int64_t i = 0; i < speculation->tokens; i++) {
    rates[i] = (double)((request->number * 31 + i * 17) & 63) / 63;
  }
  return BLIS_OK;
}

/* With drafts, which either engine computes step by step: that nothing gets
   lost, whatever else happens. */
static void run_speculation_case(int64_t seed) {
  blis_random random;
  blis_random_init_named(&random, seed, "speculation");
  case_settings s = draw_settings(&random);
  blis_adapter_config adapters = draw_adapters(&random);
  adapters.pins_preempted = adapters.pins_preempted && seed % 3 != 0;
  blis_speculation_config speculation = {.tokens = 1 + draw(&random, BLIS_SPECULATION_MAX),
                                         .pass_us = (double)draw(&random, 300),
                                         .pass_us_per_sequence = 1.5,
                                         .drafts_in_one_pass = draw(&random, 2) == 0,
                                         .max_batch = draw(&random, 4),
                                         .seed = (uint64_t)seed};
  for (int i = 0; i < BLIS_SPECULATION_MAX; i++) {
    speculation.acceptance[i] = (double)draw(&random, 101) / 100;
  }
  s.config.speculation = &speculation;
  if (draw(&random, 2) == 0) {
    s.has_adapters = true;
    s.config.adapters = &adapters;
  }
  if (seed % 2 == 0) {
    speculation.rates_of = rates_of;
    speculation.rates_ud = &speculation;
  }
  run_trial(seed, &s, &random);
}

/* Several KV groups, with every other part of a case. */
static void run_layout_case(int64_t seed) {
  blis_random random;
  blis_random_init_named(&random, seed, "layout");
  case_settings s = draw_settings(&random);
  s.config.rules.recomputes_last_token = true;
  s.config.defects = (blis_instance_defects){false};
  blis_kv_layout layout = draw_kv_layout(&random, s.block_size, draw(&random, 2) == 0);
  int64_t border = blis_kv_layout_hit_tokens(&layout);
  if (blis_kv_layout_aligns_steps(&layout)) {
    s.config.max_batched_tokens += border;
    if (s.config.long_prefill_threshold_tokens > 0) {
      s.config.long_prefill_threshold_tokens += border;
    }
  }
  s.config.kv_layout = &layout;
  s.config.kv_blocks *= blis_kv_layout_groups(&layout);
  s.config.max_model_len_tokens = 0;
  blis_adapter_config adapters = draw_adapters(&random);
  adapters.pins_preempted = false;
  if (draw(&random, 4) == 0) {
    s.has_adapters = true;
    s.config.adapters = &adapters;
  }
  blis_speculation_config speculation = {
      .tokens = 1 + draw(&random, 3), .acceptance = {0.7, 0.6, 0.5}, .seed = (uint64_t)seed};
  if (draw(&random, 6) == 0) {
    s.config.speculation = &speculation;
  }
  run_trial(seed, &s, &random);
}

/* Reserves the KV of a prompt in one engine, which holds its blocks until it is evicted. */
static void reserve_prompt(twin *t, const blis_live_request *request) {
  const blis_kv_demand demand = {.tokens = request->prompt_tokens, .is_found_at_once = true};
  int64_t cached;
  bool is_done;
  blis_error error;
  t->requests[request->slot] = *request;
  CHECK_OK(blis_instance_reserve(t->instance, &t->requests[request->slot], &demand, &cached,
                                 &is_done, &error),
           &error);
  CHECK(is_done);
}

/* Requests that do not run hold the blocks: an empty prompt waits for the first ones, and is not
   admitted and preempted in every step. */
static void empty_prompts_wait_for_blocks(void) {
  static twins t;
  const blis_kv_layout layout = {.count = 1,
                                 .groups = {{.kind = BLIS_KV_FULL, .block_tokens = 2, .count = 4}}};
  const blis_instance_config config = {.latency = &toy_models[0],
                                       .kv_blocks = 6,
                                       .block_size_tokens = 2,
                                       .kv_layout = &layout,
                                       .max_num_seqs = 8,
                                       .max_batched_tokens = 64,
                                       .rules = {.recomputes_last_token = true},
                                       .horizon_us = BLIS_TIME_NEVER_US};
  const blis_live_request parked = {.prompt_tokens = 2,
                                    .output_tokens = 1,
                                    .chain = {.prompt_blocks = 1, .private_base = 1 << 20}};
  const blis_live_request empty = {
      .slot = 1, .number = 1, .output_tokens = 1, .chain = {.private_base = 2 << 20}};
  twins_begin(&t, &heap, &config);
  twin *const both[] = {&t.stepwise, &t.fast};
  for (int i = 0; i < 2; i++) {
    reserve_prompt(both[i], &parked);
  }
  twins_inject(&t, &empty);
  for (int i = 0; i < 2; i++) {
    blis_instance_stats stats;
    blis_error error;
    twin_run_before(both[i], 1000000);
    blis_instance_get_stats(both[i]->instance, &stats);
    CHECK_EQ_I64(stats.preemptions, 0);
    CHECK_EQ_I64(stats.completed, 0);
    CHECK_OK(blis_instance_evict(both[i]->instance, &both[i]->requests[0], 1000000, &error),
             &error);
    twin_run_before(both[i], 2000000);
    blis_instance_get_stats(both[i]->instance, &stats);
    CHECK_EQ_I64(stats.completed, 1);
    twin_free(both[i]);
  }
}

/* One request has its KV, but the others keep its adapter out of the slots. They lack its blocks,
   and preempt themselves. The request gives its KV up, so that the others complete. */
static void kv_of_a_request_without_adapter_is_given_up(void) {
  run_layout_case(300600);
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

static void engines_agree_on_what_is_retold(void) {
  for (int64_t i = 0; i < case_count / 2; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_retold_case(first_case + i);
  }
}

static void engines_agree_on_adapters(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_adapters_case(first_case + i);
  }
}

static void engines_agree_on_energy(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_power_case(first_case + i);
  }
}

static void engines_agree_on_layouts(void) {
  for (int64_t i = 0; i < case_count; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_layout_case(first_case + i);
  }
}

static void nothing_is_lost_with_drafts(void) {
  for (int64_t i = 0; i < case_count / 2; i++) {
    printf("# case %" PRId64 "\n", first_case + i);
    run_speculation_case(first_case + i);
  }
}

int main(int argc, char **argv) {
  heap = blis_alloc_heap();
  case_count = twins_case_count(argc, argv, 2500);
  first_case = twins_first_case(argc, argv);
  for (int g = 0; g < GROUPS; g++) {
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      shared_ids[g][k] = (blis_block_id)(1 + g * PREFIX_BLOCKS + k);
    }
  }
  RUN(engines_agree);
  RUN(engines_agree_in_lockstep);
  RUN(engines_agree_on_what_is_retold);
  RUN(engines_agree_on_adapters);
  RUN(engines_agree_on_energy);
  RUN(engines_agree_on_layouts);
  RUN(empty_prompts_wait_for_blocks);
  RUN(kv_of_a_request_without_adapter_is_given_up);
  RUN(nothing_is_lost_with_drafts);
  return check_done();
}
