/*
 * vllm_routers.c - routing policies of the vLLM router: vllm-router.kv_aware,
 * vllm-router.ttft_aware, vllm-router.least_conn_sticky,
 * vllm-router.rendezvous_hash. vllm-router.smetric has a separate file.
 */
#include "policy/contract/stable_hash.h"
#include "policy/gateways/gateway.h"
#include "policy/pickers/pick_rules.h"

/* Chooses the last candidate with the most cached tokens. If no candidate has cached tokens,
   chooses the first with the lowest load. */
static blis_status choose_kv_aware(const blis_question *q, size_t *chosen) {
  static const blis__least most_cached = {.by = {blis__cached_negated}, .takes_last = true};
  *chosen = blis__least_of(q, &most_cached);
  if (blis__cached_negated(q, *chosen) == 0) {
    *chosen = blis__least_of(q, &(blis__least){.by = {blis__in_flight}});
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_vllm_router_kv_aware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-router.kv_aware",
    .summary = "most cached tokens, else fewest requests in flight; without "
               "speculative entries",
    .source = "vLLM router 71af9941",
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                  .choose = choose_kv_aware),
};

enum { PENDING_WEIGHT, PENDING_MS, TOKEN_WEIGHT, TOKEN_MS };

static const blis_param_spec ttft_params[] = {
    BLIS__NUMBER("pending_weight", 0, 1e9, 0.6, "", "of the requests in flight"),
    BLIS__NUMBER("pending_ms", 0, 1e9, 100, "ms", "assumed cost of each of them"),
    BLIS__NUMBER("token_weight", 0, 1e9, 0.4, "", "of the prompt"),
    BLIS__NUMBER("token_ms", 0, 1e9, 0.5, "ms",
                 "assumed cost of each of its tokens, the same everywhere"),
};

static double expected_ttft_ms(const blis_question *q, size_t i) {
  const double *v = ((const blis__gateway *)q->state)->values;
  return v[PENDING_WEIGHT] * blis__in_flight(q, i) * v[PENDING_MS] +
         v[TOKEN_WEIGHT] * (double)q->request->prompt_tokens * v[TOKEN_MS];
}

const blis_policy_entry blis__router_vllm_router_ttft_aware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-router.ttft_aware",
    .summary = "least expected TTFT, 0.6 x requests in flight x 100 ms + 0.4 x "
               "prompt tokens x 0.5 ms",
    .source = "vLLM router e0c942d4",
    BLIS__PARAMS(ttft_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .least = {.by = {expected_ttft_ms}}),
};

/* Returns requests in flight + sessions bound to the instance so far. */
static double connections(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  return blis__in_flight(q, i) + (double)self->bound.items[q->view->instances[i]];
}

static blis_status choose_sticky(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  uint32_t session = q->request->session;
  *chosen = session != 0 ? blis__bindings_candidate(&self->sessions, session, view) : view->count;
  if (*chosen < view->count) {
    return BLIS_OK;
  }
  *chosen = blis__least_of(q, &(blis__least){.by = {connections}});
  if (session == 0) {
    return BLIS_OK;
  }
  uint32_t instance = view->instances[*chosen];
  self->bound.items[instance]++;
  BLIS_TRY_MEM(blis__bindings_put(&self->sessions, session, instance, view->now_us), q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_vllm_router_least_conn_sticky = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-router.least_conn_sticky",
    .summary = "the session's instance; a new session goes to the least "
               "requests in flight + sessions",
    .source = "vLLM router 240c709b",
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_sticky),
};

enum { RENDEZVOUS_WINDOW, RENDEZVOUS_BLOCK };

static const blis_param_spec rendezvous_params[] = {
    BLIS__PREFIX_TOKENS_PARAM(0,
                              "prompt tokens used as the key without session and tenant; 0 = all"),
    BLIS__BLOCK_SIZE_PARAM(16, "block size; only full blocks of these tokens count"),
};

static uint64_t key_of(const blis__gateway *self, const blis_routing_request *request) {
  uint32_t text = request->session != 0 ? request->session : request->tenant;
  if (text != 0 && request->strings != NULL) {
    return blis_stable_hash_of_text(request, text);
  }
  return blis_stable_hash_of(request, (uint32_t)self->values[RENDEZVOUS_BLOCK],
                             (int64_t)self->values[RENDEZVOUS_WINDOW]);
}

/* Chooses the candidate with the highest hash of key and instance; the last of equal ones. */
static blis_status choose_rendezvous(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  uint64_t key = key_of(self, q->request);
  uint64_t highest = 0;
  *chosen = 0;
  for (size_t i = 0; i < view->count; i++) {
    uint64_t weight = blis_stable_hash_weight(view->ids[i], key);
    if (weight >= highest) {
      highest = weight;
      *chosen = i;
    }
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_vllm_router_rendezvous_hash = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-router.rendezvous_hash",
    .summary = "highest hash of instance and session, tenant or prompt",
    .source = "vLLM router 292889eb; XXH64 in place of its hash",
    BLIS__PARAMS(rendezvous_params),
    BLIS__GATEWAY(0, .choose = choose_rendezvous),
};
