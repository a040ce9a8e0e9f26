/*
 * serving_scene.h - requests on one instance with a serving engine, batch by batch: steps of 1000
 * us, no queueing. A trace shows batches as {request:tokens of a prompt, decoding request, +rows of
 * requests that have ended}.
 */
#ifndef BLIS_SERVING_SCENE_H
#define BLIS_SERVING_SCENE_H

#include "base/random.h"
#include "engine_driver.h"

enum { REQUESTS_MAX = 8, TRACE_MAX = 1200, STEP_US = 1000 };

typedef struct scene {
  const char *name;
  blis_sglang_config sglang;
  blis_trtllm_config trtllm;
  enum { SGLANG, VLLM, TRTLLM } backend;
  int64_t kv_blocks;
  int64_t page;
  int64_t max_num_seqs;
  int64_t max_tokens;    /* of a step; 0 = 8192 */
  int64_t max_model_len; /* 0 = no limit */
  int64_t threshold;     /* prompt tokens of a request in a step; 0 = no limit */
  bool admits_whole_prompts;
  driver_request requests[REQUESTS_MAX];
  int64_t from_step; /* of the trace */
  int64_t widens_at; /* step before which all outputs may have this many tokens; 0 = none */
  int64_t widened;
  const char *trace; /* its first batches */
} scene;

typedef struct trace {
  char text[TRACE_MAX];
  size_t length;
  int64_t steps;
  int64_t items; /* of the last step */
  const scene *scene;
} trace;

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  trace *t = state;
  (void)items;
  (void)error;
  t->items = (int64_t)count;
  *step_us = STEP_US;
  return BLIS_OK;
}

static int64_t no_queueing(const void *state, int64_t prompt_tokens) {
  (void)state;
  (void)prompt_tokens;
  return 0;
}

static int64_t no_time(const void *state) {
  (void)state;
  return 0;
}

static const blis_latency_ops constant_ops = {.name = "constant",
                                              .step_time = step_time,
                                              .queueing_time = no_queueing,
                                              .output_token_time = no_time,
                                              .fixed_overhead = no_time};

static const blis_engine_rules design_rules = {
    .leaves_at_step_end = true,
    .resumes_preempted = true,
    .counts_prompt_blocks = true,
    .recomputes_last_token = true,
    .drops_last_kv = true,
    .knows_cached_context = true,
    .pays_transfer_once = true,
    .names_whole_blocks = true,
};

/* Number, the step at whose beginning it arrives, prompt, output. */
#define AT(n, step, in, out) DRIVER_PLAIN(n, (step)*STEP_US, in, out)
/* The same with the largest output that the client allows. */
#define WITH_LIMIT(n, step, in, out, most)                                                         \
  { .number = (n), .arrival_us = (step)*STEP_US, .prompt = (in), .output = (out), .budget = (most) }
/* The first pre tokens are those of a group. */
#define SHARING(n, step, in, out, g, pre) DRIVER_REQUEST(n, (step)*STEP_US, 0, in, out, 1, g, pre)

BLIS_PRINTF(2, 3)
static void write_trace(trace *t, const char *format, ...) {
  va_list arguments;
  if (t->length >= TRACE_MAX - 100) {
    return; /* long enough */
  }
  va_start(arguments, format);
  t->length += (size_t)vsnprintf(&t->text[t->length], TRACE_MAX - t->length, format, arguments);
  va_end(arguments);
}

static void write_batch(trace *t, const driver *d) {
  const char *separator = t->length > 0 ? " {" : "{";
  int64_t shown = 0;
  for (size_t i = 0; i < d->arrived; i++) {
    const blis_live_request *r = &d->requests[i].live;
    if (r->new_tokens == 0 || d->requests[i].end_us >= 0) {
      continue;
    }
    write_trace(t, "%s%" PRId64, separator, r->number);
    if (r->progress_tokens <= r->prefill_tokens) {
      write_trace(t, ":%" PRId64, r->new_tokens);
    }
    separator = ",";
    shown++;
  }
  if (t->items > shown) {
    write_trace(t, "%s+%" PRId64, separator, t->items - shown);
  }
  write_trace(t, "}");
}

static void trace_step(driver *d, size_t instance) {
  trace *t = d->ud;
  blis_instance_stats stats;
  blis_instance_get_stats(d->instances[instance], &stats);
  if (stats.steps == t->steps) {
    return;
  }
  if (t->steps >= t->scene->from_step) {
    write_batch(t, d);
  }
  t->steps = stats.steps;
  for (size_t i = 0; i < d->arrived && t->scene->widens_at == stats.steps; i++) {
    d->requests[i].live.output_budget_tokens = t->scene->widened;
  }
}

static blis_instance_config config_of(const scene *s, const blis_latency_model *latency) {
  blis_instance_config config = {
      .latency = latency,
      .kv_blocks = s->kv_blocks > 0 ? s->kv_blocks : 100000,
      .block_size_tokens = s->page > 0 ? s->page : 1,
      .max_num_seqs = s->max_num_seqs > 0 ? s->max_num_seqs : 256,
      .max_batched_tokens = s->max_tokens > 0 ? s->max_tokens : 8192,
      .max_model_len_tokens = s->max_model_len,
      .horizon_us = 1000000000,
      .engine = BLIS_ENGINE_FAST, /* every step is computed nevertheless */
      .rules = design_rules,
      .sglang = s->backend == SGLANG ? &s->sglang : NULL,
      .trtllm = s->backend == TRTLLM ? &s->trtllm : NULL,
  };
  if (s->backend == VLLM) {
    config.engine = s->admits_whole_prompts ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
    config.rules.admits_whole_prompts = s->admits_whole_prompts;
    config.long_prefill_threshold_tokens = s->threshold;
  }
  return config;
}

static inline void run_scene(const scene *s) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  trace t = {.scene = s};
  blis_latency_model latency = {.ops = &constant_ops, .state = &t};
  blis_instance_config config = config_of(s, &latency);
  driver_request requests[REQUESTS_MAX];
  size_t count = 0;
  driver d;
  blis_error error;
  printf("# %s\n", s->name);
  memcpy(requests, s->requests, sizeof requests);
  while (count < REQUESTS_MAX && requests[count].prompt > 0) {
    count++;
  }
  driver_set_up(&d, &alloc, &config, requests, count);
  d.after_event = trace_step;
  d.ud = &t;
  CHECK_OK(driver_run(&d, &error), &error);
  CHECK_EQ_I64(d.ended, (int64_t)count);
  size_t length = strlen(s->trace);
  if (t.length > length) {
    t.text[length] = '\0';
  }
  CHECK_STR(t.text, s->trace);
  CHECK_EQ_I64(driver_stats(&d).used_kv_blocks, 0);
  CHECK_OK(blis_instance_close(d.instances[0], &error), &error);
  driver_deinit(&d);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static inline int64_t draw(blis_random *r, int64_t low, int64_t high) {
  return low + (int64_t)(blis_random_uint64(r) % (uint64_t)(high - low + 1));
}

#endif
