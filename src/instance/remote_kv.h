/*
 * remote_kv.h - KV that moves: one instance computes a prompt, and another goes
 * on with it.
 *
 * Where it comes from: a request with holds_kv is completed as any other and
 * reported by ended(), but stays with its instance and keeps its blocks (it
 * holds them) until blis_instance_evict.
 *
 * Where it goes: blis_instance_reserve sets blocks aside,
 * blis_instance_activate says that their content has come, and the request
 * waits in the queue with its blocks until there is room in the batch. It
 * passes those that have none; with defects.admits_by_head only when nothing
 * runs, as the head of the queue lacks blocks or has just given its own up.
 * blis_instance_evict takes it out in each of these states. Preempted, it is
 * like any other request; and where all that could run wait with their KV for a
 * block more, the last of them is preempted.
 *
 * A block in flight has a place at both ends; who owns it is the cluster's
 * business. Costs are those of an admission.
 */
#ifndef BLIS_INSTANCE_REMOTE_KV_H
#define BLIS_INSTANCE_REMOTE_KV_H

#include "instance/instance.h"

/* Is the request short enough for the instance, all its guards included? */
bool blis_instance_serves(const blis_instance *instance, const blis_live_request *request);

/* What to set aside. */
typedef struct blis_kv_demand {
  int64_t tokens;    /* of the prompt, the first ones; >= 1, as its output */
  bool reuses_cache; /* what is cached of them need not come */
  /* Others find the blocks at once, before their content has come: BLIS (Go).
     False: from activate on. */
  bool is_found_at_once;
} blis_kv_demand;

/*
 * Sets blocks aside for a request that is with no other instance under this
 * record, and whose blocks are named. The instance serves it, unless its whole
 * prompt is to come without a first token (BLIS, Go) and a token more fits.
 * *is_done = false: the free blocks do not suffice, and nothing has changed.
 * Else the request is with this instance, and *cached_tokens of the demand are
 * there already.
 */
BLIS_MUSTUSE blis_status blis_instance_reserve(blis_instance *instance, blis_live_request *request,
                                               const blis_kv_demand *demand, int64_t *cached_tokens,
                                               bool *is_done, blis_error *error);

/* What has come. */
typedef struct blis_kv_arrival {
  int64_t tokens;              /* as demanded */
  int64_t scheduling_delay_us; /* until its prefill was admitted; -1 = n/a */
  /*
   * When its client got the first token, after its arrival; -1 = not yet. Then
   * the first step here gives the second token; only with
   * rules.resumes_preempted, and if blis_can_bring_first_token.
   *
   * Without a first token, less than the prompt: the rest is computed here and
   * gives it. The whole prompt: the first step decodes, and what it gives is
   * not told as a first token (BLIS, Go; not with rules.resumes_preempted).
   */
  int64_t ttft_us;
} blis_kv_arrival;

/* The whole prompt is here, and there is a second token to come. */
bool blis_can_bring_first_token(const blis_instance_config *config,
                                const blis_live_request *request, int64_t tokens);

/*
 * The request, which was reserved for and whose deadline is not over, enters
 * the wait queue at now_us.
 */
BLIS_MUSTUSE blis_status blis_instance_activate(blis_instance *instance, blis_live_request *request,
                                                const blis_kv_arrival *arrival, int64_t now_us,
                                                blis_error *error);

/*
 * The part of activate that is the same in both engines: the record of the
 * request when it enters the queue.
 */
void blis__note_kv(const blis_instance_config *config, blis_live_request *request,
                   const blis_kv_arrival *arrival, int64_t now_us);

/* It has lost its KV while it was waiting, and is to be computed here. */
void blis__note_lost_kv(blis_live_request *request);

#endif
