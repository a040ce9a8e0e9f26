/*
 * bucket.c - admission policies token-bucket and rate-limit: a level that rises over time up to a
 * limit, and that requests lower.
 *
 *   level = min(capacity, level + (now - last) * rate / 10^6)
 */
#include <math.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/time.h"
#include "policy/admission/admission.h"
#include "policy/contract/entry.h"

typedef struct bucket {
  double level;
  int64_t last_us;
} bucket;

/* One bucket for all tenants, or one per tenant; initially all are full. */
typedef struct buckets {
  blis_alloc alloc;
  double capacity;
  double rate_per_s;
  bool is_per_tenant;
  BLIS_ARRAY(bucket) items; /* by tenant number */
  /* Used by token-bucket. */
  uint32_t cost; /* COST_INPUT, ... */
  /* Used by rate-limit. */
  bool delays;
} buckets;

/* Returns the bucket for a request, refilled up to now; NULL = out of memory. */
static bucket *fill(buckets *self, uint32_t tenant, int64_t now_us) {
  size_t index = self->is_per_tenant ? tenant : 0;
  if (blis_array_reserve(&self->alloc, &self->items, index + 1) != BLIS_OK) {
    return NULL;
  }
  while (self->items.count <= index) {
    self->items.items[self->items.count++] = (bucket){.level = self->capacity};
  }
  bucket *b = &self->items.items[index];
  if (now_us > b->last_us) {
    double level = b->level + (double)(now_us - b->last_us) * self->rate_per_s / 1e6;
    b->level = level < self->capacity ? level : self->capacity;
    b->last_us = now_us;
  }
  BLIS_ASSERT(b->level <= self->capacity && b->last_us == now_us);
  return b;
}

static void free_state(const blis_alloc *alloc, void *state) {
  buckets *self = state;
  blis_array_deinit(alloc, &self->items);
}

/* token-bucket */

enum { COST_INPUT, COST_REQUEST, COST_TOTAL };

static double cost_of(const buckets *self, const blis_routing_request *request) {
  switch (self->cost) {
  case COST_REQUEST:
    return 1;
  case COST_TOTAL:
    return (double)request->prompt_tokens + (double)request->max_output_tokens;
  default:
    return (double)request->prompt_tokens;
  }
}

static blis_status take_tokens(const blis_question *q, blis_admission_decision *decision) {
  buckets *self = q->state;
  bucket *b = fill(self, q->request->tenant, q->view->now_us);
  BLIS_TRY_NEW(b, q->error);
  double cost = cost_of(self, q->request);
  if (b->level >= cost) {
    b->level -= cost;
    BLIS_ASSERT(b->level >= 0);
    *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  } else {
    *decision = (blis_admission_decision){
        .verdict = BLIS_REJECT,
        .reason = cost > self->capacity ? "token-bucket: costs more than the bucket holds"
                                        : "token-bucket: insufficient tokens"};
  }
  return BLIS_OK;
}

static const blis_admission_ops token_bucket_ops = {.decide = take_tokens, .free = free_state};

static const blis_param_spec token_bucket_params[] = {
    BLIS__NUMBER("bucket_size", 1e-6, 1e15, 1000, "tokens",
                 "bucket capacity (profile go-blis: 10000)"),
    BLIS__NUMBER("refill_rate", 1e-6, 1e15, 100, "tokens/s", "refill rate (profile go-blis: 1000)"),
    BLIS__BOOLEAN("per_tenant", 1, "one bucket per tenant, or one for all (profile go-blis: one)"),
    BLIS__CHOICE("cost", "input_tokens|request|total_tokens",
                 "cost of a request: its prompt tokens, 1, or prompt plus "
                 "maximum output tokens, as far as its client says a maximum",
                 BLIS__INTO(buckets, cost)),
};

static blis_status init_token_bucket(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  buckets *self = state;
  self->alloc = *setup->alloc;
  self->capacity = blis_setup_number(setup, "bucket_size");
  self->rate_per_s = blis_setup_number(setup, "refill_rate");
  self->is_per_tenant = blis_setup_number(setup, "per_tenant") != 0;
  return BLIS_OK;
}

const blis_policy_entry blis__admission_token_bucket = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "token-bucket",
    .summary = "requests take tokens from a bucket that refills over time; "
               "rejects a request when too few are left",
    .source = "BLIS macro-level implementation plan; BLIS (Go)",
    BLIS__PARAMS(token_bucket_params),
    .ops = &token_bucket_ops,
    .state_size = sizeof(buckets),
    .init = init_token_bucket,
};

/* rate-limit */

/* Contents of a ticket: 1 if a token is reserved for the request. */
enum { HAS_TOKEN = 0 };

/* Returns the time until the reserved token is available. The level must be negative. */
static int64_t wait_us(const buckets *self, const bucket *b) {
  double us = ceil(-b->level * 1e6 / self->rate_per_s);
  return us < 1 ? 1 : us < 0x1p62 ? (int64_t)us : BLIS_TIME_NEVER_US;
}

static blis_status take_turn(const blis_question *q, blis_admission_decision *decision) {
  const blis_routing_request *request = q->request;
  buckets *self = q->state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (request->ticket->values[HAS_TOKEN] != 0) {
    return BLIS_OK;
  }
  bucket *b = fill(self, request->tenant, q->view->now_us);
  BLIS_TRY_NEW(b, q->error);
  if (b->level >= 1 || self->delays) {
    b->level -= 1;
  } else {
    *decision = (blis_admission_decision){.verdict = BLIS_REJECT, .reason = "rate-limit"};
  }
  BLIS_ASSERT(b->level >= 0 || self->delays);
  if (b->level < 0) {
    request->ticket->values[HAS_TOKEN] = 1;
    *decision = (blis_admission_decision){.verdict = BLIS_DELAY, .delay_us = wait_us(self, b)};
  }
  return BLIS_OK;
}

static const blis_admission_ops rate_limit_ops = {.decide = take_turn, .free = free_state};

static const blis_param_spec rate_limit_params[] = {
    BLIS__NUMBER("rps", 1e-6, 1e9, 50, "requests/s", "long-run rate of one tenant",
                 BLIS__INTO(buckets, rate_per_s)),
    BLIS__NUMBER("burst", 1, 1e9, 200, "requests", "burst of one tenant",
                 BLIS__INTO(buckets, capacity)),
    BLIS__CHOICE("on_limit", "reject|delay", "reject a request beyond the limit, or delay it",
                 BLIS__INTO(buckets, delays)),
};

static blis_status init_rate_limit(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  buckets *self = state;
  self->alloc = *setup->alloc;
  self->is_per_tenant = true;
  return BLIS_OK;
}

const blis_policy_entry blis__admission_rate_limit = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "rate-limit",
    .aliases = "cognitora.rate_limit",
    .summary = "limits the requests per second of each tenant, with bursts",
    .source = "BLIS macro-level implementation plan; numbers of Cognitora "
              "(89f555a)",
    BLIS__PARAMS(rate_limit_params),
    .ops = &rate_limit_ops,
    .state_size = sizeof(buckets),
    .init = init_rate_limit,
};
