/*
 * remote_kv.h - KV transfers: one instance computes a prompt, and another one decodes.
 *
 * At the source, a request with holds_kv is completed like any other and reported
 * by ended(), but stays with its instance and keeps its blocks until
 * blis_instance_evict.
 *
 * At the destination, blis_instance_reserve reserves blocks, and blis_instance_activate reports
 * that their content has arrived. The request waits in the queue with its blocks until the batch
 * has a free place. It overtakes requests without blocks. With defects.admits_by_head, it does so
 * only if nothing runs because the head of the queue lacks blocks or has just given up its blocks.
 * blis_instance_evict removes it in each of these states. After a preemption, it is treated like
 * any other request. If all requests that could run wait with their KV for one more block, the last
 * of them is preempted. If a preemption leaves nothing running, the last waiting request that has
 * its KV, but whose adapter is not in a slot, gives up its KV.
 *
 * A block in flight is allocated at both ends, and the cluster manages its ownership. The cost is
 * that of an admission.
 */
#ifndef BLIS_INSTANCE_PARTS_REMOTE_KV_H
#define BLIS_INSTANCE_PARTS_REMOTE_KV_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"

/* The blocks to reserve. */
typedef struct blis_kv_demand {
  /* The first `tokens` tokens of the prompt; >= 1, and the output also has at least 1. */
  int64_t tokens;
  bool reuses_cache; /* cached blocks of these tokens need no transfer */
  /* Other requests find the blocks immediately, before their content has arrived, as in BLIS (Go).
     If false, they find the blocks only after blis_instance_activate. */
  bool is_found_at_once;
} blis_kv_demand;

/* The KV that has arrived. */
typedef struct blis_kv_arrival {
  int64_t tokens;              /* same as in the demand */
  int64_t scheduling_delay_us; /* time until its prefill was admitted; -1 = not available */
  /*
   * Time from the arrival of the request until its client received the first token; -1 = not yet.
   * If it is set, the first step here computes the second token. This requires
   * rules.resumes_preempted and blis_can_bring_first_token.
   *
   * Without a first token, there are two cases. If only part of the prompt has arrived, the rest is
   * computed here and yields the first token. If the whole prompt has arrived, the first step
   * decodes, and its token is not reported as a first token (BLIS, Go; not with
   * rules.resumes_preempted).
   */
  int64_t ttft_us;
} blis_kv_arrival;

/* Returns whether `tokens` covers the whole prompt and a second token follows. */
bool blis_can_bring_first_token(const blis_instance_config *config,
                                const blis_live_request *request, int64_t tokens);

/*
 * The part of blis_instance_activate that both engines share: updates the record of the request
 * when it enters the queue.
 */
void blis__note_kv(const blis_instance_config *config, blis_live_request *request,
                   const blis_kv_arrival *arrival, int64_t now_us);

/* Records that the request lost its KV while waiting. The KV must be computed here. */
void blis__note_lost_kv(blis_live_request *request);

#endif
