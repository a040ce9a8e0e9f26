/*
 * handoffs.h - the hand-offs of a cluster, shared by their files: the record of
 * each, and the functions for the rest of the cluster.
 *
 * One module in several files. states.c contains states and legal transitions,
 * events.c events and ends, and prefill.c the decision and the prefill. transfer.c
 * contains reservations, links, and transfers. timeouts.c contains ends of
 * transfers and timeouts. design.c is the default variant, go_blis.c another one
 * (ops.h has the table). policy_queries.c contains the queries of policies, setup.c
 * construction, and feature.c the descriptor.
 */
#ifndef BLIS_CLUSTER_HANDOFF_HANDOFFS_H
#define BLIS_CLUSTER_HANDOFF_HANDOFFS_H

#include "base/containers/map.h"
#include "base/inline.h"
#include "base/time.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/states.h"
#include "cluster/links/link.h"
#include "cluster/state.h"
#include "policy/contract/stages.h"

typedef struct blis__handoff {
  blis__cluster_request *request; /* its live record is the decode's */
  blis_live_request prefill;      /* and this is the one at the source */
  blis__attempt attempt;          /* of prefill */
  blis__handoff_state state;
  int32_t retries;
  uint32_t source; /* once it is routed */
  uint32_t destination;
  uint32_t slot;
  int64_t wanted_source; /* by the decider; -1 = the router chooses */
  int64_t cached_tokens; /* at the destination when it was reserved */
  int64_t kv_tokens;     /* that the destination gets */
  int64_t fed_tokens;    /* of these, that were or are computed for it */
  int64_t ready_us;      /* since when the KV could go */
  int64_t wait_since_us; /* for blocks */
  int64_t prefill_ttft_us;
  blis_ticket prefill_ticket;
  blis_event_handle event; /* the next one about it */
  /* The last moment for it, in the list of timeouts.c or in the event queue. */
  int64_t timeout_us;
  struct blis__handoff *earlier_timeout;
  struct blis__handoff *later_timeout;
  blis_event_handle timeout_event;
  struct blis__handoff *next_waiting;
  /* For ops that order hand-offs or report ends later, as `ready` and `over` below. */
  struct blis__handoff *next_ordered;
  int64_t decode_now_us; /* of the step in which its request has ended */
  int64_t decode_end_us; /* end of the request */
  blis_stage_times times;
  blis__transfer transfer; /* what follows from here is set when it starts */
} blis__handoff;

/* Hand-offs that wait for blocks, first come, first served. */
typedef struct blis__room_queue {
  blis__handoff *head;
  blis__handoff *tail;
} blis__room_queue;

struct blis__choice; /* stages.h */

/* The result of the prefill stage's router before its turn. */
typedef struct blis__preview {
  blis__cluster_request *request;
  int64_t peer; /* the decode instance; -1 = not chosen yet */
  bool is_asked;
  int64_t source; /* -1 = not evaluated, rejected, or adopted */
  blis_ticket ticket;
} blis__preview;

typedef struct blis__handoffs {
  blis_disaggregation policy;
  blis_stages stages;
  blis__preview preview; /* of the decision being taken */
  blis_pool pool;
  blis__room_queue *rooms; /* by destination */
  bool has_waited;         /* a request has waited for blocks, so departures matter */
  blis__links links;
  uint32_t *egress; /* by instance: links */
  uint32_t *ingress;
  uint32_t fabric;
  bool has_fabric;
  const blis_handoff_ops *ops; /* of the policy */
  int64_t sender;      /* the instance whose part of the KV counts for all; -1 = both ends count */
  blis__handoff *soon; /* its next event is due now, and not yet scheduled;
                          NULL between events */
  int soon_class;
  blis__clock_source links_source; /* the end of the next transfer */
  blis__clock_source timeouts;     /* the first timeout of the list */
  blis__handoff *first_timeout;
  blis__handoff *last_timeout;
  blis_map pairs;       /* that have shaken hands */
  int64_t active;       /* transfers */
  blis__handoff *ready; /* prefilled and about to move, in order */
  blis__handoff *over;  /* their requests have ended, and were not reported yet */
  blis_handoff_counts counts;
} blis__handoffs;

static inline blis__handoffs *blis__handoffs_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_HANDOFF);
}

/* The last hand-off of a request; NULL: there was none. */
static inline blis__handoff *blis__handoff_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_HANDOFF];
}

/* policy_queries.c */

blis_stages blis__handoff_stages(blis_cluster *cluster);

/* Calls the router of the prefill stage; peer is the decode instance, -1 = not chosen yet. */
BLIS_MUSTUSE blis_status blis__handoff_choose_source(blis_cluster *cluster,
                                                     blis__cluster_request *request,
                                                     blis_ticket *ticket, int64_t peer,
                                                     struct blis__choice *choice,
                                                     blis_error *error);

/* A request is about to be routed; *source stays if prefill is not first. */
BLIS_MUSTUSE blis_status blis__handoff_ask_first(blis_cluster *cluster,
                                                 blis__cluster_request *request, int64_t *source,
                                                 blis_error *error);

/* No policy was called for the request yet. */
void blis__handoff_begin_preview(blis_cluster *cluster, blis__cluster_request *request,
                                 int64_t peer);

/* The request is routed there, unless the disaggregation policy selects another instance. */
void blis__handoff_take_preview(blis_cluster *cluster, blis__handoff *handoff);

/* The request is no longer routed there: the router is notified that it has ended. */
void blis__handoff_unbook(blis_cluster *cluster, blis__handoff *handoff);

/* Reverts a preview that was not used. */
void blis__handoff_drop_preview(blis_cluster *cluster);

static inline uint64_t blis__pair_of(uint32_t source, uint32_t destination) {
  return (uint64_t)source << 32 | destination;
}

/* prefill.c */

/* Takes over a request that the decode router has routed, if the disaggregation policy splits
   it. */
BLIS_MUSTUSE blis_status blis__handoff_decide(blis_cluster *cluster, blis__cluster_request *request,
                                              struct blis__choice *choice, bool *is_taken,
                                              blis_error *error);

/* Routes the prefill and brings it to its source. */
BLIS_MUSTUSE blis_status blis__handoff_route(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* transfer.c */

/* Reserves blocks for the hand-off. It then continues, waits, or ends, depending on the policy. */
BLIS_MUSTUSE blis_status blis__handoff_seek_room(blis_cluster *cluster, blis__handoff *handoff,
                                                 blis_error *error);

/* A step computes more of the prompt: with overlap, that can go. */
BLIS_MUSTUSE blis_status blis__handoff_feed(blis_cluster *cluster, blis__handoff *handoff,
                                            const blis_prefill_step *step, blis_error *error);

/* Its transfer, which uses no links, has ended. */
BLIS_MUSTUSE blis_status blis__handoff_moved(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* As blis_handoff_ops.start and .stop: transfers over links. */
BLIS_MUSTUSE blis_status blis__handoff_start_on_links(blis_cluster *cluster, blis__handoff *handoff,
                                                      double bytes, blis_error *error);
void blis__handoff_stop_on_links(blis_cluster *cluster, blis__handoff *handoff);

/* Links have something to tell: transfers have ended, as a rule. */
BLIS_MUSTUSE blis_status blis__handoff_links_moved(blis_cluster *cluster, blis_error *error);

/* Requests wait for blocks at an instance, and some may be free. */
BLIS_MUSTUSE blis_status blis__handoff_try_again(blis_cluster *cluster, uint32_t instance,
                                                 blis_error *error);

/* An instance may have free blocks for hand-offs that wait for it, if any. */
static inline blis_status blis__handoff_note_room(blis_cluster *cluster, uint32_t instance,
                                                  blis_error *error) {
  return blis__handoffs_of(cluster)->rooms[instance].head == NULL
             ? BLIS_OK
             : blis__handoff_try_again(cluster, instance, error);
}

/* Ends its wait for blocks, or its transfer. */
BLIS_MUSTUSE blis_status blis__handoff_stop_moving(blis_cluster *cluster, blis__handoff *handoff,
                                                   blis_error *error);

/* timeouts.c: events outside of the event queue. */

/* Adds the two sources of the clock (hooks.h). */
void blis__handoff_add_sources(blis_cluster *cluster, blis__handoffs *h);

/* The links have an event at due_us; BLIS_TIME_NEVER_US = none. */
void blis__handoff_set_links_due(blis_cluster *cluster, int64_t due_us);

/* Its last moment, in place of the one it had; BLIS_TIME_NEVER_US = none. */
BLIS_MUSTUSE blis_status blis__handoff_set_timeout(blis_cluster *cluster, blis__handoff *handoff,
                                                   int64_t at_us, blis_error *error);
void blis__handoff_clear_timeout(blis_cluster *cluster, blis__handoff *handoff);

/* setup.c */

/* As blis__feature.free. */
void blis__handoff_free(blis_cluster *cluster);

/* Notifies waiting hand-offs when a request leaves an instance. */
BLIS_MUSTUSE blis_status blis__handoff_hear_who_leaves(blis_cluster *cluster);

/* events.c */

/* Its last moment has come. */
BLIS_MUSTUSE blis_status blis__handoff_timed_out(blis_cluster *cluster, blis__handoff *handoff,
                                                 blis_error *error);

/* An event of the classes from PREFILL to TIMEOUT. */
BLIS_MUSTUSE blis_status blis__handoff_event(blis_cluster *cluster, const blis_event *event,
                                             blis_error *error);

BLIS_MUSTUSE blis_status blis__handoff_schedule(blis_cluster *cluster, blis__handoff *handoff,
                                                int event_class, int64_t at_us, blis_error *error);

/* Its next event is none any more. */
void blis__handoff_unschedule(blis_cluster *cluster, const blis__handoff *handoff);

/*
 * Called when an event of the cluster or of an instance has ended. A stage of a
 * hand-off that would be the next event follows at once, without an event.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__handoff_go_on(blis_cluster *cluster,
                                                             blis_error *error);

/* Removes the hand-off from its source: the prefill, or the KV. */
BLIS_MUSTUSE blis_status blis__handoff_leave_source(blis_cluster *cluster, blis__handoff *handoff,
                                                    blis_error *error);

/* Removes the hand-off from source, destination, clock, and routers. */
BLIS_MUSTUSE blis_status blis__handoff_close(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* The KV is at the destination, where the request waits now. */
BLIS_MUSTUSE blis_status blis__handoff_complete(blis_cluster *cluster, blis__handoff *handoff,
                                                blis_error *error);

/* The hand-off cannot continue, for this reason; the request ends, or follows another path. */
BLIS_MUSTUSE blis_status blis__handoff_fail(blis_cluster *cluster, blis__handoff *handoff,
                                            const char *reason, blis_error *error);

/* The destination computes it all. */
BLIS_MUSTUSE blis_status blis__handoff_stay(blis_cluster *cluster, blis__handoff *handoff,
                                            blis_error *error);

/* The source, which is about to receive it, computes everything. */
BLIS_MUSTUSE blis_status blis__handoff_stay_at_source(blis_cluster *cluster, blis__handoff *handoff,
                                                      uint32_t source, blis_error *error);

/* The deadline of its request has passed while it is with no instance. */
BLIS_MUSTUSE blis_status blis__handoff_is_late(blis_cluster *cluster, blis__handoff *handoff,
                                               blis_error *error);

/* An instance ends it so: late, or the prefill could not be served. */
BLIS_MUSTUSE blis_status blis__handoff_give_up(blis_cluster *cluster, blis__handoff *handoff,
                                               blis_request_state state, int64_t end_us,
                                               blis_error *error);

/* The instance is about to lose all its requests: its hand-offs fail. The policy of hand-offs,
   or of the loss, handles their requests. */
BLIS_MUSTUSE blis_status blis__handoff_lose_instance(blis_cluster *cluster, uint32_t instance,
                                                     blis_loss loss, blis_error *error);

/* BLIS_ERR_STUCK names a hand-off that waits and can never continue. */
BLIS_MUSTUSE blis_status blis__handoff_check_stuck(const blis_cluster *cluster, blis_error *error);

/* The router that chooses sources. */
static inline const blis_router *blis__handoff_prefill_router(const blis_cluster *cluster) {
  const blis_router *own = &blis__handoffs_of(cluster)->policy.prefill;
  return own->ops != NULL ? own : &cluster->router;
}

static inline bool blis__handoff_is_source(const blis_cluster *cluster, uint32_t instance) {
  return (cluster->facts[instance].roles & BLIS_ROLE_PREFILL) != 0;
}

/* Returns the bytes per token of a hand-off. Each GPU has a NIC for its part of the KV. If the
   parts of both ends differ, the larger part counts, which is on the end with fewer GPUs. With a
   sender, returns the sender's part. */
static inline double blis__handoff_token_bytes(const blis_cluster *cluster, uint32_t source,
                                               uint32_t destination) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  if (h->sender >= 0) {
    return cluster->facts[h->sender].kv_bytes_per_token;
  }
  double sent = cluster->facts[source].kv_bytes_per_token;
  double received = cluster->facts[destination].kv_bytes_per_token;
  return received > sent ? received : sent;
}

/* Bytes of windows and states of a sequence, at the end that blis__handoff_token_bytes uses. */
static inline double blis__handoff_fixed_bytes(const blis_cluster *cluster, uint32_t source,
                                               uint32_t destination, int64_t tokens) {
  const blis__handoffs *h = blis__handoffs_of(cluster);
  if (h->sender >= 0) {
    return blis_fixed_kv_bytes(&cluster->facts[h->sender].fixed_kv, tokens);
  }
  double sent = blis_fixed_kv_bytes(&cluster->facts[source].fixed_kv, tokens);
  double received = blis_fixed_kv_bytes(&cluster->facts[destination].fixed_kv, tokens);
  return received > sent ? received : sent;
}

/* Returns the fraction of these bytes on a NIC of one end: all, or less if it has more GPUs than
   the opposite end. */
static inline double blis__handoff_part(const blis_cluster *cluster, uint32_t end, uint32_t other) {
  double its = cluster->facts[end].kv_bytes_per_token;
  double others = cluster->facts[other].kv_bytes_per_token;
  return its > 0 && its < others ? its / others : 1;
}

/* An instance has new work, or free blocks. */
void blis__handoff_note_instance(blis_cluster *cluster, uint32_t instance);

#endif
