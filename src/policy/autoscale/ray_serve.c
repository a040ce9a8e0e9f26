/*
 * ray_serve.c - autoscaler ray-serve: targets a number of ongoing requests per replica. The
 * decision is smoothed, and takes effect after enough consecutive decisions agree.
 */
#include <math.h>
#include <stdio.h>

#include "policy/autoscale/autoscaler.h"
#include "policy/contract/entry.h"

typedef struct state {
  double interval_s;
  double target;
  double up_factor;
  double down_factor;
  double up_delay_s;
  double down_delay_s;
  double zero_delay_s; /* delay for scaling from 1 to 0; -1 = down_delay_s */
  int64_t run;         /* number of consecutive decisions; negative for scale-down */
  char reason[128];
} state;

static double ongoing(const blis_scale_context *context) {
  return blis_scale_value(context, BLIS_SCALE_GATEWAY_QUEUE_SIZE) +
         blis_scale_value(context, BLIS_SCALE_REQUESTS_RUNNING);
}

/* Returns the number of replicas for the load, before delays. */
static int64_t wanted(const state *self, double total, int64_t replicas) {
  double desired = total / self->target;
  double change = desired - (double)replicas;
  double factor = change > 0 ? self->up_factor : self->down_factor;
  int64_t smoothed = (int64_t)ceil((double)replicas + factor * change);
  // The smoothing factor must not prevent scale-down forever.
  if (ceil(desired) < (double)replicas && smoothed == replicas) {
    smoothed--;
  }
  return smoothed;
}

static int64_t from_zero(const state *self, double total) {
  return (int64_t)fmax(ceil(self->up_factor), ceil(total / self->target));
}

/* Returns the number of consecutive decisions that must be exceeded, at one decision per
   interval. */
static int64_t decisions_of(const state *self, double delay_s) {
  return (int64_t)(delay_s / self->interval_s);
}

static double delay_down(const state *self, int64_t target) {
  return target == 0 && self->zero_delay_s >= 0 ? self->zero_delay_s : self->down_delay_s;
}

static int64_t clipped(int64_t value, const blis_scale_context *context) {
  return value < context->min ? context->min : value > context->max ? context->max : value;
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  int64_t replicas = context->replicas;
  double total = ongoing(context);
  snprintf(self->reason, sizeof self->reason, "%.4g ongoing requests, %.4g per replica", total,
           self->target);
  if (replicas == 0) {
    if (total > 0) {
      decision->target = clipped(from_zero(self, total), context);
      decision->reason = self->reason;
    }
    return BLIS_OK;
  }
  int64_t target = clipped(wanted(self, total, replicas), context);
  if (target == 0 && replicas > 1) {
    target = 1;
  }
  if (target == replicas) {
    self->run = 0;
    return BLIS_OK;
  }
  bool is_up = target > replicas;
  if ((self->run > 0) != is_up) {
    self->run = 0;
  }
  self->run += is_up ? 1 : -1;
  int64_t needed = decisions_of(self, is_up ? self->up_delay_s : delay_down(self, target));
  if ((is_up ? self->run : -self->run) > needed) {
    self->run = 0;
    decision->target = target;
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("target", 1e-9, 1e9, 2, "requests", "ongoing requests per replica",
                 BLIS__INTO(state, target)),
    BLIS__NUMBER("upscaling_factor", 1e-9, 1e3, 1, "",
                 "fraction of a scale-up that is made at once", BLIS__INTO(state, up_factor)),
    BLIS__NUMBER("downscaling_factor", 1e-9, 1e3, 1, "",
                 "fraction of a scale-down that is made at once", BLIS__INTO(state, down_factor)),
    BLIS__NUMBER("upscale_delay_seconds", 0, 1e9, 30, "s", "for which every decision has to be up",
                 BLIS__INTO(state, up_delay_s)),
    BLIS__NUMBER("downscale_delay_seconds", 0, 1e9, 600, "s",
                 "for which every decision has to be down", BLIS__INTO(state, down_delay_s)),
    BLIS__NUMBER("downscale_to_zero_delay_seconds", -1, 1e9, -1, "s",
                 "the same for the last replica; -1 = as the others",
                 BLIS__INTO(state, zero_delay_s)),
    BLIS__SCALE_INTERVAL(state, 0.1),
};

const blis_policy_entry blis__autoscaler_ray_serve = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "ray-serve",
    .summary = "ongoing requests per replica, after delays in each direction",
    .source = "Ray Serve, python/ray/serve/autoscaling_policy.py",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide},
    .state_size = sizeof(state),
    .needs =
        BLIS_SCALE_BIT(BLIS_SCALE_GATEWAY_QUEUE_SIZE) | BLIS_SCALE_BIT(BLIS_SCALE_REQUESTS_RUNNING),
};
