/*
 * An instance that runs one request at a time is a single-server queue, whose
 * mean waiting time is known in closed form: Pollaczek-Khinchine for M/D/1 and
 * M/M/1, and Little's law for any arrivals. Both engines must obey.
 *
 * Where requests leave when their last step ends, one of O output tokens holds
 * the server for O steps, and the theory holds for one token and for two. Where
 * they leave when it begins, as in BLIS (Go), the server is idle in that step
 * unless another one waits, so outputs are long and the theory holds to 1 / O.
 *
 * Argument: how many times as many requests as usual, to get rid of the random
 * error: with 100 it is below 0.5 %.
 */
#include <math.h>

#include "base/random.h"
#include "base/time.h"
#include "check.h"
#include "instance/instance.h"

enum { LONG_STEP_US = 10000, STEP_US = 10, MEAN_STEPS = 500, BATCHES = 40 };

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  (void)items;
  (void)count;
  (void)error;
  *step_us = *(const int64_t *)state;
  return BLIS_OK;
}

static bool step_time_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  (void)sums;
  *step_us = *(const int64_t *)state;
  return true;
}

static const blis_latency_ops constant_ops = {
    .name = "constant", .step_time = step_time, .step_time_from_sums = step_time_from_sums};
typedef struct server {
  blis_instance *instance;
  blis_alloc alloc;
  int64_t served;
  double wait_sum_us;
  double batch_wait_us[BATCHES];
  int64_t per_batch;
  BLIS_ARRAY(blis_live_request *) spares;
} server;

static blis_status on_ended(void *ud, blis_live_request *request, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  server *s = ud;
  (void)now_us;
  (void)end_us;
  (void)error;
  int64_t batch = s->served++ / s->per_batch;
  s->wait_sum_us += (double)request->scheduling_delay_us;
  s->batch_wait_us[batch < BATCHES ? batch : BATCHES - 1] +=
      (double)request->scheduling_delay_us / (double)s->per_batch;
  return blis_array_push(&s->alloc, &s->spares, request);
}

static void run_before(server *s, int64_t limit_us) {
  blis_error error;
  while (blis_instance_next_us(s->instance) < limit_us) {
    bool clock_moved = false;
    CHECK_OK(blis_instance_run_next(s->instance, limit_us, &clock_moved, &error), &error);
  }
}

static void arrive(server *s, int64_t number, int64_t now_us, int64_t steps) {
  blis_live_request *r = s->spares.count > 0 ? s->spares.items[--s->spares.count]
                                             : blis_alloc_new(&s->alloc, sizeof *r);
  CHECK(r != NULL);
  *r = (blis_live_request){.arrival_us = now_us,
                           .number = number,
                           .prompt_tokens = 1,
                           .output_tokens = steps,
                           .output_budget_tokens = steps};
  blis_error error;
  CHECK_OK(blis_instance_inject(s->instance, r, now_us, &error), &error);
}

/* Half the width of the 95 % confidence interval, from batch means. */
static double half_width_us(const server *s, double mean_us) {
  double squares = 0;
  for (int i = 0; i < BATCHES; i++) {
    double off = s->batch_wait_us[i] - mean_us;
    squares += off * off;
  }
  return 2.02 * sqrt(squares / (BATCHES - 1) / BATCHES);
}

typedef struct queue_case {
  const char *name;
  blis_engine_kind engine;
  bool is_exponential; /* service times; constant otherwise */
  double load;
  int64_t requests;
  int64_t tokens; /* of each; 0 = MEAN_STEPS on average, and early leaving */
} queue_case;

static int64_t requests_factor = 1;

static int64_t step_us_of(const queue_case *c) {
  return c->tokens > 0 ? LONG_STEP_US : STEP_US;
}

static double service_us_of(const queue_case *c) {
  return (double)(c->tokens > 0 ? c->tokens : MEAN_STEPS) * (double)step_us_of(c);
}

static double theory_us(const queue_case *c) {
  double service_us = service_us_of(c);
  double wait_us = c->load * service_us / (1 - c->load);
  return c->is_exponential ? wait_us : wait_us / 2;
}

/* Time average of the queue length; it is 0 whenever no step runs. */
static double mean_queue(const server *s, double step_us, double end_us) {
  blis_instance_stats stats;
  blis_instance_get_stats(s->instance, &stats);
  return (double)stats.queue_depth_sum * step_us / end_us;
}

static int64_t steps_of(const queue_case *c, blis_random *random) {
  if (c->tokens > 0) {
    return c->tokens;
  }
  double steps = c->is_exponential ? MEAN_STEPS * blis_random_exp(random) : MEAN_STEPS;
  return 1 + (int64_t)steps;
}

/* How far the mean of these requests may be off. */
static double tolerance_us(const queue_case *c, double half_width_us) {
  double bias = c->tokens > 0 ? 0.005 : 3 / (MEAN_STEPS * (1 - c->load));
  return half_width_us + theory_us(c) * bias;
}

static void check_queue(const queue_case *c) {
  int64_t requests = c->requests * requests_factor;
  server s = {.alloc = blis_alloc_heap(), .per_batch = requests / BATCHES};
  int64_t step_us = step_us_of(c);
  const blis_latency_model constant = {.ops = &constant_ops, .state = &step_us};
  blis_instance_events events = {.ud = &s, .ended = on_ended};
  blis_instance_config config = {.latency = &constant,
                                 .kv_blocks = 100000,
                                 .block_size_tokens = 16,
                                 .max_num_seqs = 1,
                                 .max_batched_tokens = 2048,
                                 .horizon_us = BLIS_TIME_NEVER_US,
                                 .engine = c->engine,
                                 .rules.leaves_at_step_end = c->tokens > 0};
  blis_error error;
  CHECK_OK(blis_instance_new(&s.alloc, &config, &events, &s.instance, &error), &error);
  blis_random random;
  blis_random_init(&random, 1);
  double now_us = 0;
  double gap_us = service_us_of(c) / c->load;
  for (int64_t n = 0; n < requests; n++) {
    now_us += gap_us * blis_random_exp(&random);
    run_before(&s, (int64_t)now_us);
    arrive(&s, n, (int64_t)now_us, steps_of(c, &random));
  }
  run_before(&s, BLIS_TIME_NEVER_US);
  double wait_us = s.wait_sum_us / (double)requests;
  double tolerated_us = tolerance_us(c, half_width_us(&s, wait_us));
  printf("# %s, load %g: waiting %.1f us, theory %.1f us (%+.2f %%), tolerated "
         "%.1f us\n",
         c->name, c->load, wait_us, theory_us(c), (wait_us / theory_us(c) - 1) * 100, tolerated_us);
  CHECK(fabs(wait_us - theory_us(c)) < tolerated_us);
  CHECK(tolerated_us < theory_us(c) / 8); /* or it would prove nothing */
  double little = (double)requests / now_us * wait_us;
  /* A step sees who waits at its start: where steps are as long as services,
     too many of those who come in between are missed. */
  if (c->tokens == 0) {
    CHECK(fabs(mean_queue(&s, (double)step_us, now_us) - little) < little / 100);
  }
  blis_instance_free(s.instance);
  for (size_t i = 0; i < s.spares.count; i++) {
    blis_alloc_free(&s.alloc, s.spares.items[i], sizeof(blis_live_request));
  }
  blis_array_deinit(&s.alloc, &s.spares);
}

static void short_outputs_follow_the_theory(void) {
  const queue_case cases[] = {
      {"M/D/1, one token, fast", BLIS_ENGINE_FAST, false, 0.5, 200000, 1},
      {"M/D/1, one token, fast", BLIS_ENGINE_FAST, false, 0.8, 200000, 1},
      {"M/D/1, one token, fast", BLIS_ENGINE_FAST, false, 0.9, 400000, 1},
      {"M/D/1, two tokens, fast", BLIS_ENGINE_FAST, false, 0.5, 200000, 2},
      {"M/D/1, two tokens, fast", BLIS_ENGINE_FAST, false, 0.8, 200000, 2},
      {"M/D/1, two tokens, fast", BLIS_ENGINE_FAST, false, 0.9, 400000, 2},
      {"M/D/1, one token, stepwise", BLIS_ENGINE_STEPWISE, false, 0.8, 200000, 1},
      {"M/D/1, two tokens, stepwise", BLIS_ENGINE_STEPWISE, false, 0.8, 200000, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_queue(&cases[i]);
  }
}

static void waiting_times_follow_the_theory(void) {
  const queue_case cases[] = {{"M/D/1, fast", BLIS_ENGINE_FAST, false, 0.7, 100000, 0},
                              {"M/M/1, fast", BLIS_ENGINE_FAST, true, 0.6, 100000, 0},
                              {"M/D/1, stepwise", BLIS_ENGINE_STEPWISE, false, 0.5, 10000, 0},
                              {"M/M/1, stepwise", BLIS_ENGINE_STEPWISE, true, 0.4, 10000, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_queue(&cases[i]);
  }
}

int main(int argc, char **argv) {
  requests_factor = argc > 1 ? strtoll(argv[1], NULL, 10) : 1;
  RUN(short_outputs_follow_the_theory);
  RUN(waiting_times_follow_the_theory);
  return check_done();
}
