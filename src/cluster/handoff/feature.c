/* feature.c - the descriptor of hand-offs as a feature of a cluster. */
#include "cluster/feature.h"
#include "cluster/handoff/handoffs.h"

/* Lists due times outside the queue: ends of transfers, and timeouts of hand-offs. */
static void list_pending(const blis_cluster *cluster, blis__pending_list *list) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  blis_pending_event shown = {.kind = "hand-off", .instance = -1};
  if (h == NULL) {
    return;
  }
  if (h->links_source.due_us != BLIS_TIME_NEVER_US) {
    shown.time_us = h->links_source.due_us;
    shown.order = BLIS__CLUSTER_MOVED;
    blis__pending_list_add(list, &shown);
  }
  for (const blis__handoff *at = h->first_timeout; at != NULL; at = at->later_timeout) {
    shown.time_us = at->timeout_us;
    shown.order = BLIS__CLUSTER_TIMEOUT;
    shown.sequence++;
    blis__pending_list_add(list, &shown);
  }
}

const blis__feature blis__handoff_feature = {
    .slot = BLIS_FEATURE_HANDOFF,
    .name = "handoff",
    .free = blis__handoff_free,
    .event = blis__handoff_event,
    .list_pending = list_pending,
};
