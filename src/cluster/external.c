#include "cluster/external.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/stages.h"
#include "cluster/waiting_room.h"

void blis_cluster_stay_open(blis_cluster *cluster, bool is_open) {
  cluster->is_open = is_open;
}

blis_status blis_cluster_resume_arrivals(blis_cluster *cluster, blis_error *error) {
  BLIS_ASSERT(!cluster->is_busy);
  if (cluster->has_arrival) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__cluster_fetch_arrival(cluster, error));
  if (cluster->has_arrival && cluster->arrival.arrival_us <= cluster->now_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request_%" PRId64 " arrives at %" PRId64 " us, expected more than %" PRId64
                     " us, the time of the clock",
                     cluster->arrival.number, cluster->arrival.arrival_us, cluster->now_us);
  }
  return BLIS_OK;
}

static blis__cluster_request *find(const blis_cluster *cluster, int64_t number) {
  blis__cluster_request *request = cluster->requests.first;
  while (request != NULL && request->request.number != number) {
    request = request->later;
  }
  return request;
}

static blis_status leave_instance_at(blis_cluster *cluster, blis__cluster_request *request,
                                     int64_t at_us, blis_error *error) {
  uint32_t number = (uint32_t)request->instance;
  blis_error cause = {0};
  blis_status status =
      blis_instance_leave_at(cluster->instances[number], blis__live_of(request), at_us, &cause);
  if (status != BLIS_OK) {
    return blis_fail(error, status, "%s: %s", cluster->ids[number], cause.message);
  }
  blis__cluster_note_next(cluster, number);
  return BLIS_OK;
}

blis_status blis_cluster_leave_at(blis_cluster *cluster, int64_t number, int64_t at_us,
                                  blis_error *error) {
  BLIS_ASSERT(!cluster->is_busy);
  if (at_us <= cluster->now_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a client leaves at %" PRId64 " us, expected more than %" PRId64
                     " us, the time of the clock",
                     at_us, cluster->now_us);
  }
  blis__cluster_request *request = find(cluster, number);
  bool is_earlier =
      request != NULL && request->request.deadline_us > 0 && request->request.deadline_us <= at_us;
  if (request == NULL || is_earlier) {
    return BLIS_OK;
  }
  request->request.deadline_us = at_us;
  if (request->place == BLIS__AT_INSTANCE) {
    BLIS_TRY(leave_instance_at(cluster, request, at_us, error));
  }
  request->live.deadline_us = at_us;
  return request->place == BLIS__AT_WAITING ? blis__waiting_leave_at(cluster, request, error)
                                            : BLIS_OK;
}
