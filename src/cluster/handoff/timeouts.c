/*
 * Hand-offs: due times outside the queue of the cluster, which would change with each transfer.
 * These are the next events of links and the timeouts of hand-offs.
 *
 * A timeout that is not earlier than existing ones is appended to a list at almost no cost. Other
 * timeouts, of requests with their own deadlines, are events in the queue. At equal times, links
 * precede the list.
 */
#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/handoff/handoffs.h"

static void set_first_timeout(blis_cluster *cluster) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__hooks_set_due(&cluster->hooks, &h->timeouts,
                      h->first_timeout != NULL ? h->first_timeout->timeout_us : BLIS_TIME_NEVER_US);
}

void blis__handoff_set_links_due(blis_cluster *cluster, int64_t due_us) {
  blis__hooks_set_due(&cluster->hooks, &blis__handoffs_of(cluster)->links_source, due_us);
}

/* Returns whether its timeout is in the list and not in the event queue. */
static bool is_listed(const blis__handoffs *h, const blis__handoff *handoff) {
  return handoff->earlier_timeout != NULL || h->first_timeout == handoff;
}

static void append(blis_cluster *cluster, blis__handoff *handoff, int64_t at_us) {
  blis__handoffs *h = blis__handoffs_of(cluster);
  blis__handoff *last = h->last_timeout;
  handoff->timeout_us = at_us;
  handoff->earlier_timeout = last;
  handoff->later_timeout = NULL;
  *(last != NULL ? &last->later_timeout : &h->first_timeout) = handoff;
  h->last_timeout = handoff;
  if (last == NULL) {
    set_first_timeout(cluster);
  }
}

void blis__handoff_clear_timeout(blis_cluster *cluster, blis__handoff *handoff) {
  blis__handoffs *h = blis__handoffs_of(cluster);
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
    set_first_timeout(cluster);
  }
}

blis_status blis__handoff_set_timeout(blis_cluster *cluster, blis__handoff *handoff, int64_t at_us,
                                      blis_error *error) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
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

static blis_status run_links(blis_cluster *cluster, blis_error *error) {
  cluster->fruitless = 0;
  return blis__handoff_links_moved(cluster, error);
}

static blis_status run_timeout(blis_cluster *cluster, blis_error *error) {
  blis__handoff *first = blis__handoffs_of(cluster)->first_timeout;
  cluster->fruitless = 0;
  blis__handoff_clear_timeout(cluster, first);
  return blis__handoff_timed_out(cluster, first, error);
}

static int64_t last_timeout_us(const blis_cluster *cluster) {
  const blis__handoff *last = blis__handoffs_of(cluster)->last_timeout;
  return last != NULL ? last->timeout_us : -1;
}

void blis__handoff_add_sources(blis_cluster *cluster, blis__handoffs *h) {
  h->links_source = (blis__clock_source){
      .due_us = BLIS_TIME_NEVER_US, .event_class = BLIS__CLUSTER_MOVED, .run = run_links};
  h->timeouts = (blis__clock_source){.due_us = BLIS_TIME_NEVER_US,
                                     .event_class = BLIS__CLUSTER_TIMEOUT,
                                     .run = run_timeout,
                                     .last_us = last_timeout_us};
  blis__hooks_add_source(&cluster->hooks, &h->timeouts);
  blis__hooks_add_source(&cluster->hooks, &h->links_source);
}
