/*
 * load.c - admission policies tier-shed and gaie-legacy: reject requests of low importance while
 * the cluster is busy.
 */
#include <inttypes.h>
#include <stdio.h>

#include "policy/admission/admission.h"
#include "policy/contract/entry.h"

typedef struct shedding {
  double limit;      /* load, or queue depth */
  double kv_limit;   /* used by gaie-legacy */
  int32_t min_value; /* used by tier-shed: classes with at least this value are never shed */
  char reason[128];
} shedding;

static const char *class_of(const blis_routing_request *request) {
  const char *name = blis_intern_text(request->strings, request->slo_class);
  return *name == '\0' ? "standard" : name;
}

/* tier-shed */

static blis_status shed_tiers(const blis_question *q, blis_admission_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  shedding *self = q->state;
  const double *loads = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  double load = 0;
  for (size_t i = 0; i < view->count; i++) {
    load = loads[i] > load ? loads[i] : load;
  }
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (load > self->limit && request->slo_value < self->min_value) {
    snprintf(self->reason, sizeof self->reason,
             "tier-shed: class %s with priority %" PRId32 ", below %" PRId32 ", at load %.0f",
             class_of(request), request->slo_value, self->min_value, load);
    decision->verdict = BLIS_REJECT;
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static const blis_param_spec tier_shed_params[] = {
    BLIS__INTEGER("threshold", 0, 1e15, 0, "requests",
                  "highest effective load of an instance at which every "
                  "request is admitted",
                  BLIS__INTO(shedding, limit)),
    BLIS__INTEGER("min_priority", -1000, 1000, 3, "",
                  "SLO classes with this value or a higher one are always admitted",
                  BLIS__INTO(shedding, min_value)),
};

const blis_policy_entry blis__admission_tier_shed = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "tier-shed",
    .summary = "rejects classes below a priority while any instance is above "
               "the load threshold",
    .source = "BLIS (Go)",
    BLIS__PARAMS(tier_shed_params),
    .ops = &(const blis_admission_ops){.decide = shed_tiers},
    .state_size = sizeof(shedding),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
};

/* gaie-legacy */

static double saturation(const shedding *self, const blis_routing_view *view) {
  const double *queues = view->columns[BLIS_SIGNAL_QUEUE_DEPTH];
  const double *used = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  double sum = 0;
  for (size_t i = 0; i < view->count; i++) {
    double by_queue = queues[i] / self->limit;
    double by_kv = used[i] / self->kv_limit;
    sum += by_queue > by_kv ? by_queue : by_kv;
  }
  return view->count == 0 ? 1 : sum / (double)view->count;
}

static blis_status shed_sheddable(const blis_question *q, blis_admission_decision *decision) {
  shedding *self = q->state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (q->request->slo_value >= 0) {
    return BLIS_OK;
  }
  double load = saturation(self, q->view);
  if (load >= 1) {
    snprintf(self->reason, sizeof self->reason, "gaie-legacy: class %s at saturation %.2f",
             class_of(q->request), load);
    decision->verdict = BLIS_REJECT;
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static const blis_param_spec gaie_legacy_params[] = {
    BLIS__NUMBER("qd_threshold", 1e-6, 1e15, 5, "requests",
                 "queue depth at which an instance is saturated", BLIS__INTO(shedding, limit)),
    BLIS__NUMBER("kv_threshold", 1e-6, 1, 0.8, "0 to 1",
                 "KV utilization at which an instance is saturated",
                 BLIS__INTO(shedding, kv_limit)),
};

const blis_policy_entry blis__admission_gaie_legacy = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "gaie-legacy",
    .summary = "rejects sheddable classes while the mean over instances of "
               "max(queue / its threshold, KV / its threshold) is 1 or more",
    .source = "Gateway API Inference Extension, by BLIS (Go)",
    BLIS__PARAMS(gaie_legacy_params),
    .ops = &(const blis_admission_ops){.decide = shed_sheddable},
    .state_size = sizeof(shedding),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
};
