/*
 * admission_load.c - admission policies tier-shed and gaie-legacy: unimportant
 * requests are refused while the cluster is busy.
 */
#include <inttypes.h>
#include <stdio.h>

#include "policy/admission/entries.h"

typedef struct shedding {
  double limit;      /* load, or queue depth */
  double kv_limit;   /* of gaie-legacy */
  int32_t min_value; /* of tier-shed: classes with it are never shed */
  char reason[128];
} shedding;

static void free_state(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(shedding));
}

static blis_status wrap(const blis_alloc *alloc, const shedding *made,
                        const blis_admission *shape, blis_admission *admission,
                        blis_error *error) {
  shedding *self = blis_alloc_new(alloc, sizeof *self);
  BLIS_TRY_NEW(self, error);
  *self = *made;
  *admission = *shape;
  admission->state = self;
  admission->alloc = *alloc;
  return BLIS_OK;
}

static const char *class_of(const blis_routing_request *request) {
  const char *name = blis_intern_text(request->strings, request->slo_class);
  return *name == '\0' ? "standard" : name;
}

/* tier-shed */

static blis_status shed_tiers(void *state, const blis_routing_request *request,
                              const blis_routing_view *view,
                              blis_admission_decision *decision,
                              blis_error *error) {
  (void)error;
  shedding *self = state;
  const double *loads = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  double load = 0;
  for (size_t i = 0; i < view->count; i++) {
    load = loads[i] > load ? loads[i] : load;
  }
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (load > self->limit && request->slo_value < self->min_value) {
    snprintf(self->reason, sizeof self->reason,
             "tier-shed: class %s with priority %" PRId32 ", below %" PRId32
             ", at load %.0f",
             class_of(request), request->slo_value, self->min_value, load);
    decision->verdict = BLIS_REJECT;
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static const blis_admission_ops tier_shed_ops = {.decide = shed_tiers,
                                                 .free = free_state};

enum { TIER_SHED_PARAMS = 2 };

static const blis_param_spec tier_shed_params[TIER_SHED_PARAMS] = {
    {.name = "threshold",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1e15,
     .fallback = 0,
     .unit = "requests",
     .summary = "highest effective load of an instance at which everybody is "
                "let in"},
    {.name = "min_priority",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = -1000,
     .maximum = 1000,
     .fallback = 3,
     .unit = "",
     .summary = "SLO classes with this value and above are always let in"},
};

static blis_status create_tier_shed(const blis_alloc *alloc,
                                    const blis_params *params,
                                    const blis_policy_context *context,
                                    blis_admission *admission,
                                    blis_error *error) {
  (void)context;
  const shedding made = {
      .limit = blis_params_number(params, tier_shed_params, TIER_SHED_PARAMS,
                                  "threshold"),
      .min_value = (int32_t)blis_params_number(
          params, tier_shed_params, TIER_SHED_PARAMS, "min_priority")};
  const blis_admission shape = {.ops = &tier_shed_ops,
                                .needs =
                                    BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
                                .name = "tier-shed"};
  return wrap(alloc, &made, &shape, admission, error);
}

const blis_admission_entry blis__admission_tier_shed = {
    .name = "tier-shed",
    .aliases = "",
    .summary = "when some instance has more load than the threshold, classes "
               "below a priority are rejected",
    .source = "BLIS (Go)",
    .params = tier_shed_params,
    .param_count = TIER_SHED_PARAMS,
    .create = create_tier_shed,
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

static blis_status shed_sheddable(void *state,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view,
                                  blis_admission_decision *decision,
                                  blis_error *error) {
  (void)error;
  shedding *self = state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (request->slo_value >= 0) {
    return BLIS_OK;
  }
  double load = saturation(self, view);
  if (load >= 1) {
    snprintf(self->reason, sizeof self->reason,
             "gaie-legacy: class %s at saturation %.2f", class_of(request),
             load);
    decision->verdict = BLIS_REJECT;
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static const blis_admission_ops gaie_legacy_ops = {.decide = shed_sheddable,
                                                   .free = free_state};

enum { GAIE_LEGACY_PARAMS = 2 };

static const blis_param_spec gaie_legacy_params[GAIE_LEGACY_PARAMS] = {
    {.name = "qd_threshold",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-6,
     .maximum = 1e15,
     .fallback = 5,
     .unit = "requests",
     .summary = "queue depth at which an instance is saturated"},
    {.name = "kv_threshold",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-6,
     .maximum = 1,
     .fallback = 0.8,
     .unit = "0 to 1",
     .summary = "KV utilization at which an instance is saturated"},
};

static blis_status create_gaie_legacy(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_admission *admission,
                                      blis_error *error) {
  (void)context;
  const shedding made = {
      .limit = blis_params_number(params, gaie_legacy_params,
                                  GAIE_LEGACY_PARAMS, "qd_threshold"),
      .kv_limit = blis_params_number(params, gaie_legacy_params,
                                     GAIE_LEGACY_PARAMS, "kv_threshold")};
  const blis_admission shape = {.ops = &gaie_legacy_ops,
                                .needs =
                                    BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                                    BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
                                .name = "gaie-legacy"};
  return wrap(alloc, &made, &shape, admission, error);
}

const blis_admission_entry blis__admission_gaie_legacy = {
    .name = "gaie-legacy",
    .aliases = "",
    .summary = "sheddable classes are rejected while the mean over instances "
               "of max(queue / its threshold, KV / its threshold) is 1 or more",
    .source = "Gateway API Inference Extension, by BLIS (Go)",
    .params = gaie_legacy_params,
    .param_count = GAIE_LEGACY_PARAMS,
    .create = create_gaie_legacy,
};
