#include "latency/step/copied.h"

#include "base/array.h"
#include "base/invariant.h"

typedef struct copied {
  blis_alloc alloc;
  blis_latency_model model;
  int64_t copies;
  BLIS_ARRAY(blis_batch_item) items; /* copies of the last batch */
} copied;

static int64_t times(int64_t sum, int64_t copies) {
  return sum > INT64_MAX / copies ? INT64_MAX : sum * copies;
}

static bool step_time_from_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  const copied *c = state;
  const blis_batch_sums all = {
      .requests = times(sums->requests, c->copies),
      .prefill_tokens = times(sums->prefill_tokens, c->copies),
      .decode_requests = times(sums->decode_requests, c->copies),
      .decode_context_tokens = times(sums->decode_context_tokens, c->copies),
      .prefill_attention = times(sums->prefill_attention, c->copies),
      .prefill_pairs = times(sums->prefill_pairs, c->copies),
      .prefill_context_tokens = times(sums->prefill_context_tokens, c->copies)};
  return blis_latency_step_time_from_sums(&c->model, &all, step_us);
}

static blis_status step_time(void *state, const blis_batch_item *items, size_t count,
                             int64_t *step_us, blis_error *error) {
  copied *c = state;
  const blis_batch_sums sums = blis_batch_sums_of(items, count);
  if (step_time_from_sums(c, &sums, step_us)) {
    return BLIS_OK;
  }
  c->items.count = 0;
  for (int64_t k = 0; k < c->copies; k++) {
    for (size_t i = 0; i < count; i++) {
      BLIS_TRY_MEM(blis_array_push(&c->alloc, &c->items, items[i]), error);
    }
  }
  return blis_latency_step_time(&c->model, c->items.items, c->items.count, step_us, error);
}

static int64_t queueing_time(const void *state, int64_t prompt_tokens) {
  const copied *c = state;
  return blis_latency_queueing_time(&c->model, prompt_tokens);
}

static int64_t output_token_time(const void *state) {
  const copied *c = state;
  return blis_latency_output_token_time(&c->model);
}

static int64_t fixed_overhead(const void *state) {
  const copied *c = state;
  return blis_latency_fixed_overhead(&c->model);
}

static blis_first_token first_token(const void *state) {
  const copied *c = state;
  return blis_latency_first_token(&c->model);
}

static const blis_coverage *coverage(const void *state) {
  const copied *c = state;
  return blis_latency_coverage(&c->model);
}

static void free_copied(const blis_alloc *alloc, void *state) {
  copied *c = state;
  blis_latency_free(&c->model);
  blis_array_deinit(alloc, &c->items);
  blis_alloc_free(alloc, c, sizeof *c);
}

static const blis_latency_ops ops = {.name = "copied",
                                     .step_time = step_time,
                                     .step_time_from_sums = step_time_from_sums,
                                     .may_look_ahead = true,
                                     .queueing_time = queueing_time,
                                     .output_token_time = output_token_time,
                                     .fixed_overhead = fixed_overhead,
                                     .first_token = first_token,
                                     .coverage = coverage,
                                     .free = free_copied};

blis_status blis_copied_latency_new(const blis_alloc *alloc, blis_latency_model *model,
                                    int64_t copies, blis_latency_model *out, blis_error *error) {
  BLIS_ASSERT(copies >= 1);
  copied *c = blis_alloc_zeroed(alloc, 1, sizeof *c);
  if (c == NULL) {
    blis_latency_free(model);
    return blis_fail_nomem(error);
  }
  *c = (copied){.alloc = *alloc, .model = *model, .copies = copies};
  *model = (blis_latency_model){0};
  *out = (blis_latency_model){.ops = &ops, .state = c, .alloc = *alloc};
  return BLIS_OK;
}
