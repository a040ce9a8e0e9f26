/*
 * llmd.c - admission policies of llm-d-router: probabilistic and latency-slo reject sheddable
 * requests before they enter the gateway queue.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "policy/admission/admission.h"
#include "policy/contract/entry.h"

typedef struct admitter {
  blis_random random;
  double queue_threshold;
  double kv_threshold;
  double power;
  double factor;
  double tokens_per_s;
  double cold_utilization;
  char reason[128];
} admitter;

static blis_status refuse(admitter *self, blis_admission_decision *decision) {
  *decision = (blis_admission_decision){.verdict = BLIS_REJECT, .reason = self->reason};
  return BLIS_OK;
}

/* probabilistic */

static double saturation(const admitter *self, const blis_routing_view *view) {
  const double *queues = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *used = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  double sum = 0;
  for (size_t i = 0; i < view->count; i++) {
    sum += fmax(queues[i] / self->queue_threshold, used[i] / self->kv_threshold);
  }
  return sum / (double)view->count;
}

/* Draws a random number for every request that may be rejected. */
static blis_status decide_by_chance(const blis_question *q, blis_admission_decision *decision) {
  admitter *self = q->state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (q->request->slo_value >= 0 || q->view->count == 0) {
    return BLIS_OK;
  }
  double load = saturation(self, q->view);
  double chance = fmin(self->factor * pow(load, self->power), 1);
  if (blis_random_float64(&self->random) >= chance) {
    return BLIS_OK;
  }
  snprintf(self->reason, sizeof self->reason,
           "probabilistic: refused with probability %.3f at saturation %.2f", chance, load);
  return refuse(self, decision);
}

static blis_status init_chance(void *ud, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  admitter *self = ud;
  blis_setup_random(setup, &self->random);
  return BLIS_OK;
}

static const blis_param_spec probabilistic_params[] = {
    BLIS__NUMBER("queue_depth_threshold", 1e-9, 1e15, 5, "requests",
                 "queue depth at which an instance is full", BLIS__INTO(admitter, queue_threshold)),
    BLIS__NUMBER("kv_utilization_threshold", 1e-9, 1, 0.8, "0 to 1",
                 "KV utilization at which an instance is full", BLIS__INTO(admitter, kv_threshold)),
    BLIS__NUMBER("power", 1e-9, 1e9, 5, "", "of saturation", BLIS__INTO(admitter, power)),
    BLIS__NUMBER("k", 1e-9, 1e15, 300, "", "times that is the probability",
                 BLIS__INTO(admitter, factor)),
};

const blis_policy_entry blis__admission_probabilistic = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "probabilistic",
    .aliases = "probabilistic-admitter",
    .summary = "rejects sheddable classes with probability k x saturation ^ "
               "power; saturation is the mean over instances of max(queue / "
               "its threshold, KV / its threshold)",
    .source = "llm-d-router, probabilistic-admitter",
    BLIS__PARAMS(probabilistic_params),
    .ops = &(const blis_admission_ops){.decide = decide_by_chance},
    .state_size = sizeof(admitter),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
    .init = init_chance,
};

/* latency-slo */

/* llm-d trains a model that predicts latencies. This estimate assumes that prompts are computed
   at a constant rate, in order of arrival. */
static double expected_ttft_us(const admitter *self, const blis_question *q, size_t i) {
  const double *pending = q->view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  return (double)(q->view->now_us - q->request->arrival_us) +
         (pending[i] + (double)q->request->prompt_tokens) * 1e6 / self->tokens_per_s;
}

static bool has_hope(const admitter *self, const blis_question *q) {
  const blis_routing_view *view = q->view;
  for (size_t i = 0; i < view->count; i++) {
    if (view->columns[BLIS_SIGNAL_BATCH_SIZE][i] == 0 ||
        view->columns[BLIS_SIGNAL_KV_UTILIZATION][i] < self->cold_utilization ||
        expected_ttft_us(self, q, i) <= (double)q->request->slo_target_us) {
      return true;
    }
  }
  return view->count == 0;
}

static blis_status decide_by_latency(const blis_question *q, blis_admission_decision *decision) {
  admitter *self = q->state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (q->request->slo_value >= 0 || q->request->slo_target_us <= 0 || has_hope(self, q)) {
    return BLIS_OK;
  }
  snprintf(self->reason, sizeof self->reason,
           "latency-slo: no instance would give the first token within "
           "%" PRId64 " us",
           q->request->slo_target_us);
  return refuse(self, decision);
}

static const blis_param_spec latency_slo_params[] = {
    BLIS__NUMBER("prefill_tokens_per_s", 1, 1e12, 20000, "tokens/s",
                 "at which an instance computes prompts, as it is expected",
                 BLIS__INTO(admitter, tokens_per_s)),
    BLIS__NUMBER("cold_utilization", 0, 1, 0.02, "0 to 1",
                 "an instance below this KV utilization accepts any request",
                 BLIS__INTO(admitter, cold_utilization)),
};

const blis_policy_entry blis__admission_latency_slo = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "latency-slo",
    .aliases = "latency-slo-admitter",
    .summary = "rejects sheddable requests with a target for TTFT that no "
               "instance is expected to keep, unless one is idle or cold",
    .source = "llm-d-router, latency-slo-admitter, with a simple prediction",
    BLIS__PARAMS(latency_slo_params),
    .ops = &(const blis_admission_ops){.decide = decide_by_latency},
    .state_size = sizeof(admitter),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
};
