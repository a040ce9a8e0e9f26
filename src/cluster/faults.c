/*
 * faults.c - instances that fail, drain, come back and slow down.
 */
#include <inttypes.h>

#include "base/invariant.h"
#include "cluster/clock.h"
#include "cluster/ending.h"
#include "cluster/handoff_run.h"
#include "instance/arrival.h"

/* Far more than a request can need that gets anywhere at all. */
enum { RETURNS_MAX = 10000 };

static blis_status check_call(const blis_cluster *cluster, uint32_t index,
                              blis_error *error) {
  uint32_t count = cluster->config.instance_count;
  if (index >= count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "there is no instance %" PRIu32
                     "; there are 0 to %" PRIu32,
                     index, count - 1);
  }
  if (cluster->is_busy) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s cannot fail, drain, come back or slow down during a "
                     "decision; schedule it with sim:at",
                     cluster->ids[index]);
  }
  return BLIS_OK;
}

static bool may_become(blis_service from, blis_service to) {
  switch (to) {
  case BLIS_SERVICE_ACTIVE:
    return from != BLIS_SERVICE_ACTIVE;
  case BLIS_SERVICE_DRAINED:
    return from == BLIS_SERVICE_DRAINING;
  default: /* one that drains may be told to once more */
    return from == BLIS_SERVICE_ACTIVE || from == BLIS_SERVICE_DRAINING;
  }
}

static void set_service(blis_cluster *cluster, uint32_t index,
                        blis_service service) {
  BLIS_ASSERT(may_become(cluster->services[index], service));
  cluster->services[index] = service;
  blis__snapshot_put_in_service(&cluster->snapshot, index,
                                service == BLIS_SERVICE_ACTIVE);
}

static void check_drained(blis_cluster *cluster, uint32_t index) {
  if (cluster->services[index] == BLIS_SERVICE_DRAINING &&
      blis__snapshot_live(&cluster->snapshot, index, BLIS_SIGNAL_IN_FLIGHT) ==
          0) {
    set_service(cluster, index, BLIS_SERVICE_DRAINED);
  }
}

static blis_status on_left(void *ud, blis_cluster *cluster,
                           const blis__news *news, blis_error *error) {
  (void)ud, (void)error;
  check_drained(cluster, (uint32_t)news->request->instance);
  return BLIS_OK;
}

/* From the first drain on, requests that leave are looked at. */
static blis_status add_drains(blis_cluster *cluster) {
  if (cluster->has_drains) {
    return BLIS_OK;
  }
  const blis__listener listener = {.rank = BLIS__SEQUELS,
                                   .on = {[BLIS__LEFT] = on_left}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  cluster->has_drains = true;
  return BLIS_OK;
}

static void note_change(blis_cluster *cluster, uint32_t index) {
  blis__snapshot_instance_changed(&cluster->snapshot, index);
  blis_winner_tree_set(cluster->next_events, index,
                       blis_instance_next_us(cluster->instances[index]));
}

/* Instances that always fail before anything is done would go on for ever. */
static blis_status note_return(const blis_cluster *cluster,
                               blis__cluster_request *request,
                               blis_error *error) {
  char id[BLIS_REQUEST_ID_SIZE];
  if (++request->returns <= RETURNS_MAX) {
    return BLIS_OK;
  }
  return blis_fail(
      error, BLIS_ERR_STUCK,
      "%s was sent back to routing more than %d times, the last "
      "time at %" PRId64 " us; instances keep failing before it makes progress",
      blis_request_id(&request->request, cluster->source->strings, id),
      RETURNS_MAX, cluster->now_us);
}

/* Routing is asked once more, as if for a new request of the same arrival. */
static blis_status route_again(blis_cluster *cluster,
                               blis__cluster_request *request,
                               blis_error *error) {
  BLIS_TRY(note_return(cluster, request, error));
  blis_live_request *live = &request->live;
  blis_block_namer_release(cluster->namer, &live->chain);
  blis__reset_request(live);
  request->instance = -1;
  request->router_ticket = (blis_ticket){{0}};
  cluster->counts.rerouted++;
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING,
                                cluster->config.routing_latency_us, error);
}

static blis_status lose(blis_cluster *cluster, blis__cluster_request *request,
                        blis_error *error) {
  request->live.state = BLIS_REQUEST_FAILED;
  return blis__cluster_end(cluster, request, cluster->now_us, "instance-failed",
                           error);
}

/* Which requests leave an instance, and what becomes of them. */
typedef struct eviction {
  uint32_t index;
  bool spares_running;
  bool re_route;
} eviction;

static blis_status evict(blis_cluster *cluster, blis__cluster_request *request,
                         const eviction *how, blis_error *error) {
  blis_error cause = {0};
  blis_status status = blis_instance_evict(
      cluster->instances[how->index], &request->live, cluster->now_us, &cause);
  if (status != BLIS_OK) {
    return blis_fail(error, status, "%s: %s", cluster->ids[how->index],
                     cause.message);
  }
  BLIS_TRY(blis__cluster_leave_instance(cluster, request, error));
  return how->re_route ? route_again(cluster, request, error)
                       : lose(cluster, request, error);
}

/* In order of arrival. */
static blis_status evict_all(blis_cluster *cluster, const eviction *how,
                             blis_error *error) {
  blis__cluster_request *later;
  for (blis__cluster_request *request = cluster->requests.first;
       request != NULL; request = later) {
    later = request->later;
    bool is_there = request->instance == (int32_t)how->index &&
                    request->place == BLIS__AT_INSTANCE;
    bool is_spared =
        how->spares_running && request->live.state == BLIS_REQUEST_RUNNING;
    if (is_there && !is_spared) {
      BLIS_TRY(evict(cluster, request, how, error));
    }
  }
  return BLIS_OK;
}

/* Whatever the engine was at is gone, and so is its cache. */
static blis_status restart(blis_cluster *cluster, uint32_t index,
                           blis_error *error) {
  BLIS_ASSERT(blis__snapshot_live(&cluster->snapshot, index,
                                  BLIS_SIGNAL_IN_FLIGHT) == 0);
  BLIS_TRY(blis_instance_restart(cluster->instances[index], error));
  blis__snapshot_forget(&cluster->snapshot, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_fail(blis_cluster *cluster, uint32_t index,
                                       bool re_route, blis_error *error) {
  BLIS_TRY(check_call(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED) {
    return BLIS_OK;
  }
  set_service(cluster, index, BLIS_SERVICE_FAILED);
  BLIS_TRY(blis__handoff_lose_instance(cluster, index, error));
  const eviction how = {.index = index, .re_route = re_route};
  BLIS_TRY(evict_all(cluster, &how, error));
  BLIS_TRY(restart(cluster, index, error));
  note_change(cluster, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_drain(blis_cluster *cluster, uint32_t index,
                                        bool re_route, blis_error *error) {
  BLIS_TRY(check_call(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(add_drains(cluster), error);
  set_service(cluster, index, BLIS_SERVICE_DRAINING);
  if (re_route) {
    const eviction how = {
        .index = index, .spares_running = true, .re_route = true};
    BLIS_TRY(evict_all(cluster, &how, error));
    note_change(cluster, index);
  }
  check_drained(cluster, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_restore(blis_cluster *cluster, uint32_t index,
                                          blis_error *error) {
  BLIS_TRY(check_call(cluster, index, error));
  blis_service service = cluster->services[index];
  if (service == BLIS_SERVICE_ACTIVE) {
    return BLIS_OK;
  }
  if (service == BLIS_SERVICE_DRAINED) { /* one that failed is up already */
    BLIS_TRY(restart(cluster, index, error));
  }
  set_service(cluster, index, BLIS_SERVICE_ACTIVE);
  note_change(cluster, index);
  return BLIS_OK;
}

blis_status blis_cluster_instance_slow(blis_cluster *cluster, uint32_t index,
                                       double factor, blis_error *error) {
  BLIS_TRY(check_call(cluster, index, error));
  if (!(factor >= 1e-3 && factor <= 1e6)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the factor of step times is %g, expected 0.001 to "
                     "1000000",
                     cluster->ids[index], factor);
  }
  blis_instance_slow_down(cluster->instances[index], factor);
  return BLIS_OK;
}

blis_service blis_cluster_instance_service(const blis_cluster *cluster,
                                           uint32_t index) {
  return cluster->services[index];
}

const blis_instance_facts *
blis_cluster_instance_facts(const blis_cluster *cluster, uint32_t index) {
  return &cluster->facts[index];
}
