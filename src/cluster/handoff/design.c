/* Hand-offs over links that transfers share; the source keeps the KV until its transfer ends. */
#include <math.h>

#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"

/* The prefill computes only the prompt. */
static void fill_leg(blis__handoff *handoff) {
  handoff->prefill.output_budget_tokens = 1;
  handoff->prefill.max_output_tokens = 1;
  handoff->prefill.holds_kv = true;
}

static blis_status schedule_move(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  return blis__handoff_schedule(cluster, handoff, BLIS__CLUSTER_MOVE, handoff->ready_us, error);
}

/* Returns the rate of a transfer that uses this part of the link. */
static double share_of(const blis_cluster *cluster, uint32_t link, double part) {
  const blis__link l =
      blis__links_look(&blis__handoffs_of(cluster)->links, link, (double)cluster->now_us);
  return l.bytes_per_us / (l.parts + part);
}

static double bytes_per_us(const blis_cluster *cluster, uint32_t source, uint32_t destination) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  double rate = fmin(
      share_of(cluster, h->egress[source], blis__handoff_part(cluster, source, destination)),
      share_of(cluster, h->ingress[destination], blis__handoff_part(cluster, destination, source)));
  return h->has_fabric ? fmin(rate, share_of(cluster, h->fabric, 1)) : rate;
}

static void drop(blis_cluster *cluster, blis__cluster_request *request) {
  (void)cluster;
  request->live.state = BLIS_REQUEST_FAILED;
}

const blis_handoff_ops blis__handoff_design = {
    .prompt_tokens_min = 2,
    .checks_fit = true,
    .checks_models = true,
    .may_cancel = true,
    .counts_choice = true,
    .traces = true,
    .brings_times = true,
    .reuses_cache = true,
    .has_links = true,
    .limits_time = true,
    .fill_leg = fill_leg,
    .schedule_move = schedule_move,
    .start = blis__handoff_start_on_links,
    .stop = blis__handoff_stop_on_links,
    .bytes_per_us = bytes_per_us,
    .drop = drop,
};
