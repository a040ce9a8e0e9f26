/*
 * oracle.c - autoscaler oracle: knows all arrivals in advance and starts instances early enough to
 * be ready in time. Its result is an upper bound on what a better forecast can gain.
 *
 * The work of a request is its prefill time in an otherwise empty batch, plus its share of the
 * decode steps of the largest batch that meets the ITL target. The number of instances is computed
 * from the work in a time slice and the target utilization. Instances that are needed again before
 * others could start are kept.
 */
#include <math.h>
#include <stdio.h>

#include "policy/autoscale/planner.h"
#include "policy/contract/entry.h"

typedef struct state {
  double interval_s;
  double utilization;
  double slice_s;
  double margin_s;
  double requests_per_s; /* request rate of one instance; 0 = derived from its step-time model */
  double itl_us;
  blis_alloc alloc;
  double *work_us; /* cumulative work, by arrival; NULL = not computed yet */
  size_t count;
  char reason[128];
} state;

/* Returns the mean request of the whole trace, which determines the batch size. */
static blis_planner_load mean_load(const state *self, const blis_scale_model *model,
                                   const blis_scale_future *future) {
  double prompt = 0;
  double output = 0;
  for (size_t i = 0; i < future->count; i++) {
    prompt += future->arrivals[i].prompt_tokens;
    output += future->arrivals[i].output_tokens;
  }
  double count = fmax(1, (double)future->count);
  return (blis_planner_load){.prompt_tokens = prompt / count,
                             .output_tokens = output / count,
                             .itl_us = self->itl_us,
                             .kv_capacity_tokens = model->kv_capacity_tokens,
                             .requests_max = model->max_num_seqs};
}

/* Returns the work of a request. model NULL = derived from requests_per_s. */
static double work_of(const state *self, blis_scale_role role, const blis_scale_model *model,
                      const blis_scale_arrival *arrival, double token_us) {
  if (model == NULL) {
    return 1e6 / self->requests_per_s;
  }
  double prefill_us =
      role == BLIS_SCALE_DECODE ? 0 : model->step_us(model->state, arrival->prompt_tokens, 0, 0);
  double decode_us = role == BLIS_SCALE_PREFILL ? 0 : arrival->output_tokens * token_us;
  return prefill_us + decode_us;
}

/* Computes the cumulative work; called once, at the first evaluation. */
static blis_status learn(state *self, const blis_scale_context *context, blis_error *error) {
  const blis_scale_future *future = context->future;
  bool by_rate = self->requests_per_s > 0;
  const blis_scale_model *model = by_rate ? NULL : context->model;
  double token_us = 0;
  if (model != NULL) {
    const blis_planner_load load = mean_load(self, model, future);
    token_us = blis_planner_token_us(model, &load);
  } else if (!by_rate) {
    return blis_fail(error, BLIS_ERR_POLICY,
                     "autoscaler oracle: the latency model does not determine the "
                     "speed of an instance; set requests_per_second");
  }
  self->work_us = blis_alloc_new(&self->alloc, (future->count + 1) * sizeof(double));
  BLIS_TRY_NEW(self->work_us, error);
  self->count = future->count;
  self->work_us[0] = 0;
  for (size_t i = 0; i < future->count; i++) {
    self->work_us[i + 1] =
        self->work_us[i] + work_of(self, context->role, model, &future->arrivals[i], token_us);
  }
  return BLIS_OK;
}

/* Returns the number of arrivals before a time. */
static size_t count_before(const blis_scale_future *future, int64_t time_us) {
  size_t low = 0;
  size_t high = future->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (future->arrivals[middle].time_us < time_us) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Returns the number of instances for the slice that ends at end_us. */
static int64_t needed_at(const state *self, const blis_scale_context *context, int64_t end_us,
                         int64_t slice_us) {
  const blis_scale_future *future = context->future;
  double work_us = self->work_us[count_before(future, end_us)] -
                   self->work_us[count_before(future, end_us - slice_us)];
  double replicas = work_us / ((double)slice_us * self->utilization);
  return (int64_t)ceil(fmin(replicas, 1e9));
}

/* Returns the maximum over all slices that end in an interval. */
static int64_t most(const state *self, const blis_scale_context *context, int64_t from_us,
                    int64_t to_us) {
  int64_t slice_us = (int64_t)(self->slice_s * 1e6);
  int64_t found = needed_at(self, context, to_us, slice_us);
  for (int64_t t = from_us; t < to_us; t += slice_us / 2) {
    int64_t needed = needed_at(self, context, t, slice_us);
    found = needed > found ? needed : found;
  }
  return found;
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  state *self = ud;
  if (self->work_us == NULL) {
    BLIS_TRY(learn(self, context, error));
  }
  int64_t ready_us =
      context->now_us + (int64_t)context->startup_us + (int64_t)(self->margin_s * 1e6);
  int64_t end_us = ready_us + (int64_t)(self->interval_s * 1e6);
  int64_t wanted = most(self, context, ready_us, end_us);
  int64_t kept = most(self, context, context->now_us, end_us);
  bool is_behind = blis_scale_value(context, BLIS_SCALE_QUEUE_DEPTH) > 0 ||
                   blis_scale_value(context, BLIS_SCALE_GATEWAY_QUEUE_SIZE) > 0;
  if (wanted > decision->target) {
    decision->target = wanted;
  } else if (kept < decision->target && !is_behind) {
    decision->target = kept;
  }
  snprintf(self->reason, sizeof self->reason,
           "the next arrivals need %lld, those after a start %lld", (long long)kept,
           (long long)wanted);
  decision->reason = self->reason;
  return BLIS_OK;
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  state *self = ud;
  self->alloc = *setup->alloc;
  self->itl_us *= 1000;
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *ud) {
  state *self = ud;
  if (self->work_us != NULL) {
    blis_alloc_free(alloc, self->work_us, (self->count + 1) * sizeof(double));
  }
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("utilization", 0.01, 10, 0.7, "", "of an instance by the work of its slice",
                 BLIS__INTO(state, utilization)),
    BLIS__NUMBER("slice_seconds", 1e-3, 1e6, 10, "s", "of which arrivals are added up",
                 BLIS__INTO(state, slice_s)),
    BLIS__NUMBER("margin_seconds", 0, 1e9, 0, "s", "beyond the mean time of a start",
                 BLIS__INTO(state, margin_s)),
    BLIS__NUMBER("requests_per_second", 0, 1e9, 0, "requests/s",
                 "that an instance can do; 0 = by its latency model",
                 BLIS__INTO(state, requests_per_s)),
    BLIS__NUMBER("itl_ms", 1e-3, 1e9, 50, "ms", "that batches are to keep",
                 BLIS__INTO(state, itl_us)),
    BLIS__SCALE_INTERVAL(state, 5),
};

const blis_policy_entry blis__autoscaler_oracle = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "oracle",
    .summary = "as many instances as the future arrivals require, requested "
               "early enough to start in time",
    .source = "ours; the capacity of an instance as in Dynamo's planner",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide, .free = free_state},
    .state_size = sizeof(state),
    .needs = BLIS_SCALE_NEEDS_FUTURE | BLIS_SCALE_BIT(BLIS_SCALE_QUEUE_DEPTH) |
             BLIS_SCALE_BIT(BLIS_SCALE_GATEWAY_QUEUE_SIZE),
    .init = init,
};
