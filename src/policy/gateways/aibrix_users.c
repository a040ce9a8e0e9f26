/*
 * aibrix_users.c - routing policies of the AIBrix gateway that depend on the
 * user or session: aibrix.vtc-basic, aibrix.session-affinity.
 */
#include <math.h>
#include <string.h>

#include "base/containers/map.h"
#include "base/invariant.h"
#include "policy/gateways/gateway.h"
#include "policy/memory/recent.h"
#include "policy/pickers/pick_rules.h"

#define AIBRIX_SOURCE "AIBrix e3e10f9e"

enum {
  FAIRNESS,
  UTILIZATION,
  NOISE,
  FULL_LOAD,
  INPUT_WEIGHT,
  OUTPUT_WEIGHT,
  OUTPUT_RATIO,
  TOKEN_WINDOW
};

/* The assumed range of token counts while no tenant has tokens, and the smallest bucket. */
#define NO_USER_RANGE ((blis__range){1000, 8000})
#define LEAST_BUCKET 1000.0

static const blis_param_spec vtc_params[] = {
    BLIS__NUMBER("fairness_weight", 0, 1e9, 1, "",
                 "weight of the distance from the tenant's place among the instances"),
    BLIS__NUMBER("utilization_weight", 0, 1e9, 1, "", "of the requests in flight"),
    BLIS__NUMBER("noise", 0, 1e9, 0.1, "", "factor of a random number from 0 to 1"),
    BLIS__NUMBER("max_load", 1e-9, 1e12, 100, "requests",
                 "requests in flight at which an instance counts as fully utilised"),
    BLIS__NUMBER("input_weight", 0, 1e6, 1, "", "of a prompt token of the tenant"),
    BLIS__NUMBER("output_weight", 0, 1e6, 2, "", "of an output token"),
    BLIS__NUMBER("output_ratio", 0, 1e6, 1.5, "", "expected output tokens per prompt token"),
    BLIS__INTEGER("window_us", 1, 1e15, 300e6, "us", "window in which a tenant's tokens count"),
};

/* Tokens of a tenant in the window. */
typedef struct tenant_tokens {
  int64_t input;
  int64_t output; /* expected output tokens */
} tenant_tokens;

typedef struct vtc {
  blis__recent recent; /* charges, by slot */
  blis_map slots;      /* from a tenant to its index in tenants */
  BLIS_ARRAY(tenant_tokens) tenants;
} vtc;

static void init_vtc(blis__gateway *self) {
  vtc *own = self->own;
  blis_map_init(&own->slots, &self->alloc);
}

static void deinit_vtc(blis__gateway *self) {
  vtc *own = self->own;
  blis__recent_deinit(&self->alloc, &own->recent);
  blis_map_deinit(&own->slots);
  blis_array_deinit(&self->alloc, &own->tenants);
}

/* Adds a prompt and its expected output to a tenant; sign -1 removes them. */
static void charge(const blis__gateway *self, size_t slot, int64_t prompt_tokens, int64_t sign) {
  const vtc *own = self->own;
  tenant_tokens *tokens = &own->tenants.items[slot];
  double output = ceil(self->values[OUTPUT_RATIO] * (double)prompt_tokens);
  tokens->input += sign * prompt_tokens;
  tokens->output += sign * (int64_t)output;
  BLIS_ASSERT(tokens->input >= 0 && tokens->output >= 0);
}

static double weighted_tokens(const blis__gateway *self, size_t slot) {
  const vtc *own = self->own;
  const tenant_tokens *tokens = &own->tenants.items[slot];
  return self->values[INPUT_WEIGHT] * (double)tokens->input +
         self->values[OUTPUT_WEIGHT] * (double)tokens->output;
}

static void forget_old_charges(blis__gateway *self, int64_t now_us) {
  vtc *own = self->own;
  blis__recent_item item;
  int64_t begin_us = now_us - (int64_t)self->values[TOKEN_WINDOW];
  while (blis__recent_expire(&own->recent, begin_us, &item)) {
    charge(self, item.key, item.amount, -1);
  }
}

/* Returns the range of token counts over tenants with tokens. */
static blis__range range_of_tenants(const blis__gateway *self) {
  const vtc *own = self->own;
  blis__range range = {(double)INFINITY, 0};
  for (size_t i = 0; i < own->tenants.count; i++) {
    double tokens = weighted_tokens(self, i);
    if (tokens > 0) {
      range.low = fmin(range.low, tokens);
      range.high = fmax(range.high, tokens);
    }
  }
  return range.high > 0 ? range : NO_USER_RANGE;
}

static blis_status slot_of(blis__gateway *self, uint32_t tenant, size_t *slot) {
  vtc *own = self->own;
  uint64_t *place;
  bool is_new;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->tenants, own->tenants.count + 1));
  BLIS_TRY(blis_map_add(&own->slots, tenant, own->tenants.count, &place, &is_new));
  *slot = (size_t)*place;
  if (is_new) {
    own->tenants.items[own->tenants.count++] = (tenant_tokens){0};
  }
  BLIS_ASSERT(blis_map_count(&own->slots) == own->tenants.count);
  return BLIS_OK;
}

/* Returns the candidate with the lowest score. Tenants with many tokens are sent to different
   instances than the others. */
static size_t least_score(blis__gateway *self, const blis_routing_view *view, double tokens) {
  const double *v = self->values;
  const double *running = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  blis__range range = range_of_tenants(self);
  double bucket = fmax((range.low + range.high) / 2, LEAST_BUCKET);
  double place = fmin(tokens / bucket, (double)view->count - 1);
  size_t best = 0;
  double least = 0;
  for (size_t i = 0; i < view->count; i++) {
    double score =
        v[FAIRNESS] * fabs((double)i - place) + v[UTILIZATION] * fmin(running[i] / v[FULL_LOAD], 1);
    if (v[NOISE] > 0 && view->count > 1) {
      score += v[NOISE] * blis_random_float64(&self->random);
    }
    if (i == 0 || score < least) {
      least = score;
      best = i;
    }
  }
  return best;
}

static blis_status choose_vtc(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  vtc *own = self->own;
  if (request->tenant == 0) {
    *chosen = blis_pick_random(&self->random, view->count);
    return BLIS_OK;
  }
  size_t slot;
  forget_old_charges(self, view->now_us);
  BLIS_TRY_MEM(slot_of(self, request->tenant, &slot), q->error);
  *chosen = least_score(self, view, weighted_tokens(self, slot));
  charge(self, slot, request->prompt_tokens, 1);
  const blis__recent_item item = {
      .at_us = view->now_us, .amount = request->prompt_tokens, .key = (uint32_t)slot};
  BLIS_TRY_MEM(blis__recent_add(&self->alloc, &own->recent, &item), q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_vtc_basic = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.vtc-basic",
    .summary = "least distance from the tenant's place by its recent tokens + "
               "requests in flight / 100 + noise; without a tenant any instance",
    .source = AIBRIX_SOURCE "; tokens in place of characters / 4",
    BLIS__PARAMS(vtc_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_vtc,
                  .own_size = sizeof(vtc), .init_own = init_vtc, .deinit_own = deinit_vtc),
};

enum { LONGEST_KEY = 256 };

/* Rendezvous weight: FNV-1a of the key, a zero byte, and the instance's id. The highest weight
   is chosen. */
static uint64_t weight_of(const char *key, size_t length, const char *id) {
  uint64_t hash = blis_fnv1a64("");
  hash = blis_fnv1a64_add(hash, key, length);
  hash = blis_fnv1a64_add(hash, "", 1);
  return blis_fnv1a64_add(hash, id, strlen(id));
}

static blis_status choose_by_session(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  bool has_key = request->session != 0 && request->strings != NULL;
  size_t length = has_key ? blis_intern_length(request->strings, request->session) : 0;
  if (length == 0 || length > LONGEST_KEY) {
    *chosen = blis_pick_random(&self->random, view->count);
    return BLIS_OK;
  }
  const char *key = blis_intern_text(request->strings, request->session);
  uint64_t highest = 0;
  *chosen = view->count;
  for (size_t i = 0; i < view->count; i++) {
    uint64_t weight = weight_of(key, length, view->ids[i]);
    bool wins = *chosen == view->count || weight > highest ||
                (weight == highest && view->id_ranks[i] < view->id_ranks[*chosen]);
    highest = wins ? weight : highest;
    *chosen = wins ? i : *chosen;
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_session_affinity = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.session-affinity",
    .summary = "highest hash of session and instance; without a session any instance",
    .source = AIBRIX_SOURCE,
    BLIS__GATEWAY(0, .choose = choose_by_session),
};
