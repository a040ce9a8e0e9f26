/*
 * data_parallel.c - routing policies for the ranks of data-parallel engines:
 * vllm.dp, sglang.dp_room.
 */
#include "policy/gateways/gateway.h"
#include "policy/memory/rank_balancer.h"

enum { CLIENTS, PUBLISH };

static const blis_param_spec balancer_params[] = {
    BLIS__INTEGER("clients", 1, BLIS__BALANCER_CLIENTS_MAX, 1, "processes",
                  "that take requests in turn and know only of their own what "
                  "was sent since the counts were published"),
    BLIS__INTEGER("publish_us", 0, 1e15, 100e3, "us",
                  "counts are published at the first decision after each "
                  "multiple and a half; 0 = at every decision"),
};

static void init_own(blis__gateway *self) {
  blis__rank_balancer_init(self->own, (uint32_t)self->values[CLIENTS],
                           (int64_t)self->values[PUBLISH]);
}

static void deinit_own(blis__gateway *self) {
  blis__rank_balancer_deinit(self->own, &self->alloc);
}

static blis_status choose_balanced(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  size_t ranks = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY_MEM(blis__rank_balancer_reserve(self->own, &self->alloc, ranks), q->error);
  if (blis__rank_balancer_is_due(self->own, view->now_us)) {
    for (size_t i = 0; i < view->count; i++) {
      const blis__rank_load load = {
          .waiting = (int64_t)blis__column_at(q, BLIS_SIGNAL_QUEUE_DEPTH, i),
          .running = (int64_t)blis__column_at(q, BLIS_SIGNAL_BATCH_SIZE, i)};
      blis__rank_balancer_publish(self->own, view->instances[i], load);
    }
  }
  *chosen = blis__rank_balancer_choose(self->own, view->instances, view->count);
  return BLIS_OK;
}

const blis_policy_entry blis__router_vllm_dp = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm.dp",
    .summary = "least 4 x waiting + running, as published every 100 ms, and "
               "what was sent since",
    .source = "vLLM v0.10.2, internal load balancing of data-parallel ranks",
    BLIS__PARAMS(balancer_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE),
                  .choose = choose_balanced, .own_size = sizeof(blis__rank_balancer),
                  .init_own = init_own, .deinit_own = deinit_own),
};

/* Follow-up requests have negative numbers. */
static blis_status choose_by_room(const blis_question *q, size_t *chosen) {
  int64_t count = (int64_t)q->view->count;
  int64_t rest = q->request->number % count;
  *chosen = (size_t)(rest < 0 ? rest + count : rest);
  return BLIS_OK;
}

const blis_policy_entry blis__router_sglang_dp_room = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "sglang.dp_room",
    .summary = "number of the request mod candidates, so that its prefill and "
               "its decode go to ranks of equal place",
    .source = "SGLang, ranks by room number",
    BLIS__GATEWAY(0, .choose = choose_by_room),
};
