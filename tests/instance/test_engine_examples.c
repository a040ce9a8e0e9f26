/*
 * The engines on cases that can be reckoned by hand: blocks of 4 tokens, steps
 * of 1000 us and 10 more per scheduled request, queued 100 us after arrival,
 * 7 us per token, 50 us at the end. A trace shows steps as
 * "start+duration[request:tokens]...".
 */
#include "engine_driver.h"

enum { REQUESTS_MAX = 4, TRACE_MAX = 2000 };

typedef struct example {
  const char *name;
  blis_instance_config config; /* 0 = as in base_config */
  driver_request requests[REQUESTS_MAX];
  struct {
    int64_t ttft_us;
    int64_t e2e_us;
    int64_t itl_sum_us;
  } expected[REQUESTS_MAX];
  struct {
    int64_t end_us;
    int64_t hits;
    int64_t misses;
    int64_t preemptions;
    int64_t completed;
    int64_t prompt_tokens;
    int64_t output_tokens;
  } totals;
  const char *trace; /* NULL = not written down */
} example;

typedef struct trace {
  char text[TRACE_MAX];
  size_t length;
  int64_t steps;
  driver_latency *latency;
} trace;

#define OR_BASE(field) (c.field = e->config.field ? e->config.field : c.field)

static blis_instance_config config_of(const example *e, const blis_latency_model *latency) {
  blis_instance_config c = driver_base_config(latency);
  OR_BASE(kv_blocks);
  OR_BASE(block_size_tokens);
  OR_BASE(max_num_seqs);
  OR_BASE(max_batched_tokens);
  OR_BASE(long_prefill_threshold_tokens);
  OR_BASE(max_model_len_tokens);
  OR_BASE(horizon_us);
  OR_BASE(scheduler);
  OR_BASE(preemption);
  c.defects = e->config.defects;
  c.rules = e->config.rules;
  return c;
}

BLIS_PRINTF(2, 3)
static void write_trace(trace *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int added = vsnprintf(&t->text[t->length], TRACE_MAX - t->length, format, arguments);
  va_end(arguments);
  t->length += (size_t)added;
  CHECK(t->length < TRACE_MAX);
}

static void write_step(trace *t, const driver *d) {
  write_trace(t, "%s%" PRId64 "+%" PRId64, t->length > 0 ? " " : "", d->event_us,
              t->latency->last_step_us);
  for (size_t i = 0; i < d->arrived; i++) {
    const blis_live_request *r = &d->requests[i].live;
    if (r->new_tokens > 0) {
      write_trace(t, "[%" PRId64 ":%" PRId64 "]", r->number, r->new_tokens);
    }
  }
}

static void trace_step(driver *d, size_t instance) {
  trace *t = d->ud;
  blis_instance_stats stats;
  blis_instance_get_stats(d->instances[instance], &stats);
  if (stats.steps > t->steps) {
    t->steps = stats.steps;
    write_step(t, d);
  }
  for (size_t i = 0; i < d->arrived; i++) {
    if (d->requests[i].end_us >= 0) {
      d->requests[i].live.new_tokens = 0; /* it is not in the next step */
    }
  }
}

static const example examples[] = {
    {.name = "E01 basics",
     .requests = {DRIVER_PLAIN(0, 0, 5, 3), DRIVER_PLAIN(1, 500, 4, 1),
                  DRIVER_PLAIN(2, 1500, 4, 0)},
     .expected = {{1117, 3221, 2054}, {1637, 1687, 0}, {1657, 1657, 0}},
     .totals = {3150, 0, 5, 0, 3, 13, 4},
     .trace = "100+1010[0:5] 1110+1020[0:1][1:4] 2130+1020[0:1][2:4]"},
    {.name = "E02 chunks, token budget, maximum of sequences",
     .config = {.long_prefill_threshold_tokens = 4, .max_batched_tokens = 6, .max_num_seqs = 2},
     .requests = {DRIVER_PLAIN(0, 0, 10, 3), DRIVER_PLAIN(1, 0, 9, 2), DRIVER_PLAIN(2, 0, 2, 2)},
     .expected = {{3167, 5271, 2054}, {4187, 5264, 1027}, {6217, 7284, 1017}},
     .totals = {7220, 0, 8, 0, 3, 21, 7},
     .trace = "100+1020[0:4][1:2] 1120+1020[0:4][1:2] 2140+1020[0:2][1:4] "
              "3160+1020[0:1][1:1] 4180+1020[0:1][1:1] 5200+1010[2:2] "
              "6210+1010[2:1]"},
    {.name = "E03 preemption of the last one",
     .config = {.kv_blocks = 6},
     .requests = {DRIVER_PLAIN(0, 0, 8, 9), DRIVER_PLAIN(1, 10, 7, 8)},
     .expected = {{1117, 9363, 8196}, {10257, 17426, 7119}},
     .totals = {17330, 2, 12, 2, 2, 15, 17},
     .trace = "100+1010[0:8] 1110+1020[0:1][1:7] 2130+1020[0:1][1:1] "
              "3150+1020[0:1][1:1] 4170+1020[0:1][1:1] 5190+1010[0:1] "
              "6200+1020[0:1][1:3] 7220+1020[0:1][1:1] 8240+1010[0:1] "
              "9250+1010[1:3] 10260+1010[1:1] 11270+1010[1:1] 12280+1010[1:1] "
              "13290+1010[1:1] 14300+1010[1:1] 15310+1010[1:1] "
              "16320+1010[1:1]"},
    {.name = "E04 a fully cached prompt beside another one",
     .requests = {DRIVER_REQUEST(0, 0, 0, 8, 2, 1, 1, 8), DRIVER_REQUEST(1, 5000, 0, 8, 3, 1, 1, 8),
                  DRIVER_REQUEST(2, 5000, 0, 12, 3, 1, 1, 8)},
     .expected = {{1117, 2184, 1017}, {1117, 3221, 2054}, {1117, 3221, 2054}},
     .totals = {8150, 2, 6, 0, 3, 28, 8},
     .trace = "100+1010[0:8] 1110+1010[0:1] 5100+1010[2:4] "
              "6110+1020[1:1][2:1] 7130+1020[1:1][2:1]"},
    {.name = "E05 a fully cached prompt alone",
     .requests = {DRIVER_REQUEST(0, 0, 0, 8, 2, 1, 1, 8),
                  DRIVER_REQUEST(1, 5000, 0, 8, 3, 1, 1, 8)},
     .expected = {{1117, 2184, 1017}, {108, 2192, 2034}},
     .totals = {7121, 0, 4, 0, 2, 16, 5},
     .trace = "100+1010[0:8] 1110+1010[0:1] 5100+1 5101+1010[1:1] "
              "6111+1010[1:1]"},
    {.name = "E06 deadlines",
     .requests = {DRIVER_REQUEST(0, 0, 2200, 4, 3, 1, 0, 0),
                  DRIVER_REQUEST(1, 0, 2120, 4, 3, 1, 0, 0),
                  DRIVER_REQUEST(2, 0, 100, 4, 3, 1, 0, 0),
                  DRIVER_REQUEST(3, 0, 3120, 4, 4, 1, 0, 0)},
     .expected = {{1137, 3251, 2064}, {1137, -1, 1037}, {-1, -1, 0}, {1137, -1, 2064}},
     .totals = {3180, 0, 6, 0, 1, 16, 3},
     .trace = "100+1030[0:4][1:4][3:4] 1130+1030[0:1][1:1][3:1] "
              "2160+1020[0:1][3:1]"},
    {.name = "E07 decodes starved by admissions without tokens",
     .config = {.max_batched_tokens = 2},
     .requests = {DRIVER_REQUEST(0, 0, 0, 4, 1, 1, 1, 4), DRIVER_REQUEST(1, 5000, 0, 4, 3, 1, 1, 4),
                  DRIVER_REQUEST(2, 5000, 0, 4, 3, 1, 1, 4),
                  DRIVER_REQUEST(3, 5000, 0, 4, 3, 1, 1, 4)},
     .expected = {{2127, 2177, 0}, {108, 2212, 2054}, {108, 2212, 2054}, {108, 2192, 2034}},
     .totals = {9161, 0, 5, 0, 4, 16, 10},
     .trace = "100+1010[0:2] 1110+1010[0:2] 5100+1 5101+1020[1:1][2:1] "
              "6121+1020[1:1][2:1] 7141+1010[3:1] 8151+1010[3:1]"},
    {.name = "E09 the last step starts before the horizon and ends after it",
     .config = {.horizon_us = 2500},
     .requests = {DRIVER_PLAIN(0, 0, 4, 3)},
     .expected = {{1117, 3201, 2034}},
     .totals = {2120, 0, 2, 0, 1, 4, 3},
     .trace = "100+1010[0:4] 1110+1010[0:1] 2120+1010[0:1]"},
    {.name = "E10 empty prompts",
     .requests = {DRIVER_PLAIN(0, 0, 0, 3), DRIVER_PLAIN(1, 0, 0, 1)},
     .expected = {{108, 2192, 2034}, {108, 158, 0}},
     .totals = {2121, 0, 2, 0, 2, 0, 4},
     .trace = "100+1 101+1010[0:1] 1111+1010[0:1]"},
    {.name = "an empty prompt and no output",
     .requests = {DRIVER_PLAIN(0, 0, 0, 0), DRIVER_PLAIN(1, 0, 4, 0)},
     .expected = {{1117, 1117, 0}, {1117, 1117, 0}},
     .totals = {1110, 0, 1, 0, 2, 4, 0},
     .trace = "100+1010[1:4]"},
    {.name = "E11 maximum model length",
     .config = {.max_model_len_tokens = 10},
     .requests = {DRIVER_PLAIN(0, 0, 6, 4), DRIVER_PLAIN(1, 0, 6, 5), DRIVER_PLAIN(2, 0, 9, 0),
                  DRIVER_PLAIN(3, 0, 10, 0)},
     .expected = {{1127, 4228, 3051}, {-1, -1, 0}, {1127, 1127, 0}, {-1, -1, 0}},
     .totals = {4150, 0, 6, 0, 2, 15, 4},
     .trace = "100+1020[0:6][2:9] 1120+1010[0:1] 2130+1010[0:1] "
              "3140+1010[0:1]"},
    {.name = "E12 preemption by priority",
     .config = {.kv_blocks = 5, .preemption = BLIS_PREEMPTION_PRIORITY},
     .requests = {DRIVER_REQUEST(0, 0, 0, 4, 9, 7, 0, 0), DRIVER_REQUEST(1, 0, 0, 4, 9, 0, 0, 0),
                  DRIVER_REQUEST(2, 0, 0, 4, 9, 0, 0, 0)},
     .expected = {{9307, 17553, 8196}, {1137, 9413, 8226}, {7267, 15533, 8216}},
     .totals = {17440, 0, 16, 4, 3, 12, 27}},
    {.name = "E13 scheduling and preemption by priority",
     .config = {.kv_blocks = 7,
                .scheduler = BLIS_SCHEDULER_PRIORITY_FCFS,
                .preemption = BLIS_PREEMPTION_PRIORITY},
     .requests = {DRIVER_REQUEST(0, 0, 0, 8, 12, 0, 0, 0), DRIVER_REQUEST(1, 5, 0, 4, 12, 7, 0, 0),
                  DRIVER_REQUEST(2, 10, 0, 4, 12, 1, 0, 0)},
     .expected = {{1117, 12494, 11327}, {13372, 24699, 11277}, {11337, 22674, 11287}},
     .totals = {24570, 0, 17, 3, 3, 16, 36}},
    {.name = "E14 blocks of one token",
     .config = {.block_size_tokens = 1},
     .requests = {DRIVER_PLAIN(0, 0, 3, 4), DRIVER_PLAIN(1, 3000, 2, 2)},
     .expected = {{1117, 4228, 3061}, {1157, 2224, 1017}},
     .totals = {5160, 0, 11, 0, 2, 5, 6},
     .trace = "100+1010[0:3] 1110+1010[0:1] 2120+1010[0:1] "
              "3130+1020[0:1][1:2] 4150+1010[1:1]"},
    /* The second arrives in the only step of the first, and waits for it. The
       client has its token 57 us later. */
    {.name = "R01 an engine is busy until its step ends",
     .config = {.rules.leaves_at_step_end = true},
     .requests = {DRIVER_PLAIN(0, 0, 4, 1), DRIVER_PLAIN(1, 500, 4, 1)},
     .expected = {{1117, 1167, 0}, {1627, 1677, 0}},
     .totals = {2177, 0, 4, 0, 2, 8, 2}},
    {.name = "R02 without the rule both run at once",
     .requests = {DRIVER_PLAIN(0, 0, 4, 1), DRIVER_PLAIN(1, 500, 4, 1)},
     .expected = {{1117, 1167, 0}, {1117, 1167, 0}},
     .totals = {1610, 0, 4, 0, 2, 8, 2},
     .trace = "100+1010[0:4] 600+1010[1:4]"},
    /* 2 is gone before its first token gets out, 0 and 1 before their last. */
    {.name = "R03 a deadline within the last step",
     .config = {.rules.leaves_at_step_end = true},
     .requests = {DRIVER_REQUEST(0, 0, 2200, 4, 3, 1, 0, 0),
                  DRIVER_REQUEST(1, 0, 2120, 4, 3, 1, 0, 0),
                  DRIVER_REQUEST(2, 0, 1000, 4, 3, 1, 0, 0)},
     .expected = {{1137, -1, 2044}, {1137, -1, 1027}, {-1, -1, 0}},
     .totals = {3160, 0, 5, 0, 0, 12, 0},
     .trace = "100+1030[0:4][1:4][2:4] 1130+1020[0:1][1:1] 2150+1010[0:1]"},
    /* E03: request 1 has 4 tokens at 5190, where it is preempted. When 0 has
       given its room back, 1 computes 7 + 4 tokens at once, of which 4 are
       still cached, and goes on: 5057 us after its fourth token. */
    {.name = "R04 a preempted request goes on where it was",
     .config = {.kv_blocks = 6, .rules.resumes_preempted = true},
     .requests = {DRIVER_PLAIN(0, 0, 8, 9), DRIVER_PLAIN(1, 10, 7, 8)},
     .expected = {{1117, 9343, 8176}, {2127, 13366, 11189}},
     .totals = {13270, 1, 11, 1, 2, 15, 17},
     .trace = "100+1010[0:8] 1110+1020[0:1][1:7] 2130+1020[0:1][1:1] "
              "3150+1020[0:1][1:1] 4170+1020[0:1][1:1] 5190+1010[0:1] "
              "6200+1010[0:1] 7210+1010[0:1] 8220+1010[0:1] 9230+1010[1:7] "
              "10240+1010[1:1] 11250+1010[1:1] 12260+1010[1:1]"},
    {.name = "R05 the last block of a cached prompt is computed",
     .config = {.rules.recomputes_last_token = true},
     .requests = {DRIVER_REQUEST(0, 0, 0, 8, 2, 1, 1, 8),
                  DRIVER_REQUEST(1, 5000, 0, 8, 3, 1, 1, 8)},
     .expected = {{1117, 2184, 1017}, {1117, 3201, 2034}},
     .totals = {8130, 1, 5, 0, 2, 16, 5},
     .trace = "100+1010[0:8] 1110+1010[0:1] 5100+1010[1:4] "
              "6110+1010[1:1] 7120+1010[1:1]"},
    /* Of the 7 blocks of E04's prompts, 4 are found; those of 0 are not. */
    {.name = "R06 hits and misses are blocks of prompts",
     .config = {.rules.counts_prompt_blocks = true},
     .requests = {DRIVER_REQUEST(0, 0, 0, 8, 2, 1, 1, 8), DRIVER_REQUEST(1, 5000, 0, 8, 3, 1, 1, 8),
                  DRIVER_REQUEST(2, 5000, 0, 12, 3, 1, 1, 8)},
     .expected = {{1117, 2184, 1017}, {1117, 3221, 2054}, {1117, 3221, 2054}},
     .totals = {8150, 4, 3, 0, 3, 28, 8}},
    /* Of E01's 5 blocks, one was for the last token of 1. */
    {.name = "R07 the KV of the last token has no room",
     .config = {.rules.drops_last_kv = true},
     .requests = {DRIVER_PLAIN(0, 0, 5, 3), DRIVER_PLAIN(1, 500, 4, 1),
                  DRIVER_PLAIN(2, 1500, 4, 0)},
     .expected = {{1117, 3221, 2054}, {1637, 1687, 0}, {1657, 1657, 0}},
     .totals = {3150, 0, 4, 0, 3, 13, 4}},
    /* Nothing is under way for 0; 1 is admitted after a step of 1010 us: its
       first token comes 300 us and one and a half of that later. */
    {.name = "R08 a first token waits for the step under way",
     .config = {.rules = {.leaves_at_step_end = true, .schedules_ahead = true}},
     .requests = {DRIVER_PLAIN(0, 0, 4, 2), DRIVER_PLAIN(1, 500, 4, 2)},
     .expected = {{1417, 2494, 1027}, {3452, 4519, 1017}},
     .totals = {5019, 0, 4, 0, 2, 8, 4}},
    /* 1 reaches the queue during the first step, when the batch of the second is formed already. It
       joins the third, which starts at 2120. */
    {.name = "R09 a request joins the step after the next",
     .config = {.rules = {.leaves_at_step_end = true, .looks_ahead = true}},
     .requests = {DRIVER_PLAIN(0, 0, 4, 2), DRIVER_PLAIN(1, 500, 4, 2)},
     .expected = {{1117, 2184, 1017}, {2637, 3704, 1017}},
     .totals = {4204, 0, 4, 0, 2, 8, 4}},
};

static size_t count_requests(const example *e) {
  size_t count = 1;
  while (count < REQUESTS_MAX && e->requests[count].number > 0) {
    count++;
  }
  return count;
}

static void check_example(const example *e, const driver *d) {
  blis_instance_stats stats = driver_stats(d);
  int64_t itl_sum_us = 0;
  for (size_t i = 0; i < d->request_count; i++) {
    const blis_live_request *r = &d->requests[i].live;
    CHECK_EQ_I64(r->ttft_us, e->expected[i].ttft_us);
    CHECK_EQ_I64(r->e2e_us, e->expected[i].e2e_us);
    CHECK_EQ_I64(r->itl_sum_us, e->expected[i].itl_sum_us);
    itl_sum_us += r->e2e_us < 0 ? 0 : r->itl_sum_us;
  }
  CHECK_EQ_I64(blis_histogram_sum(&d->itl_us), itl_sum_us);
  CHECK_EQ_I64(stats.end_us, e->totals.end_us);
  CHECK_EQ_I64(stats.cache_hits, e->totals.hits);
  CHECK_EQ_I64(stats.cache_misses, e->totals.misses);
  CHECK_EQ_I64(stats.preemptions, e->totals.preemptions);
  CHECK_EQ_I64(stats.completed, e->totals.completed);
  CHECK_EQ_I64(stats.prompt_tokens, e->totals.prompt_tokens);
  CHECK_EQ_I64(stats.output_tokens, e->totals.output_tokens);
  CHECK_EQ_I64(stats.used_kv_blocks, 0);
  CHECK_EQ_I64(stats.completed + stats.timed_out + stats.unservable, (int64_t)d->request_count);
}

static void run_example(const example *e, blis_engine_kind engine) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  driver_latency state = {0};
  blis_latency_model latency = {.ops = &driver_latency_ops, .state = &state};
  blis_instance_config config = config_of(e, &latency);
  config.engine = engine;
  driver_request requests[REQUESTS_MAX];
  memcpy(requests, e->requests, sizeof requests);
  driver d;
  blis_error error;
  driver_set_up(&d, &alloc, &config, requests, count_requests(e));
  trace t = {.latency = &state};
  d.after_event = trace_step;
  d.ud = &t;
  CHECK_OK(driver_run(&d, &error), &error);
  /* The fast engine executes many steps at once. */
  if (e->trace != NULL && engine == BLIS_ENGINE_STEPWISE) {
    CHECK_STR(t.text, e->trace);
  }
  CHECK_OK(blis_instance_close(d.instances[0], &error), &error);
  check_example(e, &d);
  driver_deinit(&d);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void run_examples(blis_engine_kind engine) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    printf("# %s\n", examples[i].name);
    run_example(&examples[i], engine);
  }
}

static void test_stepwise_engine(void) {
  run_examples(BLIS_ENGINE_STEPWISE);
}

static void test_fast_engine(void) {
  run_examples(BLIS_ENGINE_FAST);
}

int main(void) {
  RUN(test_stepwise_engine);
  RUN(test_fast_engine);
  return check_done();
}
