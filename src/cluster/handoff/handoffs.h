/*
 * handoffs.h - the hand-offs of a cluster: their record, the functions that their files share, and
 * the functions for the rest of the cluster.
 *
 * This is one module in several files. states.c contains states and legal transitions, events.c
 * events and ends, and prefill.c the decision and the prefill. transfer.c contains reservations,
 * links, and transfers. timeouts.c contains ends of transfers and timeouts. design.c is the default
 * variant, and go_blis.c is another one (see ops.h for the interface). policy_queries.c contains
 * the queries of policies, setup.c construction, and feature.c the descriptor.
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
  blis__cluster_request *request; /* its live record belongs to the decode */
  blis_live_request prefill;      /* live record at the source */
  blis__attempt attempt;          /* attempt of the prefill */
  blis__handoff_state state;
  int32_t retries;
  uint32_t source; /* set once the prefill is routed */
  uint32_t destination;
  uint32_t slot;
  int64_t wanted_source; /* selected by the disaggregation policy; -1 = the router chooses */
  int64_t cached_tokens; /* cached at the destination at the time of the reservation */
  int64_t kv_tokens;     /* tokens whose KV the destination receives */
  int64_t fed_tokens;    /* subset of kv_tokens that were computed or are being computed for it */
  int64_t ready_us;      /* when the KV was ready for transfer */
  int64_t wait_since_us; /* start of its wait for blocks */
  int64_t prefill_ttft_us;
  blis_ticket prefill_ticket;
  blis_event_handle event; /* its next event */
  /* Its timeout, which is in the list of timeouts.c or in the event queue. */
  int64_t timeout_us;
  struct blis__handoff *earlier_timeout;
  struct blis__handoff *later_timeout;
  blis_event_handle timeout_event;
  struct blis__handoff *next_waiting;
  /* For variants that order hand-offs or delay reports of ends, see `ready` and `over` below. */
  struct blis__handoff *next_ordered;
  int64_t decode_now_us; /* time of the step in which its request ended */
  int64_t decode_end_us; /* end of the request */
  blis_stage_times times;
  blis__transfer transfer; /* set when the transfer starts */
} blis__handoff;

/* Hand-offs that wait for blocks, in FIFO order. */
typedef struct blis__room_queue {
  blis__handoff *head;
  blis__handoff *tail;
} blis__room_queue;

struct blis__choice; /* stages.h */

/* A decision of the prefill stage's router that is made in advance. */
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
  blis__preview preview; /* preview for the current decision */
  blis_pool pool;
  blis__room_queue *rooms; /* indexed by destination */
  bool has_waited;         /* a request has waited for blocks, so departures must be tracked */
  blis__links links;
  uint32_t *egress; /* links, indexed by instance */
  uint32_t *ingress;
  uint32_t fabric;
  bool has_fabric;
  const blis_handoff_ops *ops; /* variant of the policy */
  /* The instance whose share of the KV determines all transfers; -1 = both ends. */
  int64_t sender;
  blis__handoff *soon; /* its next event is due now but not yet scheduled; NULL between events */
  int soon_class;
  blis__clock_source links_source; /* clock source of the next end of a transfer */
  blis__clock_source timeouts;     /* clock source of the first timeout in the list */
  blis__handoff *first_timeout;
  blis__handoff *last_timeout;
  blis_map pairs;       /* pairs of instances that have completed the handshake */
  int64_t active;       /* number of current transfers */
  blis__handoff *ready; /* prefilled and ready for transfer, in order */
  blis__handoff *over;  /* hand-offs whose requests have ended but are not reported yet */
  blis_handoff_counts counts;
} blis__handoffs;

static inline blis__handoffs *blis__handoffs_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_HANDOFF);
}

/* Returns the last hand-off of a request, or NULL. */
static inline blis__handoff *blis__handoff_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_HANDOFF];
}

/* policy_queries.c */

blis_stages blis__handoff_stages(blis_cluster *cluster);

/* Calls the router of the prefill stage. peer is the decode instance; -1 = not chosen yet. */
BLIS_MUSTUSE blis_status blis__handoff_choose_source(blis_cluster *cluster,
                                                     blis__cluster_request *request,
                                                     blis_ticket *ticket, int64_t peer,
                                                     struct blis__choice *choice,
                                                     blis_error *error);

/*
 * Called before a request is routed. If prefill is routed first, stores the chosen source in
 * *source; otherwise, *source is unchanged.
 */
BLIS_MUSTUSE blis_status blis__handoff_ask_first(blis_cluster *cluster,
                                                 blis__cluster_request *request, int64_t *source,
                                                 blis_error *error);

/* Starts a preview for the request, before any policy is called. */
void blis__handoff_begin_preview(blis_cluster *cluster, blis__cluster_request *request,
                                 int64_t peer);

/*
 * Routes the prefill according to the preview, unless the disaggregation policy selects another
 * instance.
 */
void blis__handoff_take_preview(blis_cluster *cluster, blis__handoff *handoff);

/* Cancels the routing of the prefill: notifies the router that the request has ended. */
void blis__handoff_unbook(blis_cluster *cluster, blis__handoff *handoff);

/* Reverts an unused preview. */
void blis__handoff_drop_preview(blis_cluster *cluster);

static inline uint64_t blis__pair_of(uint32_t source, uint32_t destination) {
  return (uint64_t)source << 32 | destination;
}

/* prefill.c */

/* Takes over a request that the decode router has routed if the disaggregation policy splits it. */
BLIS_MUSTUSE blis_status blis__handoff_decide(blis_cluster *cluster, blis__cluster_request *request,
                                              struct blis__choice *choice, bool *is_taken,
                                              blis_error *error);

/* Routes the prefill and delivers it to its source. */
BLIS_MUSTUSE blis_status blis__handoff_route(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* transfer.c */

/*
 * Reserves blocks for the hand-off, which then continues, waits, or ends, depending on the policy.
 */
BLIS_MUSTUSE blis_status blis__handoff_seek_room(blis_cluster *cluster, blis__handoff *handoff,
                                                 blis_error *error);

/* Called when a step computes more of the prompt. With overlap, this KV can be transferred. */
BLIS_MUSTUSE blis_status blis__handoff_feed(blis_cluster *cluster, blis__handoff *handoff,
                                            const blis_prefill_step *step, blis_error *error);

/* Handles the end of a transfer that uses no links. */
BLIS_MUSTUSE blis_status blis__handoff_moved(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* Implement blis_handoff_ops.start and .stop for transfers over links. */
BLIS_MUSTUSE blis_status blis__handoff_start_on_links(blis_cluster *cluster, blis__handoff *handoff,
                                                      double bytes, blis_error *error);
void blis__handoff_stop_on_links(blis_cluster *cluster, blis__handoff *handoff);

/* Handles an event of the links, usually the end of transfers. */
BLIS_MUSTUSE blis_status blis__handoff_links_moved(blis_cluster *cluster, blis_error *error);

/* Retries the hand-offs that wait for blocks of an instance, because some blocks may be free. */
BLIS_MUSTUSE blis_status blis__handoff_try_again(blis_cluster *cluster, uint32_t instance,
                                                 blis_error *error);

/* Called when an instance may have free blocks. Retries the hand-offs that wait for it, if any. */
static inline blis_status blis__handoff_note_room(blis_cluster *cluster, uint32_t instance,
                                                  blis_error *error) {
  return blis__handoffs_of(cluster)->rooms[instance].head == NULL
             ? BLIS_OK
             : blis__handoff_try_again(cluster, instance, error);
}

/* Ends the hand-off's wait for blocks or its transfer. */
BLIS_MUSTUSE blis_status blis__handoff_stop_moving(blis_cluster *cluster, blis__handoff *handoff,
                                                   blis_error *error);

/* timeouts.c: events outside of the event queue. */

/* Adds the two sources of the clock (hooks.h). */
void blis__handoff_add_sources(blis_cluster *cluster, blis__handoffs *h);

/* Sets the time of the next event of the links; BLIS_TIME_NEVER_US = none. */
void blis__handoff_set_links_due(blis_cluster *cluster, int64_t due_us);

/* Sets the timeout of a hand-off, replacing the previous one; BLIS_TIME_NEVER_US = none. */
BLIS_MUSTUSE blis_status blis__handoff_set_timeout(blis_cluster *cluster, blis__handoff *handoff,
                                                   int64_t at_us, blis_error *error);
void blis__handoff_clear_timeout(blis_cluster *cluster, blis__handoff *handoff);

/* setup.c */

/* Implements blis__feature.free. */
void blis__handoff_free(blis_cluster *cluster);

/* Notifies waiting hand-offs when a request leaves an instance. */
BLIS_MUSTUSE blis_status blis__handoff_hear_who_leaves(blis_cluster *cluster);

/* events.c */

/* Handles the timeout of a hand-off. */
BLIS_MUSTUSE blis_status blis__handoff_timed_out(blis_cluster *cluster, blis__handoff *handoff,
                                                 blis_error *error);

/* Executes an event of the classes from PREFILL to TIMEOUT. */
BLIS_MUSTUSE blis_status blis__handoff_event(blis_cluster *cluster, const blis_event *event,
                                             blis_error *error);

BLIS_MUSTUSE blis_status blis__handoff_schedule(blis_cluster *cluster, blis__handoff *handoff,
                                                int event_class, int64_t at_us, blis_error *error);

/* Cancels the next event of a hand-off. */
void blis__handoff_unschedule(blis_cluster *cluster, const blis__handoff *handoff);

/*
 * Called at the end of an event of the cluster or of an instance. A hand-off stage that would be
 * the next event is executed immediately, without an event.
 */
BLIS_MUSTUSE BLIS_NOT_INLINE blis_status blis__handoff_go_on(blis_cluster *cluster,
                                                             blis_error *error);

/* Removes the hand-off from its source: the prefill, or the KV. */
BLIS_MUSTUSE blis_status blis__handoff_leave_source(blis_cluster *cluster, blis__handoff *handoff,
                                                    blis_error *error);

/* Removes the hand-off from source, destination, clock, and routers. */
BLIS_MUSTUSE blis_status blis__handoff_close(blis_cluster *cluster, blis__handoff *handoff,
                                             blis_error *error);

/* Completes the hand-off: the KV is at the destination, where the request now waits. */
BLIS_MUSTUSE blis_status blis__handoff_complete(blis_cluster *cluster, blis__handoff *handoff,
                                                blis_error *error);

/*
 * Fails the hand-off for this reason. The request ends or is handled in another way, depending on
 * the policy.
 */
BLIS_MUSTUSE blis_status blis__handoff_fail(blis_cluster *cluster, blis__handoff *handoff,
                                            const char *reason, blis_error *error);

/* Ends the hand-off: the destination computes the whole request. */
BLIS_MUSTUSE blis_status blis__handoff_stay(blis_cluster *cluster, blis__handoff *handoff,
                                            blis_error *error);

/* Ends the hand-off: the source, which is about to receive the request, computes all of it. */
BLIS_MUSTUSE blis_status blis__handoff_stay_at_source(blis_cluster *cluster, blis__handoff *handoff,
                                                      uint32_t source, blis_error *error);

/* Called when the deadline of the request passes while no instance holds it. */
BLIS_MUSTUSE blis_status blis__handoff_is_late(blis_cluster *cluster, blis__handoff *handoff,
                                               blis_error *error);

/*
 * Handles the end of the request on an instance in this state, because it is late or the prefill
 * could not be served.
 */
BLIS_MUSTUSE blis_status blis__handoff_give_up(blis_cluster *cluster, blis__handoff *handoff,
                                               blis_request_state state, int64_t end_us,
                                               blis_error *error);

/* Called before the instance loses all its requests. Its hand-offs fail, and the policy of
   hand-offs or of the loss determines how their requests are handled. */
BLIS_MUSTUSE blis_status blis__handoff_lose_instance(blis_cluster *cluster, uint32_t instance,
                                                     blis_loss loss, blis_error *error);

/*
 * Returns BLIS_ERR_STUCK, with the name of a hand-off, if a hand-off waits that can never continue.
 */
BLIS_MUSTUSE blis_status blis__handoff_check_stuck(const blis_cluster *cluster, blis_error *error);

/* Returns the router that chooses sources. */
static inline const blis_router *blis__handoff_prefill_router(const blis_cluster *cluster) {
  const blis_router *own = &blis__handoffs_of(cluster)->policy.prefill;
  return own->ops != NULL ? own : &cluster->router;
}

static inline bool blis__handoff_is_source(const blis_cluster *cluster, uint32_t instance) {
  return (cluster->facts[instance].roles & BLIS_ROLE_PREFILL) != 0;
}

/* Returns the bytes per token of a hand-off. Each GPU has a NIC for its share of the KV. If the
   shares at both ends differ, the larger one counts, which belongs to the end with fewer GPUs. With
   a sender, returns the sender's share. */
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

/*
 * Returns the bytes of windows and states of a sequence, at the end that blis__handoff_token_bytes
 * uses.
 */
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

/* Returns the fraction of these bytes that a NIC of one end carries: 1, or less if this end has
   more GPUs than the other end. */
static inline double blis__handoff_part(const blis_cluster *cluster, uint32_t end, uint32_t other) {
  double its = cluster->facts[end].kv_bytes_per_token;
  double others = cluster->facts[other].kv_bytes_per_token;
  return its > 0 && its < others ? its / others : 1;
}

/* Called when an instance has new work or free blocks. */
void blis__handoff_note_instance(blis_cluster *cluster, uint32_t instance);

#endif
