/*
 * Hand-offs: what is due beside the queue of the cluster, since each transfer
 * changes it: when links have something to tell, and the last moments of
 * hand-offs.
 *
 * Of those, one that is not before the others goes to the end of a list, where
 * it costs next to nothing; the rest, of requests with deadlines of their own,
 * are events of the queue. At equal times links go first, then the list.
 */
#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/handoff_run.h"

static int64_t first_timeout_us(const blis__handoffs *h) {
  return h->first_timeout != NULL ? h->first_timeout->timeout_us : BLIS_TIME_NEVER_US;
}

/* One of them is another one now. */
static void renew(blis_cluster *cluster) {
  const blis__handoffs *h = cluster->handoffs;
  int64_t timeout_us = first_timeout_us(h);
  cluster->handoff_due_us = h->links_due_us < timeout_us ? h->links_due_us : timeout_us;
}

void blis__handoff_set_links_due(blis_cluster *cluster, int64_t due_us) {
  cluster->handoffs->links_due_us = due_us;
  renew(cluster);
}

/* True if its last moment is in the list, not in the event queue. */
static bool is_listed(const blis__handoffs *h, const blis__handoff *handoff) {
  return handoff->earlier_timeout != NULL || h->first_timeout == handoff;
}

static void append(blis_cluster *cluster, blis__handoff *handoff, int64_t at_us) {
  blis__handoffs *h = cluster->handoffs;
  blis__handoff *last = h->last_timeout;
  handoff->timeout_us = at_us;
  handoff->earlier_timeout = last;
  handoff->later_timeout = NULL;
  *(last != NULL ? &last->later_timeout : &h->first_timeout) = handoff;
  h->last_timeout = handoff;
  if (last == NULL) {
    renew(cluster);
  }
}

void blis__handoff_clear_timeout(blis_cluster *cluster, blis__handoff *handoff) {
  blis__handoffs *h = cluster->handoffs;
  if (!is_listed(h, handoff)) {
    blis_event_queue_cancel(cluster->queue, handoff->timeout_event);
    return;
  }
  blis__handoff *earlier = handoff->earlier_timeout;
  blis__handoff *later = handoff->later_timeout;
  handoff->earlier_timeout = NULL;
  handoff->later_timeout = NULL;
  *(earlier != NULL ? &earlier->later_timeout : &h->first_timeout) = later;
  *(later != NULL ? &later->earlier_timeout : &h->last_timeout) = earlier;
  if (earlier == NULL) {
    renew(cluster);
  }
}

blis_status blis__handoff_set_timeout(blis_cluster *cluster, blis__handoff *handoff, int64_t at_us,
                                      blis_error *error) {
  const blis__handoffs *h = cluster->handoffs;
  BLIS_ASSERT(at_us >= cluster->now_us);
  blis__handoff_clear_timeout(cluster, handoff);
  if (at_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  if (h->last_timeout == NULL || at_us >= h->last_timeout->timeout_us) {
    append(cluster, handoff, at_us);
    return BLIS_OK;
  }
  const blis_event event = {
      .time_us = at_us, .event_class = BLIS__CLUSTER_TIMEOUT, .object = handoff};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event, &handoff->timeout_event), error);
  return BLIS_OK;
}

static int class_due(const blis_cluster *cluster) {
  return cluster->handoffs->links_due_us == cluster->handoff_due_us ? BLIS__CLUSTER_MOVED
                                                                    : BLIS__CLUSTER_TIMEOUT;
}

bool blis__handoff_goes_first(const blis_cluster *cluster) {
  blis_event other;
  return !blis_event_queue_peek(cluster->queue, &other) ||
         other.time_us > cluster->handoff_due_us ||
         (other.time_us == cluster->handoff_due_us && other.event_class >= class_due(cluster));
}

blis_status blis__handoff_run_due(blis_cluster *cluster, blis_error *error) {
  blis__handoffs *h = cluster->handoffs;
  BLIS_ASSERT(cluster->handoff_due_us == cluster->now_us);
  cluster->fruitless = 0;
  if (class_due(cluster) == BLIS__CLUSTER_MOVED) {
    return blis__handoff_links_moved(cluster, error);
  }
  blis__handoff *first = h->first_timeout;
  blis__handoff_clear_timeout(cluster, first);
  return blis__handoff_timed_out(cluster, first, error);
}
