/*
 * pipeline.c - autoscaler saturation-pipeline: metrics from a collector pass through an analyzer
 * (missing or spare capacity), an optimizer (which kind of node), and a stabilization window.
 *
 * The formulas match BLIS (Go, inference-sim f90a1e3a), except that the last
 * instance is never removed: without instances, no metric would trigger a scale-up.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/autoscale/autoscaler.h"
#include "policy/contract/entry.h"

/* Maximum number of node kinds that one evaluation distinguishes. */
enum { VARIANTS_MAX = 64 };

/* Instances on one kind of node, priced like the first of them. */
typedef struct variant {
  const blis_scale_instance *first;
  double supply;
  double demand;
  double replicas;
} variant;

/* Time since which a signal has been present without interruption. */
typedef struct window {
  double length_us;
  bool is_open;
  int64_t since_us;
} window;

typedef struct state {
  double interval_s;
  double kv_threshold;
  double up_threshold;
  double down_boundary;
  double prompt_tokens;
  double up_window_s;
  double down_window_s;
  window up;
  window down;
  variant variants[VARIANTS_MAX];
  size_t count;
  char reason[160];
} state;

/* Missing or spare capacity; never both. */
typedef struct verdict {
  double missing;
  double spare;
} verdict;

/* Analyzer. */

static int compare_texts(const char *a, const char *b) {
  return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static bool is_alike(const blis_scale_instance *a, const blis_scale_instance *b) {
  return a->tp == b->tp && compare_texts(a->gpu, b->gpu) == 0;
}

/* Compares by price; the cheapest comes first. */
static int compare(const variant *a, const variant *b) {
  if (a->first->cost_per_hour != b->first->cost_per_hour) {
    return a->first->cost_per_hour < b->first->cost_per_hour ? -1 : 1;
  }
  int order = compare_texts(a->first->gpu, b->first->gpu);
  return order != 0 ? order : (a->first->tp > b->first->tp) - (a->first->tp < b->first->tp);
}

/* Returns NULL if there are too many kinds. */
static variant *variant_of(state *self, const blis_scale_instance *instance) {
  for (size_t i = 0; i < self->count; i++) {
    if (is_alike(self->variants[i].first, instance)) {
      return &self->variants[i];
    }
  }
  if (self->count == VARIANTS_MAX) {
    return NULL;
  }
  self->variants[self->count] = (variant){.first = instance};
  return &self->variants[self->count++];
}

/* Skips instances without metrics: their capacity is 0. */
static void collect(state *self, const blis_scale_context *context) {
  self->count = 0;
  for (size_t i = 0; i < context->instance_count; i++) {
    const blis_scale_instance *instance = &context->instances[i];
    variant *v = instance->kv_capacity_tokens > 0 ? variant_of(self, instance) : NULL;
    if (v != NULL) {
      v->supply += instance->kv_capacity_tokens * self->kv_threshold;
      v->demand += instance->running_kv_tokens + instance->queue_depth * self->prompt_tokens;
      v->replicas++;
    }
  }
  for (size_t i = 1; i < self->count; i++) {
    variant moved = self->variants[i];
    size_t place = i;
    for (; place > 0 && compare(&moved, &self->variants[place - 1]) < 0; place--) {
      self->variants[place] = self->variants[place - 1];
    }
    self->variants[place] = moved;
  }
}

static verdict analyze(const state *self, const blis_scale_context *context) {
  double supply = 0;
  double demand = 0;
  double replicas = 0;
  double most = 0; /* largest capacity of one replica */
  for (size_t i = 0; i < self->count; i++) {
    const variant *v = &self->variants[i];
    supply += v->supply;
    demand += v->demand;
    replicas += v->replicas;
    most = fmax(most, v->supply / v->replicas);
  }
  double missing =
      demand / self->up_threshold - (supply + context->starting_kv_tokens * self->kv_threshold);
  if (missing > 0) {
    return (verdict){.missing = missing};
  }
  double spare = supply - demand / self->down_boundary;
  bool is_spare = replicas > 1 && spare > 0 && supply - most > demand / self->down_boundary;
  return (verdict){.spare = is_spare ? spare : 0};
}

/* Optimizer. */

static int64_t replicas_for(double tokens, const variant *v) {
  double each = v->supply / v->replicas;
  return each > 0 ? (int64_t)fmin(tokens / each, 1e9) : 0;
}

/* Adds replicas to the cheapest variant. */
static int64_t more(const state *self, const verdict *found, blis_scale_decision *decision) {
  const variant *v = &self->variants[0];
  double each = v->supply / v->replicas;
  decision->like = (int64_t)v->first->id;
  return (int64_t)fmax(1, ceil(found->missing / each));
}

/* Removes instances of the most expensive variant. At least one instance remains in total. */
static int64_t fewer(const state *self, const verdict *found, const blis_scale_context *context,
                     blis_scale_decision *decision) {
  const variant *v = &self->variants[self->count - 1];
  for (size_t i = self->count - 1; i-- > 0;) { /* among equal prices: the first */
    if (self->variants[i].first->cost_per_hour == v->first->cost_per_hour) {
      v = &self->variants[i];
    }
  }
  int64_t most = (int64_t)v->replicas;
  most = most < context->replicas ? most : (int64_t)context->replicas - 1;
  int64_t change = replicas_for(found->spare, v);
  decision->like = (int64_t)v->first->id;
  return change < 1 ? (most < 1 ? most : 1) : (change < most ? change : most);
}

/* Stabilization. */

/* Returns whether the signal has lasted long enough; if so, restarts the window. */
static bool has_lasted(window *w, bool is_there, int64_t now_us) {
  if (!is_there) {
    w->is_open = false;
    return false;
  }
  if (!w->is_open) {
    *w = (window){w->length_us, true, now_us};
  }
  if (now_us - w->since_us < (int64_t)w->length_us) {
    return false;
  }
  w->is_open = false;
  return true;
}

static blis_status decide(void *ud, const blis_scale_context *context,
                          blis_scale_decision *decision, blis_error *error) {
  (void)error;
  state *self = ud;
  collect(self, context);
  if (self->count == 0) {
    self->up.is_open = false;
    self->down.is_open = false;
    return BLIS_OK;
  }
  verdict found = analyze(self, context);
  self->up.length_us = self->up_window_s * 1e6;
  self->down.length_us = self->down_window_s * 1e6;
  bool grows = has_lasted(&self->up, found.missing > 0, context->now_us);
  bool shrinks = has_lasted(&self->down, found.spare > 0, context->now_us);
  if (grows) {
    decision->target += more(self, &found, decision);
    snprintf(self->reason, sizeof self->reason, "%.6g KV tokens are missing", found.missing);
    decision->reason = self->reason;
  } else if (shrinks) {
    decision->target -= fewer(self, &found, context, decision);
    snprintf(self->reason, sizeof self->reason, "%.6g KV tokens are spare", found.spare);
    decision->reason = self->reason;
  }
  return BLIS_OK;
}

static blis_status init(void *ud, blis_policy_setup *setup, blis_error *error) {
  const state *self = ud;
  if (self->down_boundary >= self->up_threshold) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler %s: scale_down_boundary, %g, is not below "
                     "scale_up_threshold, %g",
                     setup->entry->name, self->down_boundary, self->up_threshold);
  }
  return BLIS_OK;
}

static const blis_param_spec params[] = {
    BLIS__NUMBER("kv_cache_threshold", 1e-9, 1, 0.8, "0 to 1",
                 "share of a KV cache that counts as supply", BLIS__INTO(state, kv_threshold)),
    BLIS__NUMBER("scale_up_threshold", 1e-9, 1e9, 0.8, "",
                 "more above this ratio of demand to supply", BLIS__INTO(state, up_threshold)),
    BLIS__NUMBER("scale_down_boundary", 1e-9, 1e9, 0.4, "",
                 "fewer where one less stays below this ratio", BLIS__INTO(state, down_boundary)),
    BLIS__NUMBER("avg_input_tokens", 1e-9, 1e9, 512, "tokens", "demand of a waiting request",
                 BLIS__INTO(state, prompt_tokens)),
    BLIS__NUMBER("scale_up_stabilization_seconds", 0, 1e9, 0, "s",
                 "how long the need for more must last", BLIS__INTO(state, up_window_s)),
    BLIS__NUMBER("scale_down_stabilization_seconds", 0, 1e9, 0, "s",
                 "how long the room for fewer must last", BLIS__INTO(state, down_window_s)),
    BLIS__SCALE_INTERVAL(state, 10),
};

const blis_policy_entry blis__autoscaler_saturation_pipeline = {
    .kind = BLIS_POLICY_AUTOSCALER,
    .name = "saturation-pipeline",
    .summary = "as many as hold the KV tokens in use and waiting, of the "
               "cheapest machines",
    .source = "BLIS (Go, inference-sim f90a1e3a), autoscaler pipeline",
    BLIS__PARAMS(params),
    .ops = &(const blis_autoscaler_ops){.decide = decide},
    .state_size = sizeof(state),
    .init = init,
};
