#include "cluster/waiting_room.h"

#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/core_listeners.h"
#include "cluster/ending.h"
#include "cluster/service.h"

static void note_wait(blis__waiting_room *room, const blis_cluster *cluster,
                      blis__cluster_request *request) {
  int64_t waited_us = cluster->now_us - request->waiting_since_us;
  room->waited_us += waited_us;
  if (waited_us > room->longest_us) {
    room->longest_us = waited_us;
  }
  room->count--;
}

/* Sends all waiting requests to routing again, in order. */
static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  blis__waiting_room *room = ud;
  if (cluster->services[news->instance] != BLIS_SERVICE_ACTIVE) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < room->waiting.count; i++) {
    blis__cluster_request *request = room->waiting.items[i];
    if (request != NULL) {
      note_wait(room, cluster, request);
      BLIS_TRY(blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING, 0, error));
    }
  }
  BLIS_ASSERT(room->count == 0);
  room->waiting.count = 0;
  return BLIS_OK;
}

static blis_status turn_away(blis_cluster *cluster, blis__cluster_request *request,
                             blis_error *error) {
  request->live.state = BLIS_REQUEST_REJECTED;
  return blis__cluster_end(cluster, request, cluster->now_us, "no-instance", error);
}

/*
 * Handles a deadline. The original request may have left, and another request may use its slot. The
 * deadline then applies if that request has waited until now.
 */
static blis_status on_deadline(void *ud, blis_cluster *cluster, blis_error *error) {
  blis__cluster_request *request = ud;
  blis__waiting_room *room = cluster->waiting_room;
  if (request->place != BLIS__AT_WAITING || request->live.deadline_us <= 0 ||
      request->live.deadline_us > cluster->now_us) {
    return BLIS_OK;
  }
  BLIS_ASSERT(room->waiting.items[request->waiting_index] == request);
  room->waiting.items[request->waiting_index] = NULL;
  note_wait(room, cluster, request);
  return turn_away(cluster, request, error);
}

static blis_status put(blis_cluster *cluster, blis__cluster_request *request, blis_error *error) {
  blis__waiting_room *room = cluster->waiting_room;
  int64_t deadline_us = request->live.deadline_us;
  blis__request_move(request, BLIS__AT_WAITING);
  request->waiting_since_us = cluster->now_us;
  request->waiting_index = room->waiting.count;
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &room->waiting, request), error);
  room->waited++;
  if (++room->count > room->most_waiting) {
    room->most_waiting = room->count;
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__WAITING, error, .request = request));
  if (deadline_us <= 0) {
    return BLIS_OK;
  }
  int64_t at_us = deadline_us > cluster->now_us ? deadline_us : cluster->now_us;
  return blis_cluster_call_at(cluster, at_us, on_deadline, request, error);
}

blis_status blis__waiting_leave_at(blis_cluster *cluster, blis__cluster_request *request,
                                   blis_error *error) {
  BLIS_ASSERT(request->place == BLIS__AT_WAITING);
  return blis_cluster_call_at(cluster, request->live.deadline_us, on_deadline, request, error);
}

/* Returns whether an instance is expected; O(instances) if none is up. */
static bool somebody_comes(const blis_cluster *cluster, const blis__group *group, uint32_t role) {
  const blis__waiting_room *room = cluster->waiting_room;
  if (room->keeps_any || (role & room->kept_roles) != 0) {
    return true;
  }
  const blis__candidates *all = &cluster->snapshot.candidates;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (blis__may_be_candidate(all, group, i) && blis__will_serve(cluster, i)) {
      return true;
    }
  }
  return false;
}

blis_status blis__wait_for_candidates(blis_cluster *cluster, blis__cluster_request *request,
                                      uint32_t role, bool *waits, blis_error *error) {
  const blis__candidates *all = &cluster->snapshot.candidates;
  bool takes_anybody = role == 0 && request->request.model == 0;
  *waits = false;
  if (takes_anybody && all->out_count < all->count) {
    return BLIS_OK; /* an instance is up */
  }
  const blis__group *group = blis__candidates_for(
      &cluster->snapshot.candidates, cluster->source->strings, request->request.model, role);
  BLIS_TRY_NEW(group, error);
  *waits = group->count == 0 && somebody_comes(cluster, group, role);
  return *waits ? put(cluster, request, error) : BLIS_OK;
}

blis_status blis__add_waiting_room(blis_cluster *cluster) {
  blis__waiting_room *room = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *room);
  if (room == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cluster->waiting_room = room;
  const blis__listener listener = {
      .ud = room, .phase = BLIS__SEQUELS, .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

void blis__free_waiting_room(blis_cluster *cluster) {
  if (cluster->waiting_room != NULL) {
    blis_array_deinit(&cluster->alloc, &cluster->waiting_room->waiting);
    blis_alloc_free(&cluster->alloc, cluster->waiting_room, sizeof *cluster->waiting_room);
  }
}
