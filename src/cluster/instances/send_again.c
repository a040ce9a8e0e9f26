#include "cluster/instances/send_again.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "instance/parts/arrival.h"

/* Far more returns than a request with any progress can need. */
enum { RETURNS_MAX = 10000 };

/* Limits returns, because they could continue forever if instances fail before any progress. */
static blis_status note_return(const blis_cluster *cluster, blis__cluster_request *request,
                               blis_error *error) {
  char id[BLIS_REQUEST_ID_SIZE];
  if (++request->returns <= RETURNS_MAX) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_STUCK,
                   "%s was sent back to routing more than %d times, the last "
                   "time at %" PRId64 " us; instances keep failing before it makes progress",
                   blis_request_id(&request->request, cluster->source->strings, id), RETURNS_MAX,
                   cluster->now_us);
}

blis_status blis__send_again(blis_cluster *cluster, blis__cluster_request *request, blis_loss loss,
                             blis_error *error) {
  BLIS_ASSERT(blis__goes_on(loss));
  BLIS_TRY(note_return(cluster, request, error));
  BLIS_TRY(BLIS__TELL(cluster, BLIS__SENT_AGAIN, error, .request = request, .loss = loss));
  blis_live_request *live = &request->live;
  cluster->counts.recomputed_tokens += live->progress_tokens;
  blis_block_namer_release(cluster->namer, &live->chain);
  blis__reset_request(live);
  request->instance = -1;
  request->router_ticket = (blis_ticket){{0}};
  if (loss.kind == BLIS_LOSS_REROUTED) {
    cluster->counts.rerouted++;
    return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING,
                                  cluster->config.routing_latency_us, error);
  }
  cluster->counts.retried++;
  request->admission_ticket = (blis_ticket){{0}};
  return blis__cluster_schedule(
      cluster, request, BLIS__CLUSTER_ADMISSION,
      blis_time_after_us(loss.pause_us, cluster->config.admission_latency_us), error);
}
