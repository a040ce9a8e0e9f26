#include "cluster/handoff/go_blis.h"

#include <math.h>

#include "base/minmax.h"
#include "base/time.h"
#include "cluster/ending.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/ops.h"
#include "cluster/stages.h"

/* Order: events and reports of the same time are in the byte order of IDs. */

static bool has_lower_id(const blis__handoff *a, const blis__handoff *b) {
  return blis_request_compare_ids(&a->prefill, &b->prefill) < 0;
}

static bool starts_before(const blis__handoff *a, const blis__handoff *b) {
  return a->ready_us != b->ready_us ? a->ready_us < b->ready_us : has_lower_id(a, b);
}

/* Events of the same time run in the order of their pushes, so later ones are pushed again. */
static blis_status schedule_move(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__handoff **at = &blis__handoffs_of(cluster)->ready;
  while (*at != NULL && starts_before(*at, handoff)) {
    at = &(*at)->next_ordered;
  }
  handoff->next_ordered = *at;
  *at = handoff;
  for (; handoff != NULL; handoff = handoff->next_ordered) {
    blis__handoff_unschedule(cluster, handoff);
    BLIS_TRY(
        blis__handoff_schedule(cluster, handoff, BLIS__CLUSTER_MOVE, handoff->ready_us, error));
  }
  return BLIS_OK;
}

static void forget(blis_cluster *cluster, blis__handoff *handoff) {
  blis__handoff **at = &blis__handoffs_of(cluster)->ready;
  while (*at != NULL && *at != handoff) {
    at = &(*at)->next_ordered;
  }
  if (*at != NULL) {
    *at = handoff->next_ordered;
  }
}

static bool ends_before(const blis__handoff *a, const blis__handoff *b) {
  bool is_late = a->request->live.state == BLIS_REQUEST_TIMED_OUT;
  bool other_is = b->request->live.state == BLIS_REQUEST_TIMED_OUT;
  if (a->decode_now_us != b->decode_now_us) {
    return a->decode_now_us < b->decode_now_us;
  }
  return is_late != other_is ? other_is : has_lower_id(a, b);
}

/*
 * BLIS (Go) reports the ends of requests that were handed off after the instance
 * has executed its event: first completed requests, then timeouts.
 */
static void end_later(blis_cluster *cluster, blis__handoff *handoff) {
  blis__handoff **at = &blis__handoffs_of(cluster)->over;
  while (*at != NULL && ends_before(*at, handoff)) {
    at = &(*at)->next_ordered;
  }
  handoff->next_ordered = *at;
  *at = handoff;
}

static blis_status report_ended(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  (void)instance;
  blis__handoffs *h = blis__handoffs_of(cluster);
  while (h->over != NULL) {
    blis__handoff *first = h->over;
    h->over = first->next_ordered;
    BLIS_TRY(blis__cluster_end_at_instance(cluster, first->request, first->decode_end_us, error));
  }
  return BLIS_OK;
}

/* The prefill: a separate request with the lengths of the whole request. */

static void fill_leg(blis__handoff *handoff) {
  blis_live_request *live = &handoff->request->live;
  handoff->prefill.output_budget_tokens = live->output_budget_tokens;
  handoff->prefill.max_output_tokens = live->max_output_tokens;
  /* Both parts lose their adapter. */
  handoff->prefill.adapter = 0;
  live->adapter = 0;
}

/* The source releases the KV before the transfer. */
static blis_status prefilled(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  handoff->times.prefill_e2e_us = handoff->prefill.e2e_us;
  return blis__handoff_leave_source(cluster, handoff, error);
}

/* Transfers: their duration is fixed at the start. */

static int64_t duration_us(const blis__handoffs *h, double bytes) {
  double rate = h->policy.bytes_per_us;
  if (h->policy.has_contention && h->active > 1) {
    rate /= (double)h->active;
  }
  double us = ceil(h->policy.base_us + (isfinite(rate) ? bytes / rate : 0));
  return us > 1 ? (int64_t)us : (isfinite(rate) ? 1 : (int64_t)us);
}

static blis_status start(blis_cluster *cluster, blis__handoff *handoff, double bytes,
                         blis_error *error) {
  return blis__handoff_schedule(
      cluster, handoff, BLIS__CLUSTER_MOVED,
      blis_time_after_us(cluster->now_us, duration_us(blis__handoffs_of(cluster), bytes)), error);
}

static void stop(blis_cluster *cluster, blis__handoff *handoff) {
  (void)cluster, (void)handoff; /* its event is canceled elsewhere */
}

static double bytes_per_us(const blis_cluster *cluster, uint32_t source, uint32_t destination) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  (void)source, (void)destination;
  return h->policy.has_contention && h->active > 0
             ? h->policy.bytes_per_us / (double)(h->active + 1)
             : h->policy.bytes_per_us;
}

/* A dropped request is unservable, although no instance has counted it. */
static void drop(blis_cluster *cluster, blis__cluster_request *request) {
  request->live.state = BLIS_REQUEST_UNSERVABLE;
  cluster->dropped.unservable--;
}

/* Times: the times of a request are combined from those of its two parts. */

/* Combines the start times. The first token is that of the first decode step. */
static void join_starts(const blis__handoff *handoff, blis_live_request *live) {
  live->ttft_us = live->first_itl_us >= 0
                      ? blis_time_after_us(live->scheduling_delay_us, live->first_itl_us)
                      : handoff->prefill_ttft_us;
  live->scheduling_delay_us = handoff->prefill.scheduling_delay_us;
}

/* Combines the times of a request that timed out at end_us, after the transfer of its KV. */
static void join_late(blis__handoff *handoff, int64_t end_us) {
  blis_live_request *live = &handoff->request->live;
  live->e2e_us = end_us - live->arrival_us;
  join_starts(handoff, live);
}

/*
 * Combines the times of a completed request and returns its end. After a preemption of its decode,
 * a request is prefilled again, and its E2E latency counts from there. KV is transferred from the
 * start of the last prefill step, so a request that ends immediately at its destination may end
 * before that step.
 */
static int64_t join_completed(const blis_cluster *cluster, blis__handoff *handoff, int64_t now_us) {
  blis_live_request *live = &handoff->request->live;
  const blis_instance *instance = cluster->instances[handoff->destination];
  handoff->times.decode_e2e_us = live->e2e_us;
  if (!live->has_first_token) {
    live->e2e_us = blis_time_after_us(live->e2e_us, live->scheduling_delay_us);
  }
  join_starts(handoff, live);
  live->ttft_us = blis_min_i64(live->ttft_us, live->e2e_us);
  return blis_time_after_us(
      now_us, blis_latency_fixed_overhead(blis_instance_get_config(instance)->latency));
}

static blis_status on_decoded(void *ud, blis_live_request *live, int64_t now_us, int64_t end_us,
                              blis_error *error) {
  (void)error;
  blis_cluster *cluster = ud;
  blis__handoff *handoff = blis__handoff_of(blis__request_of(live));
  if (live->state == BLIS_REQUEST_TIMED_OUT) {
    join_late(handoff, now_us);
  } else {
    end_us = join_completed(cluster, handoff, now_us);
  }
  handoff->decode_now_us = now_us;
  handoff->decode_end_us = end_us;
  end_later(cluster, handoff);
  return BLIS_OK;
}

static const blis_instance_events decode_events = {.ended = on_decoded};

/* Times out a request that arrives after its deadline. It times out in the queue of its
   destination, at the deadline. */
static blis_status end_late(blis_cluster *cluster, blis__handoff *handoff, blis_error *error) {
  blis__cluster_request *request = handoff->request;
  blis_live_request *live = &request->live;
  cluster->dropped.timed_out--; /* no instance has counted it */
  BLIS_TRY(blis__cluster_take_away(cluster, request, error));
  live->state = BLIS_REQUEST_TIMED_OUT;
  live->was_counted = true;
  join_late(handoff, live->deadline_us);
  return blis__cluster_end(cluster, request, cluster->now_us, NULL, error);
}

/* Returns the time until which instances without free blocks make empty steps of 1 us, while they
   wait for KV and no other event occurs. */
static int64_t idle_until_us(const blis_cluster *cluster, int64_t cluster_us, int64_t last_us) {
  int64_t until_us = blis_min_i64(cluster_us, blis_time_after_us(last_us, 1));
  for (uint32_t i = 0; i < cluster->existing; i++) {
    until_us = blis_min_i64(until_us, blis_instance_next_work_us(cluster->instances[i]));
  }
  return until_us;
}

/* Returns limit_us, or later if the next events of the instance are such steps. */
static int64_t idle_limit_us(const blis_cluster *cluster, uint32_t instance, int64_t time_us,
                             int64_t limit_us, int64_t cluster_us, int64_t last_us) {
  bool idles =
      !cluster->is_stepped && blis_instance_next_work_us(cluster->instances[instance]) > time_us;
  return idles ? blis_max_i64(limit_us, idle_until_us(cluster, cluster_us, last_us)) : limit_us;
}

static void add_hooks(blis__hooks *hooks) {
  blis__hooks_add(hooks, BLIS__STEPS_EXECUTED, report_ended);
  hooks->run_limit_us = idle_limit_us;
}

/*
 * Quirks that are rules:
 *
 * - The KV of the last prompt token is transferred, so a prompt of one token can be split.
 * - A split is decided without checking the destination's limits and models.
 * - A choice is not visible until its KV arrives, and the decision trace contains only requests
 *   that are not split.
 * - If the output has only one token, the decode instance stores this token before it is counted,
 *   so the next turn of a session has it in its prompt.
 * - All transfers have the size of the first prefill instance's KV share.
 * - A hand-off that is lost stays unfinished.
 */
const blis_handoff_ops blis_handoff_go_blis = {
    .prompt_tokens_min = 1,
    .moves_last_token = true,
    .finds_room_at_once = true,
    .keeps_names = true,
    .shares_only_token = true,
    .has_one_sender = true,
    .may_lose = true,
    .prefill_part = BLIS_PART_PREFILL,
    .decode_part = BLIS_PART_DECODE,
    .fill_leg = fill_leg,
    .schedule_move = schedule_move,
    .forget = forget,
    .start = start,
    .stop = stop,
    .bytes_per_us = bytes_per_us,
    .drop = drop,
    .prefilled = prefilled,
    .decode_events = &decode_events,
    .end_late = end_late,
    .add_hooks = add_hooks,
};
