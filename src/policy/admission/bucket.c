/*
 * admission_bucket.c - admission policies token-bucket and rate-limit: a level
 * that rises with time up to a limit, and that requests use up.
 *
 *   level = min(capacity, level + (now - last) * rate / 10^6)
 */
#include <math.h>

#include "base/array.h"
#include "base/time.h"
#include "policy/admission/entries.h"

typedef struct bucket {
  double level;
  int64_t last_us;
} bucket;

/* One bucket for everybody, or one per tenant; all are full at first. */
typedef struct buckets {
  blis_alloc alloc;
  double capacity;
  double rate_per_s;
  bool is_per_tenant;
  BLIS_ARRAY(bucket) items; /* by number of the tenant */
  /* Of token-bucket. */
  int cost;
  /* Of rate-limit. */
  bool delays;
} buckets;

/* The bucket for a request, filled up to now; NULL = out of memory. */
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
    double level =
        b->level + (double)(now_us - b->last_us) * self->rate_per_s / 1e6;
    b->level = level < self->capacity ? level : self->capacity;
    b->last_us = now_us;
  }
  return b;
}

static void free_state(const blis_alloc *alloc, void *state) {
  buckets *self = state;
  blis_array_deinit(alloc, &self->items);
  blis_alloc_free(alloc, self, sizeof *self);
}

static blis_status wrap(const blis_alloc *alloc, const buckets *made,
                        const blis_admission_ops *ops, const char *name,
                        blis_admission *admission, blis_error *error) {
  buckets *self = blis_alloc_new(alloc, sizeof *self);
  BLIS_TRY_NEW(self, error);
  *self = *made;
  self->alloc = *alloc;
  *admission = (blis_admission){
      .ops = ops, .state = self, .alloc = *alloc, .name = name};
  return BLIS_OK;
}

/* token-bucket */

enum { COST_INPUT, COST_REQUEST, COST_TOTAL };

static double cost_of(const buckets *self,
                      const blis_routing_request *request) {
  switch (self->cost) {
  case COST_REQUEST:
    return 1;
  case COST_TOTAL:
    return (double)request->prompt_tokens + (double)request->max_output_tokens;
  default:
    return (double)request->prompt_tokens;
  }
}

static blis_status take_tokens(void *state, const blis_routing_request *request,
                               const blis_routing_view *view,
                               blis_admission_decision *decision,
                               blis_error *error) {
  buckets *self = state;
  bucket *b = fill(self, request->tenant, view->now_us);
  BLIS_TRY_NEW(b, error);
  double cost = cost_of(self, request);
  if (b->level >= cost) {
    b->level -= cost;
    *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  } else {
    *decision = (blis_admission_decision){
        .verdict = BLIS_REJECT,
        .reason = cost > self->capacity
                      ? "token-bucket: costs more than the bucket holds"
                      : "token-bucket: insufficient tokens"};
  }
  return BLIS_OK;
}

static const blis_admission_ops token_bucket_ops = {.decide = take_tokens,
                                                    .free = free_state};

enum { TOKEN_BUCKET_PARAMS = 4 };

static const blis_param_spec token_bucket_params[TOKEN_BUCKET_PARAMS] = {
    {.name = "bucket_size",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-6,
     .maximum = 1e15,
     .fallback = 1000,
     .unit = "tokens",
     .summary = "what a bucket holds (profile go-blis: 10000)"},
    {.name = "refill_rate",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-6,
     .maximum = 1e15,
     .fallback = 100,
     .unit = "tokens/s",
     .summary = "how fast it fills up again (profile go-blis: 1000)"},
    {.name = "per_tenant",
     .kind = BLIS_PARAM_BOOLEAN,
     .fallback = 1,
     .unit = "",
     .summary = "a bucket for each tenant, or one for all (profile go-blis: "
                "one)"},
    {.name = "cost",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "input_tokens|request|total_tokens",
     .unit = "",
     .summary = "what a request takes: its prompt, 1, or its prompt and the "
                "output it is allowed"},
};

static double bucket_param(const blis_params *params, const char *name,
                           bool go_blis, double go_blis_value) {
  if (go_blis && blis_params_find(params, name) == NULL) {
    return go_blis_value;
  }
  return blis_params_number(params, token_bucket_params, TOKEN_BUCKET_PARAMS,
                            name);
}

static blis_status create_token_bucket(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_admission *admission,
                                       blis_error *error) {
  bool go_blis = context->go_blis;
  const buckets made = {
      .capacity = bucket_param(params, "bucket_size", go_blis, 10000),
      .rate_per_s = bucket_param(params, "refill_rate", go_blis, 1000),
      .is_per_tenant = bucket_param(params, "per_tenant", go_blis, 0) != 0,
      .cost = blis_params_choice(params, token_bucket_params,
                                 TOKEN_BUCKET_PARAMS, "cost")};
  return wrap(alloc, &made, &token_bucket_ops, "token-bucket", admission,
              error);
}

const blis_admission_entry blis__admission_token_bucket = {
    .name = "token-bucket",
    .aliases = "",
    .summary = "a request takes tokens from a bucket that fills up with time, "
               "and is rejected when there are too few",
    .source = "BLIS macro-level implementation plan; BLIS (Go)",
    .params = token_bucket_params,
    .param_count = TOKEN_BUCKET_PARAMS,
    .create = create_token_bucket,
};

/* rate-limit */

/* What a ticket holds: 1 when a token is set aside for the request. */
enum { HAS_TOKEN = 0 };

/* Until the token that is set aside, the level being below 0, is there. */
static int64_t wait_us(const buckets *self, const bucket *b) {
  double us = ceil(-b->level * 1e6 / self->rate_per_s);
  return us < 1 ? 1 : us < 0x1p62 ? (int64_t)us : BLIS_TIME_NEVER_US;
}

static blis_status take_turn(void *state, const blis_routing_request *request,
                             const blis_routing_view *view,
                             blis_admission_decision *decision,
                             blis_error *error) {
  buckets *self = state;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (request->ticket->values[HAS_TOKEN] != 0) {
    return BLIS_OK;
  }
  bucket *b = fill(self, request->tenant, view->now_us);
  BLIS_TRY_NEW(b, error);
  if (b->level >= 1 || self->delays) {
    b->level -= 1;
  } else {
    *decision = (blis_admission_decision){.verdict = BLIS_REJECT,
                                          .reason = "rate-limit"};
  }
  if (b->level < 0) {
    request->ticket->values[HAS_TOKEN] = 1;
    *decision = (blis_admission_decision){.verdict = BLIS_DELAY,
                                          .delay_us = wait_us(self, b)};
  }
  return BLIS_OK;
}

static const blis_admission_ops rate_limit_ops = {.decide = take_turn,
                                                  .free = free_state};

enum { RATE_LIMIT_PARAMS = 3 };

static const blis_param_spec rate_limit_params[RATE_LIMIT_PARAMS] = {
    {.name = "rps",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-6,
     .maximum = 1e9,
     .fallback = 50,
     .unit = "requests/s",
     .summary = "of one tenant, in the long run"},
    {.name = "burst",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1,
     .maximum = 1e9,
     .fallback = 200,
     .unit = "requests",
     .summary = "of one tenant at once"},
    {.name = "on_limit",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "reject|delay",
     .unit = "",
     .summary = "what happens to a request beyond the limit: it is refused, or "
                "waits for its turn"},
};

static blis_status create_rate_limit(const blis_alloc *alloc,
                                     const blis_params *params,
                                     const blis_policy_context *context,
                                     blis_admission *admission,
                                     blis_error *error) {
  (void)context;
  const buckets made = {
      .capacity = blis_params_number(params, rate_limit_params,
                                     RATE_LIMIT_PARAMS, "burst"),
      .rate_per_s = blis_params_number(params, rate_limit_params,
                                       RATE_LIMIT_PARAMS, "rps"),
      .is_per_tenant = true,
      .delays = blis_params_choice(params, rate_limit_params, RATE_LIMIT_PARAMS,
                                   "on_limit") == 1};
  return wrap(alloc, &made, &rate_limit_ops, "rate-limit", admission, error);
}

const blis_admission_entry blis__admission_rate_limit = {
    .name = "rate-limit",
    .aliases = "cognitora.rate_limit",
    .summary = "so many requests of a tenant per second, with bursts",
    .source = "BLIS macro-level implementation plan; numbers of Cognitora "
              "(89f555a)",
    .params = rate_limit_params,
    .param_count = RATE_LIMIT_PARAMS,
    .create = create_rate_limit,
};
