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
#ifndef BLIS_INSTANCE_PARTS_REMOTE_KV_H
#define BLIS_INSTANCE_PARTS_REMOTE_KV_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"

/* What to set aside. */
typedef struct blis_kv_demand {
  int64_t tokens;    /* of the prompt, the first ones; >= 1, as its output */
  bool reuses_cache; /* what is cached of them need not come */
  /* Others find the blocks at once, before their content has come: BLIS (Go).
     False: from activate on. */
  bool is_found_at_once;
} blis_kv_demand;

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
 * The part of activate that is the same in both engines: the record of the
 * request when it enters the queue.
 */
void blis__note_kv(const blis_instance_config *config, blis_live_request *request,
                   const blis_kv_arrival *arrival, int64_t now_us);

/* It has lost its KV while it was waiting, and is to be computed here. */
void blis__note_lost_kv(blis_live_request *request);

#endif
