/* Hand-offs: queries of policies. */
#include "base/invariant.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"
#include "cluster/stages.h"

/* The other stage. */

static const blis_routing_view *peers(void *ud, const blis_routing_request *request) {
  blis_cluster *cluster = ud;
  blis_routing_request other = *request;
  other.stage ^= BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE;
  return blis__snapshot_show_peers(&cluster->snapshot, &other, cluster->now_us);
}

static uint32_t roles(void *ud, uint32_t instance) {
  const blis_cluster *cluster = ud;
  return cluster->facts[instance].roles;
}

/* Transfers. */

static double bytes_per_us(void *ud, uint32_t source, uint32_t destination) {
  const blis_cluster *cluster = ud;
  return blis__handoffs_of(cluster)->ops->bytes_per_us(cluster, source, destination);
}

static blis_status transfer_us(void *ud, const blis_routing_request *request, uint32_t source,
                               uint32_t destination, double *us, blis_error *error) {
  blis_cluster *cluster = ud;
  const blis__handoffs *h = blis__handoffs_of(cluster);
  const blis_instance *instance = cluster->instances[destination];
  int64_t size = blis_instance_get_config(instance)->block_size_tokens;
  int64_t blocks = (request->prompt_tokens + size - 1) / size;
  if (h->policy.moves_missing) {
    const blis_block_chain *chain = request->chain(request->chain_ud, (uint32_t)size);
    uint32_t cached = 0;
    BLIS_TRY_NEW(chain, error);
    BLIS_TRY_MEM(blis__snapshot_cached_blocks(&cluster->snapshot, destination, chain, &cached),
                 error);
    blocks -= cached < blocks ? cached : blocks;
  }
  double bytes = (double)(blocks * size) * blis__handoff_token_bytes(cluster, source, destination) +
                 blis__handoff_fixed_bytes(cluster, source, destination, request->prompt_tokens);
  uint64_t known;
  bool has_met = blis_map_get(&h->pairs, blis__pair_of(source, destination), &known);
  *us = h->policy.base_us + (has_met ? 0 : (double)h->policy.handshake_us) +
        bytes / bytes_per_us(ud, source, destination);
  return BLIS_OK;
}

/* Previews: calls of the prefill router in advance. */

blis_status blis__handoff_choose_source(blis_cluster *cluster, blis__cluster_request *request,
                                        blis_ticket *ticket, int64_t peer, blis__choice *choice,
                                        blis_error *error) {
  const blis_disaggregation *policy = &blis__handoffs_of(cluster)->policy;
  const blis__stage stage = {.router =
                                 policy->prefill.ops != NULL ? &policy->prefill : &cluster->router,
                             .ticket = ticket,
                             .role = BLIS_ROLE_PREFILL,
                             .peer = peer};
  BLIS_TRY(blis__cluster_choose(cluster, request, &stage, choice, error));
  return blis__handoffs_of(cluster)->ops->traces
             ? blis__cluster_tell_choice(cluster, request, choice, error)
             : BLIS_OK;
}

static blis_status preview(void *ud, int64_t *source, blis_error *error) {
  blis_cluster *cluster = ud;
  blis__preview *shown = &blis__handoffs_of(cluster)->preview;
  if (!shown->is_asked) {
    blis__choice choice;
    shown->is_asked = true;
    BLIS_TRY(blis__handoff_choose_source(cluster, shown->request, &shown->ticket, shown->peer,
                                         &choice, error));
    shown->source = choice.decision.rejected == NULL ? (int64_t)choice.instance : -1;
  }
  *source = shown->source;
  return BLIS_OK;
}

void blis__handoff_begin_preview(blis_cluster *cluster, blis__cluster_request *request,
                                 int64_t peer) {
  blis__handoffs_of(cluster)->preview =
      (blis__preview){.request = request, .peer = peer, .source = -1};
}

blis_status blis__handoff_ask_first(blis_cluster *cluster, blis__cluster_request *request,
                                    int64_t *source, blis_error *error) {
  blis__handoff_begin_preview(cluster, request, -1);
  return blis__handoffs_of(cluster)->policy.prefill_first ? preview(cluster, source, error)
                                                          : BLIS_OK;
}

static void tell_ended(const blis_cluster *cluster, blis_ticket *ticket, int64_t source) {
  const blis_router *prefill = &blis__handoffs_of(cluster)->policy.prefill;
  const blis_router *router = prefill->ops != NULL ? prefill : &cluster->router;
  const blis_request_times times = {.now_us = cluster->now_us, .ttft_us = -1};
  if (router->ops->ended != NULL) {
    router->ops->ended(router->state, ticket, (uint32_t)source, &times);
  }
}

void blis__handoff_take_preview(blis_cluster *cluster, blis__handoff *handoff) {
  blis__preview *shown = &blis__handoffs_of(cluster)->preview;
  if (handoff->wanted_source < 0 && shown->source >= 0) {
    handoff->wanted_source = shown->source;
    handoff->prefill_ticket = shown->ticket;
    blis__source_becomes(&handoff->state, BLIS__SOURCE_BOOKED);
    shown->source = -1;
  }
}

void blis__handoff_drop_preview(blis_cluster *cluster) {
  blis__preview *shown = &blis__handoffs_of(cluster)->preview;
  if (shown->source >= 0) {
    tell_ended(cluster, &shown->ticket, shown->source);
    shown->source = -1;
  }
}

void blis__handoff_unbook(blis_cluster *cluster, blis__handoff *handoff) {
  if (handoff->state.source == BLIS__SOURCE_BOOKED) {
    blis__source_becomes(&handoff->state, BLIS__SOURCE_NONE);
    tell_ended(cluster, &handoff->prefill_ticket, handoff->wanted_source);
    handoff->prefill_ticket = (blis_ticket){{0}};
  }
}

blis_stages blis__handoff_stages(blis_cluster *cluster) {
  return (blis_stages){.ud = cluster,
                       .peers = peers,
                       .roles = roles,
                       .bytes_per_us = bytes_per_us,
                       .transfer_us = transfer_us,
                       .preview = preview};
}
