/*
 * remote_kv.h - KV transfers: one instance computes a prompt, and another continues
 * with it.
 *
 * At the source, a request with holds_kv is completed like any other and reported
 * by ended(), but stays with its instance and keeps its blocks until
 * blis_instance_evict.
 *
 * At the destination, blis_instance_reserve reserves blocks, and
 * blis_instance_activate reports that their content has arrived. The request waits
 * in the queue with its blocks until the batch has a place. It passes requests
 * without blocks; with defects.admits_by_head only when nothing runs, because the
 * head of the queue lacks blocks or has just given up its own. blis_instance_evict
 * removes it in each of these states. After a preemption, it is like any other
 * request. If all requests that could run wait with their KV for one more block,
 * the last of them is preempted. If a preemption leaves nothing running, the last
 * of them whose adapter is in no slot gives its KV up.
 *
 * A block in flight has a place at both ends; the cluster manages its ownership.
 * Costs are the costs of an admission.
 */
#ifndef BLIS_INSTANCE_PARTS_REMOTE_KV_H
#define BLIS_INSTANCE_PARTS_REMOTE_KV_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"

/* What to set aside. */
typedef struct blis_kv_demand {
  int64_t tokens;    /* of the prompt, the first ones; >= 1, as its output */
  bool reuses_cache; /* cached blocks among them need no transfer */
  /* Other requests find the blocks at once, before their content has arrived: BLIS (Go). False:
     after activate. */
  bool is_found_at_once;
} blis_kv_demand;

/* The part that has arrived. */
typedef struct blis_kv_arrival {
  int64_t tokens;              /* as demanded */
  int64_t scheduling_delay_us; /* until its prefill was admitted; -1 = n/a */
  /*
   * Time from its arrival until its client got the first token; -1 = not yet. If it
   * is set, the first step here gives the second token; only with
   * rules.resumes_preempted, and if blis_can_bring_first_token.
   *
   * Without a first token there are two cases. With less than the prompt, the rest
   * is computed here and gives the first token. With the whole prompt, the first
   * step decodes, and its token is not reported as a first token (BLIS, Go; not
   * with rules.resumes_preempted).
   */
  int64_t ttft_us;
} blis_kv_arrival;

/* Whether the whole prompt has arrived and a second token follows. */
bool blis_can_bring_first_token(const blis_instance_config *config,
                                const blis_live_request *request, int64_t tokens);

/*
 * The part of activate that is the same in both engines: the record of the
 * request when it enters the queue.
 */
void blis__note_kv(const blis_instance_config *config, blis_live_request *request,
                   const blis_kv_arrival *arrival, int64_t now_us);

/* The request lost its KV while it was waiting, and must be computed here. */
void blis__note_lost_kv(blis_live_request *request);

#endif
