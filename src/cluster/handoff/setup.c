/* Hand-offs: construction, and listeners for request events. */
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/core_listeners.h"
#include "cluster/ending.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"

/* Listeners. */

/*
 * Returns whether another instance prefills. Otherwise, the decode instance also computes the
 * prompt and counts its own cache hits.
 */
static bool is_prefilled_apart(const blis__handoff *handoff) {
  return handoff->state.stage <= BLIS__HANDOFF_DECODE;
}

/* Returns the state of a request whose hand-off is not over. */
static blis_request_state state_of(const blis__handoff *handoff) {
  blis__handoff_stage stage = handoff->state.stage;
  return stage == BLIS__HANDOFF_ROUTING || stage == BLIS__HANDOFF_PREFILL ? handoff->prefill.state
                                                                          : BLIS_REQUEST_RUNNING;
}

/* Reports the state of the request's hand-off, including at the end of the run. */
static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)error;
  const blis__handoff *handoff = blis__handoff_of(news->request);
  if (handoff == NULL) {
    return BLIS_OK;
  }
  news->end->stages = &handoff->times;
  if (is_prefilled_apart(handoff)) {
    /* Hits of the prefill stage count for the request. */
    news->end->had_hit |= handoff->prefill.had_hit;
    news->end->cached_tokens = handoff->prefill.cached_tokens;
  }
  if (handoff->prefill.is_adapter_counted) { /* both stages need an adapter */
    blis_record_extras *extras = news->end->extras;
    int64_t wait_us = blis_record_extras_get(extras, BLIS_EXTRA_adapter_wait_us);
    blis_record_extras_set(extras, BLIS_EXTRA_adapter_wait_us,
                           blis_max_i64(wait_us, 0) + handoff->prefill.adapter_wait_us);
  }
  /* Energy used while the source has the prefill. */
  blis__end_add_drawn(cluster, news->end, &handoff->prefill.drawn);
  if (!blis__handoff_is_over(&handoff->state)) {
    bool is_at_source = blis__handoff_is_at_source(&handoff->state);
    news->end->instance = is_at_source ? (int32_t)handoff->source : -1;
    news->end->was_counted = handoff->prefill.was_counted;
    news->end->state = state_of(handoff);
  }
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster, (void)error;
  blis__handoffs *h = ud;
  blis__handoff *handoff = blis__handoff_of(news->request);
  if (handoff != NULL) {
    blis_block_namer_release(cluster->namer, &handoff->prefill.chain);
    blis_pool_give(&h->pool, handoff->slot);
    news->request->parts[BLIS__PART_HANDOFF] = NULL;
  }
  return BLIS_OK;
}

/* Offers free blocks to waiting hand-offs when a request leaves. */
static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud;
  return news->request->place == BLIS__HELD_ROUTED
             ? BLIS_OK /* it reports the error itself */
             : blis__handoff_note_room(cluster, (uint32_t)news->request->instance, error);
}

static blis_status on_instance_lost(void *ud, blis_cluster *cluster, const blis__news *news,
                                    blis_error *error) {
  (void)ud;
  return blis__handoff_lose_instance(cluster, news->instance, news->loss, error);
}

static blis_status on_to_be_asked(void *ud, blis_cluster *cluster, const blis__news *news,
                                  blis_error *error) {
  (void)ud;
  return blis__handoff_ask_first(cluster, news->request, news->peer, error);
}

static blis_status on_to_be_sent(void *ud, blis_cluster *cluster, const blis__news *news,
                                 blis_error *error) {
  (void)ud;
  return blis__handoff_decide(cluster, news->request, news->choice, news->is_taken, error);
}

static blis_status on_finishing(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)news;
  return blis__handoff_check_stuck(cluster, error);
}

static blis_status go_on(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  (void)instance;
  return blis__handoffs_of(cluster)->soon == NULL ? BLIS_OK : blis__handoff_go_on(cluster, error);
}

blis_status blis__handoff_hear_who_leaves(blis_cluster *cluster) {
  const blis__listener listener = {
      .phase = BLIS__SEQUELS, .need = BLIS__NEEDS_NOTHING, .on = {[BLIS__LEFT] = on_left}};
  if (blis__handoffs_of(cluster)->has_waited) {
    return BLIS_OK;
  }
  blis__handoffs_of(cluster)->has_waited = true;
  return blis__listeners_add(&cluster->listeners, &listener);
}

/* Construction. */

static blis_status check_policy(const blis_cluster *cluster, const blis_disaggregation *policy,
                                blis_error *error) {
  uint32_t roles = 0;
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    roles |= cluster->facts[i].roles;
  }
  if ((roles & BLIS_ROLE_PREFILL) == 0 || (roles & BLIS_ROLE_DECODE) == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "no instance has the role %s; disaggregation needs both roles",
                     (roles & BLIS_ROLE_PREFILL) == 0 ? "prefill" : "decode");
  }
  if (!(policy->bytes_per_us > 0 && policy->fabric_bytes_per_us > 0 && policy->base_us >= 0 &&
        isfinite(policy->base_us) && policy->handshake_us >= 0 && policy->timeout_us >= 0 &&
        policy->retry_pause_us >= 0 && policy->retries_max >= 0 && policy->kv_limit > 0 &&
        policy->kv_limit <= 1 && policy->overlap_portion >= 0 && policy->overlap_portion <= 1)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "disaggregation: a time, bandwidth or limit is out of "
                     "range");
  }
  if (policy->overlap_portion > 0 &&
      (!policy->reserves_first || !blis__handoffs_of(cluster)->ops->has_links)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "disaggregation: transfers that overlap with the prefill "
                     "need room at the destination before it (order = "
                     "\"destination\") and a profile that simulates links");
  }
  return BLIS_OK;
}

static blis_status make_links(blis_cluster *cluster, blis__handoffs *h) {
  uint32_t count = cluster->config.instance_count;
  for (uint32_t i = 0; i < count; i++) {
    double bytes_per_us = cluster->facts[i].nic_bytes_per_us > 0
                              ? cluster->facts[i].nic_bytes_per_us
                              : h->policy.bytes_per_us;
    BLIS_TRY(blis__links_add(&h->links, bytes_per_us, &h->egress[i]));
    BLIS_TRY(blis__links_add(&h->links, bytes_per_us, &h->ingress[i]));
  }
  h->has_fabric = isfinite(h->policy.fabric_bytes_per_us);
  return h->has_fabric ? blis__links_add(&h->links, h->policy.fabric_bytes_per_us, &h->fabric)
                       : BLIS_OK;
}

/* Makes prefill instances eager, because the end of a prefill starts a transfer. A decode-only
   instance may lag until a hand-off waits for its blocks. */
static blis_status make_order(blis_cluster *cluster) {
  BLIS_TRY(blis__cluster_have_eager(cluster));
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    if (blis__handoff_is_source(cluster, i)) {
      blis__cluster_set_eager(cluster, i, true);
    }
  }
  return BLIS_OK;
}

/* Returns the time order that the policies need. */
static blis__need need_of(const blis_disaggregation *policy) {
  bool is_blind = (policy->prefill.ops == NULL || policy->prefill.is_blind) &&
                  (policy->decider.ops == NULL || policy->decider.is_blind);
  return is_blind ? BLIS__NEEDS_NOTHING : BLIS__NEEDS_STATE;
}

static int64_t first_source(const blis_cluster *cluster) {
  uint32_t number = 0;
  while (!blis__handoff_is_source(cluster, number)) {
    number++;
  }
  return number;
}

static blis_status make_parts(blis_cluster *cluster, blis__handoffs *h) {
  uint32_t count = cluster->config.instance_count;
  const blis_alloc *alloc = &cluster->alloc;
  h->rooms = blis_alloc_zeroed(alloc, count, sizeof *h->rooms);
  h->egress = blis_alloc_zeroed(alloc, count, sizeof *h->egress);
  h->ingress = blis_alloc_zeroed(alloc, count, sizeof *h->ingress);
  if (h->rooms == NULL || h->egress == NULL || h->ingress == NULL) {
    return BLIS_ERR_NOMEM;
  }
  h->sender = h->ops->has_one_sender ? first_source(cluster) : -1;
  BLIS_TRY(make_links(cluster, h));
  BLIS_TRY(make_order(cluster));
  const blis__listener listener = {.ud = h,
                                   .phase = BLIS__SEQUELS,
                                   .need = need_of(&h->policy),
                                   .on = {[BLIS__REPORTING] = on_reporting,
                                          [BLIS__ENDED] = on_ended,
                                          [BLIS__TO_BE_ASKED] = on_to_be_asked,
                                          [BLIS__TO_BE_SENT] = on_to_be_sent,
                                          [BLIS__INSTANCE_LOST] = on_instance_lost,
                                          [BLIS__FINISHING] = on_finishing}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

blis_status blis_cluster_set_disaggregation(blis_cluster *cluster,
                                            blis_disaggregation *disaggregation,
                                            blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && blis__handoffs_of(cluster) == NULL);
  blis_disaggregation policy = *disaggregation;
  disaggregation->prefill = (blis_router){0};
  disaggregation->decider = (blis_decider){0};
  blis__handoffs *h = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *h);
  if (h == NULL) {
    blis_router_free(&policy.prefill);
    blis_decider_free(&policy.decider);
    return blis_fail_nomem(error);
  }
  h->policy = policy;
  h->ops = policy.ops != NULL ? policy.ops : &blis__handoff_design;
  blis__handoff_add_sources(cluster, h);
  blis_pool_init(&h->pool, &cluster->alloc, sizeof(blis__handoff));
  blis_map_init(&h->pairs, &cluster->alloc);
  blis__links_init(&h->links, &cluster->alloc);
  h->stages = blis__handoff_stages(cluster);
  cluster->features[BLIS_FEATURE_HANDOFF] = h;
  blis__hooks_add(&cluster->hooks, BLIS__EVENT_OVER, go_on);
  if (h->ops->add_hooks != NULL) {
    h->ops->add_hooks(&cluster->hooks);
  }
  cluster->main_role = BLIS_ROLE_DECODE;
  cluster->stages = &h->stages;
  BLIS_TRY(check_policy(cluster, &h->policy, error));
  BLIS_TRY_MEM(make_parts(cluster, h), error);
  blis__snapshot_declare(&cluster->snapshot, h->policy.prefill.needs | h->policy.decider.needs);
  BLIS_TRY_MEM(blis__add_prefill_history(cluster), error);
  BLIS_TRY_MEM(blis__add_feedback_of(cluster, &h->policy.prefill), error);
  return BLIS_OK;
}

void blis__handoff_free(blis_cluster *cluster) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  if (h == NULL) {
    return;
  }
  uint32_t count = cluster->config.instance_count;
  const blis_alloc *alloc = &cluster->alloc;
  blis_router_free(&h->policy.prefill);
  blis_decider_free(&h->policy.decider);
  blis_pool_deinit(&h->pool);
  blis_map_deinit(&h->pairs);
  blis__links_deinit(&h->links);
  blis_alloc_free(alloc, h->rooms, count * sizeof *h->rooms);
  blis_alloc_free(alloc, h->egress, count * sizeof *h->egress);
  blis_alloc_free(alloc, h->ingress, count * sizeof *h->ingress);
  blis_alloc_free(alloc, h, sizeof *h);
}
