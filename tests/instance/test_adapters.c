/*
 * LoRA adapters in both engines: the worked example of the control plane of
 * BLIS (Go), every rule in a small case, the factor of steps.
 */
#include "engine_driver.h"
#include "instance/parts/adapters.h"

enum { COUNT = 4 };

static const int64_t ranks[COUNT] = {8, 8, 8, 8};
static const int64_t load_us[COUNT] = {5000, 5000, 5000, 5000};
static const int64_t fetch_us[COUNT] = {700, 700, 700, 700};

/* A, B, C, D of rank 8: 1,000 us and 80 MB at 20,000 bytes/us are 5,000 us. */
static blis_adapter_config base_adapters(void) {
  return (blis_adapter_config){
      .count = COUNT, .ranks = ranks, .load_us = load_us, .fetch_us = fetch_us, .slots = 2};
}

/* Steps of 1000 us whatever is in them, and nothing else that takes time. */
static blis_status even_step(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  (void)state, (void)items, (void)count, (void)error;
  *step_us = 1000;
  return BLIS_OK;
}

static bool even_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  (void)state, (void)sums;
  *step_us = 1000;
  return true;
}

static const blis_latency_ops even_ops = {.name = "even",
                                          .step_time = even_step,
                                          .step_time_from_sums = even_sums,
                                          .may_look_ahead = true};
static const blis_latency_model even = {.ops = &even_ops};

typedef struct want {
  int64_t number;
  uint32_t adapter;
  int64_t output;
  int64_t arrival_us;
} want;

typedef struct outcome {
  blis_live_request requests[8];
  blis_adapter_load loads[8];
  size_t load_count;
  int64_t ended;
  blis_adapter_stats stats;
  int64_t end_us;
} outcome;

static blis_status on_ended(void *ud, blis_live_request *request, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  (void)request, (void)now_us, (void)end_us, (void)error;
  ((outcome *)ud)->ended++;
  return BLIS_OK;
}

static void on_loaded(void *ud, const blis_adapter_load *load) {
  outcome *o = ud;
  CHECK(o->load_count < 8);
  o->loads[o->load_count++] = *load;
}

/* Runs requests with prompts of 4 tokens to their ends. */
static void run_engine(const blis_adapter_config *adapters, const want *wanted, size_t count,
                       blis_engine_kind engine, outcome *out) {
  blis_alloc alloc = blis_alloc_heap();
  blis_instance_config config = driver_base_config(&even);
  config.adapters = adapters;
  config.engine = engine;
  config.rules.leaves_at_step_end = true;
  const blis_instance_events events = {.ud = out, .adapter_loaded = on_loaded, .ended = on_ended};
  blis_instance *instance;
  blis_error error;
  *out = (outcome){.ended = 0};
  CHECK_OK(blis_instance_new(&alloc, &config, &events, &instance, &error), &error);
  size_t next = 0;
  for (;;) {
    int64_t arrival_us = next < count ? wanted[next].arrival_us : BLIS_TIME_NEVER_US;
    int64_t event_us = blis_instance_next_us(instance);
    if (arrival_us == BLIS_TIME_NEVER_US && event_us == BLIS_TIME_NEVER_US) {
      break;
    }
    if (arrival_us <= event_us) {
      const want *w = &wanted[next];
      out->requests[next] = (blis_live_request){
          .arrival_us = arrival_us,
          .number = w->number,
          .prompt_tokens = 4,
          .output_tokens = w->output,
          .output_budget_tokens = w->output,
          .slot = (uint32_t)next,
          .adapter = w->adapter,
          .chain = {.prompt_blocks = 1, .private_base = BLIS_BLOCK_PRIVATE | (next << 20)}};
      CHECK_OK(blis_instance_inject(instance, &out->requests[next++], arrival_us, &error), &error);
      continue;
    }
    bool moved;
    CHECK_OK(blis_instance_run_next(instance, arrival_us, &moved, &error), &error);
    CHECK(blis_instance_check(instance));
  }
  blis_instance_get_adapters(instance, &out->stats);
  blis_instance_stats stats;
  blis_instance_get_stats(instance, &stats);
  out->end_us = stats.end_us;
  CHECK_EQ_I64(out->ended, (int64_t)count);
  blis_instance_free(instance);
}

static void check_load(const blis_adapter_load *load, blis_adapter_load wanted) {
  CHECK_EQ_I64(load->adapter, wanted.adapter);
  CHECK_EQ_I64(load->rank, wanted.rank);
  CHECK_EQ_I64(load->request.number, wanted.request.number);
  CHECK_EQ_I64(load->start_us, wanted.start_us);
  CHECK_EQ_I64(load->end_us, wanted.end_us);
  CHECK_EQ_I64(load->waiting, wanted.waiting);
}

static outcome run(const blis_adapter_config *adapters, const want *wanted, size_t count) {
  outcome stepwise;
  outcome fast;
  run_engine(adapters, wanted, count, BLIS_ENGINE_STEPWISE, &stepwise);
  run_engine(adapters, wanted, count, BLIS_ENGINE_FAST, &fast);
  CHECK(memcmp(&stepwise.stats, &fast.stats, sizeof fast.stats) == 0);
  CHECK_EQ_I64(stepwise.end_us, fast.end_us);
  CHECK_EQ_I64(stepwise.load_count, fast.load_count);
  for (size_t i = 0; i < fast.load_count; i++) {
    check_load(&stepwise.loads[i], fast.loads[i]);
  }
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ_I64(stepwise.requests[i].scheduling_delay_us, fast.requests[i].scheduling_delay_us);
    CHECK_EQ_I64(stepwise.requests[i].e2e_us, fast.requests[i].e2e_us);
    CHECK_EQ_I64(stepwise.requests[i].adapter_wait_us, fast.requests[i].adapter_wait_us);
  }
  return fast;
}

static int64_t start_us(const outcome *o, size_t i) {
  return o->requests[i].arrival_us + o->requests[i].scheduling_delay_us;
}

/* A, B, A, C at once, all long: 40, 60, 40 and 10 steps. */
static const want example[] = {{0, 1, 40, 0}, {1, 2, 60, 0}, {2, 1, 40, 0}, {3, 3, 10, 0}};

static void test_example_of_the_control_plane(void) {
  blis_adapter_config adapters = base_adapters();
  adapters.pins_preempted = true;
  outcome o = run(&adapters, example, 4);
  CHECK_EQ_I64(start_us(&o, 0), 5000);
  CHECK_EQ_I64(start_us(&o, 1), 10000);
  CHECK_EQ_I64(start_us(&o, 2), 10000); /* warm, and behind B */
  /* A's last request ends at 10,000 + 40 * 1000; then C is loaded. */
  CHECK_EQ_I64(start_us(&o, 3), 55000);
  CHECK_EQ_I64(o.stats.loads, 3);
  CHECK_EQ_I64(o.stats.evictions, 1);
  CHECK_EQ_I64(o.stats.hits, 1);
  CHECK_EQ_I64(o.requests[2].adapter_wait_us, 0);
  CHECK_EQ_I64(o.requests[1].adapter_wait_us, 5000);
  CHECK_EQ_I64(o.load_count, 3);
  check_load(&o.loads[0], (blis_adapter_load){1, 8, {.number = 0}, 0, 5000, 2});
  check_load(&o.loads[1], (blis_adapter_load){2, 8, {.number = 1}, 5000, 10000, 1});
  check_load(&o.loads[2], (blis_adapter_load){3, 8, {.number = 3}, 50000, 55000, 1});

  adapters.skips = true;
  o = run(&adapters, example, 4);
  CHECK_EQ_I64(start_us(&o, 1), 10000);
  CHECK_EQ_I64(start_us(&o, 2), 5000); /* passes B */
  CHECK_EQ_I64(start_us(&o, 3), 50000);
}

static void test_attaches_to_a_load(void) {
  const want wanted[] = {{0, 1, 3, 0}, {1, 1, 3, 100}, {2, 1, 3, 4999}};
  blis_adapter_config adapters = base_adapters();
  outcome o = run(&adapters, wanted, 3);
  CHECK_EQ_I64(o.stats.loads, 1);
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_I64(start_us(&o, i), 5000);
  }
}

/* The adapter that has been out of use for longest gives its slot up. */
static void test_least_recent_leaves(void) {
  const want wanted[] = {
      {0, 1, 1, 0}, {1, 2, 1, 10000}, {2, 1, 1, 20000}, {3, 3, 1, 30000}, {4, 1, 1, 40000}};
  blis_adapter_config adapters = base_adapters();
  outcome o = run(&adapters, wanted, 5);
  CHECK_EQ_I64(o.stats.loads, 3);
  CHECK_EQ_I64(o.stats.hits, 2);
  CHECK_EQ_I64(start_us(&o, 4), 40000);
}

/* Out of use from the end of its last request on, not from its beginning: A is
   admitted before B, and for longer. */
static void test_use_lasts_to_the_end(void) {
  const want wanted[] = {{0, 1, 30, 0}, {1, 2, 1, 0}, {2, 3, 1, 50000}, {3, 1, 1, 60000}};
  blis_adapter_config adapters = base_adapters();
  outcome o = run(&adapters, wanted, 4);
  CHECK_EQ_I64(o.stats.loads, 3);
  CHECK_EQ_I64(start_us(&o, 3), 60000);
}

/* A step that a request joins waits for its load, and with it the batch. */
static void test_loads_in_steps(void) {
  const want wanted[] = {{0, 0, 4, 0}, {1, 1, 2, 500}, {2, 2, 1, 500}};
  blis_adapter_config adapters = base_adapters();
  adapters.loads_in_steps = true;
  outcome o = run(&adapters, wanted, 3);
  CHECK_EQ_I64(start_us(&o, 1), 1000);
  CHECK_EQ_I64(start_us(&o, 2), 1000);
  /* Steps of 1000, 11,000, 1000 and 1000 us. */
  CHECK_EQ_I64(o.requests[0].e2e_us, 14000);
  CHECK_EQ_I64(o.stats.load_us, 10000);
  check_load(&o.loads[0], (blis_adapter_load){1, 8, {.number = 1}, 1000, 6000, 1});
  check_load(&o.loads[1], (blis_adapter_load){2, 8, {.number = 2}, 6000, 11000, 1});
}

/* A rare adapter behind one that is always in use: for ever, or bounded. */
static void test_starvation(void) {
  want wanted[8] = {{0, 1, 4, 0}, {1, 2, 2, 5500}};
  for (size_t i = 2; i < 8; i++) {
    wanted[i] = (want){(int64_t)i, 1, 4, 2000 + 3000 * (int64_t)i};
  }
  blis_adapter_config adapters = base_adapters();
  adapters.slots = 1;
  adapters.skips = true;
  outcome o = run(&adapters, wanted, 8);
  /* The hot one comes every 3 steps and takes 4: B is last. */
  CHECK(start_us(&o, 1) > start_us(&o, 7));
  adapters.max_skip_us = 4000;
  o = run(&adapters, wanted, 8);
  /* Asked for at 6000; passed at 8000, and not at 11,000 any more. A's last
     request then ends at 12,000. */
  CHECK_EQ_I64(start_us(&o, 2), 8000);
  CHECK_EQ_I64(start_us(&o, 1), 17000);
  CHECK(start_us(&o, 3) > 17000);
  /* At 8000 it has waited for just as long as it has to. */
  adapters.max_skip_us = 2000;
  o = run(&adapters, wanted, 8);
  CHECK_EQ_I64(start_us(&o, 1), 14000);
  CHECK(start_us(&o, 2) > 14000);
}

/* 2 on the host and 1 slot: an adapter that left the host is fetched again. */
static void test_host(void) {
  const want wanted[] = {{0, 1, 1, 0},     {1, 2, 1, 10000}, {2, 1, 1, 20000},
                         {3, 3, 1, 30000}, {4, 1, 1, 40000}, {5, 2, 1, 50000}};
  blis_adapter_config adapters = base_adapters();
  adapters.slots = 1;
  adapters.host_slots = 2;
  outcome o = run(&adapters, wanted, 6);
  CHECK_EQ_I64(o.stats.loads, 6);
  /* A, B, C, then B, which C has put out: A has been used since. */
  CHECK_EQ_I64(o.stats.fetches, 4);
  CHECK_EQ_I64(o.requests[0].adapter_wait_us, 5700);
  CHECK_EQ_I64(o.requests[2].adapter_wait_us, 5000);
  CHECK_EQ_I64(o.requests[4].adapter_wait_us, 5000);
  CHECK_EQ_I64(o.requests[5].adapter_wait_us, 5700);
}

static void test_factor_of_steps(void) {
  static const blis_adapter_tier tiers[] = {{8, 0.05}, {16, 0.1}, {32, 0.2}};
  static const int64_t mixed[COUNT] = {8, 8, 8, 12};
  static const int64_t at_once[COUNT] = {1, 1, 1, 1};
  const want three[] = {{0, 1, 5, 1000}, {1, 2, 5, 1000}, {2, 3, 5, 1000}, {3, 3, 5, 1000}};
  blis_adapter_config adapters = base_adapters();
  adapters.slots = 4;
  adapters.load_us = at_once;
  adapters.loads_in_steps = true;
  adapters.tiers = tiers;
  adapters.tier_count = 3;
  outcome o = run(&adapters, three, 4);
  /* 1 + 0.05 * 3 for five steps, and 3 us of loads. */
  CHECK_EQ_I64(o.requests[0].e2e_us, 5 * 1150 + 3);

  /* 12 is as near to 8 as to 16: the lower tier. */
  adapters.ranks = mixed;
  const want one[] = {{0, 4, 5, 1000}};
  o = run(&adapters, one, 1);
  CHECK_EQ_I64(o.requests[0].e2e_us, 5 * 1050 + 1);
  static const blis_adapter_tier falling[] = {{16, 0.1}, {8, 0.05}};
  adapters.tiers = falling;
  adapters.tier_count = 2;
  o = run(&adapters, one, 1);
  CHECK_EQ_I64(o.requests[0].e2e_us, 5 * 1050 + 1);
  adapters.tiers = tiers;
  adapters.tier_count = 3;
  static const int64_t higher[COUNT] = {8, 8, 8, 13};
  adapters.ranks = higher;
  o = run(&adapters, one, 1);
  CHECK_EQ_I64(o.requests[0].e2e_us, 5 * 1100 + 1);

  /* A larger one that is loaded and not in the batch is no matter. */
  const want later[] = {{0, 4, 1, 0}, {1, 1, 5, 9000}};
  o = run(&adapters, later, 2);
  CHECK_EQ_I64(o.requests[1].e2e_us, 5 * 1050 + 1);
}

static const blis_instance_events nobody = {.ended = on_ended};

/* One that was running waits for blocks: may another adapter have its slot? */
static blis__adapter_look look_behind_preempted(bool pins_preempted) {
  blis_alloc alloc = blis_alloc_heap();
  blis_adapter_config config = base_adapters();
  config.slots = 1;
  config.pins_preempted = pins_preempted;
  blis__adapters *adapters = blis__adapters_new(&alloc, &config, &nobody);
  CHECK(adapters != NULL);
  blis_live_request first = {.adapter = 1, .adapter_asked_us = -1};
  blis_live_request second = {.adapter = 2, .adapter_asked_us = -1};
  blis__adapters_queued(adapters, &first);
  blis__adapters_queued(adapters, &second);
  bool goes_on;
  CHECK(!blis__adapters_ask(adapters, &first, 0, &goes_on));
  blis__adapters_loaded(adapters);
  CHECK(blis__adapters_ask(adapters, &first, 5000, &goes_on));
  blis__adapters_admitted(adapters, &first);
  CHECK(!blis__adapters_ask(adapters, &second, 5000, &goes_on));
  CHECK(blis__adapters_look(adapters, &second, 5000) != BLIS__ADAPTER_ACTS);
  blis__adapters_preempted(adapters, &first);
  CHECK(blis__adapters_are_sound(adapters));
  CHECK(first.pins_adapter == pins_preempted);
  blis__adapter_look look = blis__adapters_look(adapters, &second, 5000);
  blis__adapters_free(adapters);
  return look;
}

static void test_preempted_give_their_slot_up(void) {
  CHECK(look_behind_preempted(false) == BLIS__ADAPTER_ACTS);
  CHECK(look_behind_preempted(true) != BLIS__ADAPTER_ACTS);
}

static void test_wrong_settings(void) {
  blis_adapter_config adapters = base_adapters();
  blis_error error;
  adapters.slots = 0;
  CHECK_STATUS(blis__adapters_check(&adapters, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "there are 0 slots");
  adapters = base_adapters();
  adapters.host_slots = 1;
  CHECK_STATUS(blis__adapters_check(&adapters, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "the host has room for 1");
  static const int64_t none[COUNT] = {8, 0, 8, 8};
  adapters = base_adapters();
  adapters.ranks = none;
  CHECK_STATUS(blis__adapters_check(&adapters, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "adapter 2 has rank 0");
  const blis_adapter_tier tier = {8, -1};
  adapters = base_adapters();
  adapters.tiers = &tier;
  adapters.tier_count = 1;
  CHECK_STATUS(blis__adapters_check(&adapters, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "steps grow by -1 for rank 8");
}

int main(void) {
  RUN(test_example_of_the_control_plane);
  RUN(test_attaches_to_a_load);
  RUN(test_least_recent_leaves);
  RUN(test_use_lasts_to_the_end);
  RUN(test_loads_in_steps);
  RUN(test_starvation);
  RUN(test_host);
  RUN(test_factor_of_steps);
  RUN(test_preempted_give_their_slot_up);
  RUN(test_wrong_settings);
  return check_done();
}
