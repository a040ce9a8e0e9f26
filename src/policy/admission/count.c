/*
 * count.c - admission policies that count the admitted requests in progress:
 * tenant-quota and cognitora.admission.
 */
#include <string.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "base/invariant.h"
#include "policy/admission/admission.h"
#include "policy/contract/entry.h"
#include "policy/contract/held.h"

/* The requests of one tenant, or of one model. */
typedef struct counted {
  int64_t active;
  double limit; /* negative: not looked up yet */
} counted;

typedef struct counting {
  blis_alloc alloc;
  BLIS_ARRAY(counted) items; /* by number of the model or tenant name */
  bool counts_models;        /* counts per model instead of per tenant */
  bool holds;                /* a request counts until its client has the last token */
  blis_held held;            /* string numbers of requests whose clients wait for the last token */
  double usual_limit;
  blis_intern *named; /* names with their own limit; NULL if there are none */
  BLIS_ARRAY(double) named_limits;
  const char *reason;
} counting;

static void free_state(const blis_alloc *alloc, void *state) {
  counting *self = state;
  blis_held_deinit(&self->held, alloc);
  blis_array_deinit(alloc, &self->items);
  blis_array_deinit(alloc, &self->named_limits);
  blis_intern_free(self->named);
}

static double limit_of(const counting *self, const blis_intern *strings, uint32_t number) {
  if (self->named == NULL) {
    return self->usual_limit;
  }
  uint32_t found = blis_intern_find(self->named, blis_intern_text(strings, number),
                                    blis_intern_length(strings, number));
  return found == BLIS_INTERN_NONE || self->named_limits.items[found] < 0
             ? self->usual_limit
             : self->named_limits.items[found];
}

/* NULL = out of memory. */
static counted *find(counting *self, const blis_intern *strings, uint32_t number) {
  size_t needed = (size_t)number + 1;
  if (blis_array_reserve(&self->alloc, &self->items, needed) != BLIS_OK) {
    return NULL;
  }
  while (self->items.count < needed) {
    self->items.items[self->items.count++] = (counted){.limit = -1};
  }
  counted *c = &self->items.items[number];
  if (c->limit < 0) {
    c->limit = limit_of(self, strings, number);
  }
  return c;
}

/* Contents of a ticket: the index of the item that counted the request. */
enum { COUNTED_FOR = 0 };

static void release(counting *self, int64_t number) {
  counted *c = &self->items.items[number];
  BLIS_ASSERT(c->active > 0);
  c->active--;
}

static blis_status decide(const blis_question *q, blis_admission_decision *decision) {
  const blis_routing_request *request = q->request;
  counting *self = q->state;
  uint32_t number = self->counts_models ? request->model : request->tenant;
  int64_t due;
  while (blis_held_take_due(&self->held, q->view->now_us, &due)) {
    release(self, due);
  }
  counted *c = find(self, request->strings, number);
  BLIS_TRY_NEW(c, q->error);
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if ((double)c->active >= c->limit) {
    decision->verdict = BLIS_REJECT;
    decision->reason = self->reason;
    return BLIS_OK;
  }
  c->active++;
  BLIS_ASSERT((double)c->active < c->limit + 1);
  request->ticket->values[COUNTED_FOR] = number;
  return BLIS_OK;
}

static void ended(void *state, blis_ticket *ticket, int64_t now_us, int64_t end_us) {
  counting *self = state;
  int64_t number = ticket->values[COUNTED_FOR];
  if (!self->holds || !blis_held_add(&self->held, &self->alloc, now_us, end_us, number)) {
    release(self, number);
  }
}

static const blis_admission_ops ops = {.decide = decide, .ended = ended, .free = free_state};

/* tenant-quota */

static const blis_param_spec quota_params[] = {
    BLIS__INTEGER("default_quota", 0, 1e15, 1e15, "requests",
                  "limit for tenants without a quota of their own (default: none)",
                  BLIS__INTO(counting, usual_limit)),
    BLIS__TABLE("quota", 0, 1e15, "requests",
                "by tenant: maximum number of requests in the cluster"),
};

static blis_status note_limit(counting *self, const blis_param *param) {
  uint32_t number;
  BLIS_TRY(blis_intern_add(self->named, param->key, strlen(param->key), &number));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->named_limits, (size_t)number + 1));
  while (self->named_limits.count <= number) {
    self->named_limits.items[self->named_limits.count++] = -1;
  }
  self->named_limits.items[number] = param->number;
  return BLIS_OK;
}

static blis_status note_limits(counting *self, const blis_params *params) {
  if (blis_params_find(params, "quota") == NULL) {
    return BLIS_OK;
  }
  self->named = blis_intern_new(&self->alloc);
  if (self->named == NULL || blis_array_push(&self->alloc, &self->named_limits, -1) != BLIS_OK) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < params->count; i++) {
    if (strcmp(params->items[i].name, "quota") == 0) {
      BLIS_TRY(note_limit(self, &params->items[i]));
    }
  }
  return BLIS_OK;
}

static blis_status init_tenant_quota(void *state, blis_policy_setup *setup, blis_error *error) {
  counting *self = state;
  self->alloc = *setup->alloc;
  self->reason = "tenant-quota";
  BLIS_TRY_MEM(note_limits(self, setup->params), error);
  return BLIS_OK;
}

const blis_policy_entry blis__admission_tenant_quota = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "tenant-quota",
    .summary = "limits the requests of each tenant in the cluster",
    .source = "BLIS macro-level implementation plan",
    BLIS__PARAMS(quota_params),
    .ops = &ops,
    .state_size = sizeof(counting),
    .init = init_tenant_quota,
};

/* cognitora.admission */

static const blis_param_spec cognitora_params[] = {
    BLIS__INTEGER("max_queue", 1, 1e15, 1024, "requests",
                  "maximum number of requests of one model in the cluster",
                  BLIS__INTO(counting, usual_limit)),
};

static blis_status init_cognitora(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  counting *self = state;
  self->alloc = *setup->alloc;
  self->reason = "cognitora.admission: full (503)";
  self->counts_models = true;
  self->holds = true;
  return BLIS_OK;
}

const blis_policy_entry blis__admission_cognitora_admission = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "cognitora.admission",
    .summary = "permits per model, held until a request ends; rejects a "
               "request when none is free",
    .source = "Cognitora, KV-aware scoring deep dive; 89f555a",
    BLIS__PARAMS(cognitora_params),
    .ops = &ops,
    .state_size = sizeof(counting),
    .init = init_cognitora,
};
