/*
 * traffic_state.c - the traffic of tenants, for scripted policies: the number of requests, of
 * active requests, and the arrival rate.
 */
#include "cluster/core_listeners.h"

#include "base/invariant.h"
#include "policy/memory/recent.h"

/* Window of the arrival rate. Early in a run, the time since the start is used. */
enum { WINDOW_S = 10 };

typedef struct tenant {
  int64_t requests;   /* arrived requests */
  int64_t active;     /* requests admitted and not ended */
  int64_t recent;     /* requests that arrived within the window */
  uint32_t slo_class; /* class of the last request */
} tenant;

struct blis__traffic {
  blis_alloc alloc;
  BLIS_ARRAY(tenant) tenants; /* indexed by string ID */
  blis__recent arrivals;
};

static void expire(blis__traffic *traffic, int64_t now_us) {
  blis__recent_item item;
  while (blis__recent_expire(&traffic->arrivals, now_us - WINDOW_S * INT64_C(1000000) + 1, &item)) {
    traffic->tenants.items[item.key].recent--;
  }
}

static blis_status need_tenant(blis__traffic *traffic, uint32_t number) {
  while (traffic->tenants.count <= number) {
    BLIS_TRY(blis_array_push(&traffic->alloc, &traffic->tenants, (tenant){0}));
  }
  return BLIS_OK;
}

static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  blis__traffic *traffic = ud;
  uint32_t number = news->request->request.tenant;
  const blis__recent_item item = {.at_us = cluster->now_us, .key = number};
  BLIS_TRY_MEM(need_tenant(traffic, number), error);
  expire(traffic, cluster->now_us);
  BLIS_TRY_MEM(blis__recent_add(&traffic->alloc, &traffic->arrivals, &item), error);
  traffic->tenants.items[number].requests++;
  traffic->tenants.items[number].recent++;
  traffic->tenants.items[number].slo_class = news->request->request.slo_class;
  return BLIS_OK;
}

static blis_status on_decided(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  (void)cluster, (void)error;
  blis__traffic *traffic = ud;
  blis__cluster_request *request = news->request;
  if (news->admission->verdict == BLIS_ADMIT && !request->is_active) {
    request->is_active = true;
    traffic->tenants.items[request->request.tenant].active++;
  }
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster, (void)error;
  blis__traffic *traffic = ud;
  blis__cluster_request *request = news->request;
  if (request->is_active) {
    request->is_active = false;
    traffic->tenants.items[request->request.tenant].active--;
  }
  return BLIS_OK;
}

blis_traffic_state blis__cluster_traffic(void *ud, uint32_t number, int64_t now_us) {
  blis__traffic *traffic = ud;
  BLIS_ASSERT(number < traffic->tenants.count);
  expire(traffic, now_us);
  const tenant *t = &traffic->tenants.items[number];
  double seconds = (double)now_us / 1e6;
  seconds = seconds < WINDOW_S ? seconds : WINDOW_S;
  double all = (double)blis__recent_count(&traffic->arrivals);
  return (blis_traffic_state){
      .tenant_requests = t->requests,
      .tenant_active = t->active,
      .tenant_rate = seconds > 0 ? (double)t->recent / seconds : 0,
      .request_rate = seconds > 0 ? all / seconds : 0,
      .slo_class = t->slo_class,
      .tenant_limit = (uint32_t)traffic->tenants.count,
  };
}

blis_status blis__add_traffic_state(blis_cluster *cluster) {
  if (!cluster->config.keeps_traffic) {
    return BLIS_OK;
  }
  cluster->traffic = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *cluster->traffic);
  if (cluster->traffic == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cluster->traffic->alloc = cluster->alloc;
  const blis__listener listener = {.ud = cluster->traffic,
                                   .phase = BLIS__BOOKS,
                                   .on = {[BLIS__ARRIVED] = on_arrived,
                                          [BLIS__ADMISSION_DECIDED] = on_decided,
                                          [BLIS__ENDED] = on_ended}};
  return blis__listeners_add(&cluster->listeners, &listener);
}

void blis__free_traffic_state(blis_cluster *cluster) {
  blis__traffic *traffic = cluster->traffic;
  if (traffic == NULL) {
    return;
  }
  blis_array_deinit(&traffic->alloc, &traffic->tenants);
  blis__recent_deinit(&traffic->alloc, &traffic->arrivals);
  blis_alloc_free(&cluster->alloc, traffic, sizeof *traffic);
}
