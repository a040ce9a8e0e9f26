/*
 * hpa_policy.c - autoscaler hpa: Kubernetes' HorizontalPodAutoscaler with one or more metrics.
 */
#include "policy/autoscale/hpa_loop.h"

typedef struct state {
  blis_hpa_loop loop;
} state;

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  state *self = ud;
  return blis_hpa_loop_sync(&self->loop, context, context->min, decision, error);
}

static void free_state(const blis_alloc *alloc, void *ud) {
  (void)alloc;
  blis_hpa_loop_deinit(&((state *)ud)->loop);
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  static const blis_scale_trigger usual = {BLIS_SCALE_KV_UTILIZATION, 0.8};
  state *self = ud;
  BLIS_TRY(blis_hpa_loop_init(&self->loop, setup, &usual, 1, error));
  setup->needs = blis_hpa_loop_needs(&self->loop);
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__HPA_METRICS_PARAM("target of each metric; default: gateway_queue_size = 1 and "
                            "requests_running = 16, by defaults 1.0-rc1 kv_utilization = 0.8"),
    BLIS__HPA_TYPE_PARAM(state, loop),
    BLIS__HPA_UP_PARAMS(state, loop, 0, 4, 15, 100, 15),
    BLIS__HPA_DOWN_PARAMS(state, loop, 300, 0, 0, 100, 15),
    BLIS__NUMBER("interval_seconds", 1e-3, 1e6, 15, "s", "between decisions",
                 BLIS__INTO(state, loop.interval_s)),
};

const blis_policy_entry blis__autoscaler_hpa = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "hpa",
    .aliases = "kubernetes.hpa",
    .summary = "Kubernetes' HorizontalPodAutoscaler with its behavior: "
               "tolerance, stabilization windows, limits of speed",
    .source = "kubernetes autoscaling/v2, pkg/controller/podautoscaler",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide, .free = free_state},
    .state_size = sizeof(state),
    .init = init,
};
