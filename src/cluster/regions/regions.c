/* regions.c - the path of requests through regions, and what clients measure. */
#include "cluster/regions/regions.h"

#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/regions/region_state.h"

static blis__region_path *path_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_REGIONS];
}

static uint32_t region_of(const blis_cluster *cluster, uint32_t instance) {
  return blis__regions_of(cluster)->given.of_group[cluster->facts[instance].group];
}

static uint32_t current_of(const blis__region_path *path) {
  return path->stops[path->hops];
}

/* Arrival. */

/* Returns the regions in the set that clients see as healthy; the whole set if there are none. */
static uint64_t seen_up(const blis__regions *regions, uint64_t set, int64_t now_us) {
  uint64_t up = set;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    up &= blis__region_seems_up(regions, r, now_us) ? UINT64_MAX : ~(UINT64_C(1) << r);
  }
  return up != 0 ? up : set;
}

static blis_status new_path(blis_cluster *cluster, blis__cluster_request *request,
                            blis__region_path **path) {
  blis_pool *pool = &blis__regions_of(cluster)->paths;
  uint32_t slot;
  BLIS_TRY(blis_pool_take(pool, &slot));
  *path = blis_pool_item(pool, slot);
  **path = (blis__region_path){.slot = slot};
  request->parts[BLIS__PART_REGIONS] = *path;
  return BLIS_OK;
}

/* Chooses the first gateway, and delays the arrival of the request there. */
static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  blis__regions *regions = ud;
  blis__cluster_request *request = news->request;
  blis__region_path *path;
  BLIS_TRY_MEM(new_path(cluster, request, &path), error);
  BLIS_TRY(blis__region_origin(cluster, request, &path->origin, error));
  uint64_t set = regions->given.items[path->origin].may_serve_in;
  BLIS_TRY(blis__region_choose(cluster, request, seen_up(regions, set, cluster->now_us),
                               path->origin, &path->stops[0], error));
  int64_t rtt_us = blis__region_rtt_us(regions, path->origin, path->stops[0]);
  path->inbound_us = rtt_us / 2 + regions->given.handshakes * rtt_us;
  request->request.arrival_us = blis_time_after_us(request->request.arrival_us, path->inbound_us);
  request->live.arrival_us = request->request.arrival_us;
  *news->delay_us += path->inbound_us;
  regions->all[path->origin].counts.sent++;
  regions->all[path->stops[0]].counts.entered++;
  regions->all[path->stops[0]].in_flight++;
  return BLIS_OK;
}

/* Routing. */

/* Sets *regions to the regions with at least one candidate for the request. */
static blis_status find_candidates(blis_cluster *cluster, const blis__cluster_request *request,
                                   uint64_t *set) {
  const blis__group *group =
      blis__candidates_for(&cluster->snapshot.candidates, cluster->source->strings,
                           request->request.model, cluster->main_role);
  if (group == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *set = 0;
  for (uint32_t k = 0; k < group->count; k++) {
    *set |= UINT64_C(1) << region_of(cluster, group->instances[k]);
  }
  return BLIS_OK;
}

static uint64_t full_ones(const blis__regions *regions) {
  uint64_t full = 0;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    full |= (uint64_t)blis__region_is_full(regions, r) << r;
  }
  return full;
}

/* Sends the request to the gateway of another region. */
static blis_status forward(blis_cluster *cluster, blis__cluster_request *request, uint32_t to,
                           blis_error *error) {
  blis__regions *regions = blis__regions_of(cluster);
  blis__region_path *path = path_of(request);
  uint32_t from = current_of(path);
  double bytes = regions->given.bytes_per_prompt_token * (double)request->request.prompt_tokens;
  regions->all[from].counts.forwarded++;
  regions->all[from].counts.egress_bytes += (int64_t)bytes;
  regions->all[from].in_flight--;
  regions->all[to].in_flight++;
  path->stops[++path->hops] = to;
  blis__request_move(request, BLIS__HELD_FOR_ROUTING);
  return blis__cluster_schedule(cluster, request, BLIS__CLUSTER_ROUTING,
                                blis_time_after_us(cluster->config.routing_latency_us,
                                                   blis__region_rtt_us(regions, from, to) / 2),
                                error);
}

/*
 * Forwards a request from a region without candidates to another region, and from a full region to
 * one that is not full.
 */
static blis_status on_to_be_routed(void *ud, blis_cluster *cluster, const blis__news *news,
                                   blis_error *error) {
  blis__regions *regions = ud;
  blis__region_path *path = path_of(news->request);
  uint32_t here = current_of(path);
  uint64_t able = 0;
  BLIS_TRY_MEM(find_candidates(cluster, news->request, &able), error);
  bool is_able = (able >> here & 1) != 0;
  /* The region is full with this request: the others in it decide. */
  regions->all[here].in_flight--;
  uint64_t full = full_ones(regions);
  regions->all[here].in_flight++;
  uint64_t others = able & regions->given.items[path->origin].may_serve_in;
  others &= ~(UINT64_C(1) << here);
  if (is_able && (full >> here & 1) == 0) {
    return BLIS_OK;
  }
  if (is_able || (others & ~full) != 0) {
    others &= ~full;
  }
  if (others != 0 && path->hops < regions->given.max_hops) {
    uint32_t to;
    *news->is_taken = true;
    BLIS_TRY(blis__region_choose(cluster, news->request, others, here, &to, error));
    return forward(cluster, news->request, to, error);
  }
  if (!is_able && able != 0) {
    bool may_be_served = (able & regions->given.items[path->origin].may_serve_in) != 0;
    *news->refusal = may_be_served ? "no-instance" : "no-resident";
  }
  return BLIS_OK;
}

/* Shows the policy only the instances of the request's region. */
static blis_status on_routing(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  blis__regions *regions = ud;
  const blis_routing_view *view = *news->view;
  const blis__cluster_request *request = blis_pool_item(&cluster->requests.pool, news->shown->slot);
  uint32_t here = current_of(path_of(request));
  BLIS_TRY_MEM(blis_array_reserve(&cluster->alloc, &regions->keep, view->count), error);
  size_t kept = 0;
  for (size_t k = 0; k < view->count; k++) {
    regions->keep.items[k] = region_of(cluster, view->instances[k]) == here;
    kept += regions->keep.items[k];
  }
  if (kept == 0 || kept == view->count) {
    return BLIS_OK; /* a script has pinned the request to an instance, or there is one region */
  }
  blis__narrowed_begin(&regions->narrowed, view);
  BLIS_TRY_MEM(blis__narrowed_keep(&regions->narrowed, regions->keep.items), error);
  *news->view = blis__narrowed_view(&regions->narrowed);
  return BLIS_OK;
}

/* Ends. */

static int64_t bytes_of_output(const blis__regions *regions, const blis_request_end *end) {
  int64_t tokens = end->ttft_us >= 0 ? end->itl_count + 1 : 0;
  return (int64_t)(regions->given.bytes_per_output_token * (double)tokens);
}

/* Bills the response, and returns the time that each of its tokens takes to the client. */
static int64_t send_back(blis__regions *regions, const blis__region_path *path, int64_t bytes) {
  int64_t back_us = 0;
  for (uint32_t i = path->hops + 1; i-- > 0;) {
    uint32_t from = path->stops[i];
    uint32_t to = i > 0 ? path->stops[i - 1] : path->origin;
    int64_t rtt_us = blis__region_rtt_us(regions, from, to);
    back_us += rtt_us - rtt_us / 2;
    regions->all[from].counts.egress_bytes += from != to ? bytes : 0;
  }
  return back_us;
}

static blis_status add_time(const blis__regions *regions, blis_sketch *sketches, uint32_t origin,
                            int64_t time_us) {
  BLIS_TRY(blis_sketch_add(&sketches[origin], time_us));
  return blis_sketch_add(&sketches[regions->given.count], time_us);
}

static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)cluster;
  blis__regions *regions = ud;
  blis_request_end *end = news->end;
  const blis__region_path *path = path_of(news->request);
  int64_t back_us = send_back(regions, path, bytes_of_output(regions, end));
  blis_record_extras_set(end->extras, BLIS_EXTRA_client_region, regions->all[path->origin].name);
  blis_record_extras_set(end->extras, BLIS_EXTRA_region, regions->all[current_of(path)].name);
  blis_record_extras_set(end->extras, BLIS_EXTRA_forwards, path->hops);
  end->return_us = back_us;
  bool is_complete = blis_request_is_completed(end->state);
  if (end->ttft_us >= 0) {
    int64_t ttft_us = path->inbound_us + end->ttft_us + back_us;
    blis_record_extras_set(end->extras, BLIS_EXTRA_client_ttft_us, ttft_us);
    if (is_complete) {
      BLIS_TRY_MEM(add_time(regions, regions->ttft_us, path->origin, ttft_us), error);
    }
  }
  if (is_complete) {
    int64_t e2e_us = path->inbound_us + end->e2e_us + back_us;
    blis_record_extras_set(end->extras, BLIS_EXTRA_client_e2e_us, e2e_us);
    BLIS_TRY_MEM(add_time(regions, regions->e2e_us, path->origin, e2e_us), error);
    regions->all[current_of(path)].counts.served++;
  }
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster, (void)error;
  blis__regions *regions = ud;
  blis__region_path *path = path_of(news->request);
  blis__region *r = &regions->all[current_of(path)];
  BLIS_ASSERT(r->in_flight > 0);
  r->in_flight--;
  blis_pool_give(&regions->paths, path->slot);
  news->request->parts[BLIS__PART_REGIONS] = NULL;
  return BLIS_OK;
}

/* Instances. */

static void note_service(blis_cluster *cluster, uint32_t instance, int64_t now_us) {
  blis__regions *regions = blis__regions_of(cluster);
  uint32_t region = region_of(cluster, instance);
  bool serves = cluster->services[instance] == BLIS_SERVICE_ACTIVE;
  if (serves == regions->serves[instance]) {
    return;
  }
  regions->serves[instance] = serves;
  regions->all[region].serving += serves ? 1 : -1;
  if (serves && regions->all[region].serving == 1) {
    blis__region_came_up(regions, region, now_us);
  } else if (regions->all[region].serving == 0) {
    blis__region_went_down(regions, region, now_us);
  }
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)ud, (void)error;
  note_service(cluster, news->instance, cluster->now_us);
  return BLIS_OK;
}

/* Counts the instances in service, and averages the costs of all instances. */
static void survey(blis_cluster *cluster) {
  blis__regions *regions = blis__regions_of(cluster);
  for (uint32_t r = 0; r < regions->given.count; r++) {
    double sum = 0;
    int64_t count = 0;
    for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
      bool is_inside = region_of(cluster, i) == r;
      sum += is_inside ? cluster->facts[i].cost_per_hour : 0;
      count += is_inside;
    }
    regions->all[r].cost_per_hour = count > 0 ? sum / (double)count : 0;
  }
  for (uint32_t i = 0; i < cluster->existing; i++) {
    note_service(cluster, i, 0);
  }
  for (uint32_t r = 0; r < regions->given.count; r++) {
    regions->all[r].up_seen_us = 0;
  }
}

/* Construction. */

static void *copy_of(blis_cluster *cluster, const void *from, size_t size) {
  void *copy = blis_arena_new(&cluster->texts, size);
  if (copy != NULL) {
    memcpy(copy, from, size);
  }
  return copy;
}

/* Copies the arrays of the options into the arena of the cluster. */
static blis_status copy_options(blis_cluster *cluster, const blis_regions *given) {
  blis__regions *regions = blis__regions_of(cluster);
  uint32_t groups = 0;
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    groups = cluster->facts[i].group >= groups ? cluster->facts[i].group + 1 : groups;
  }
  size_t count = given->count;
  regions->given = *given;
  blis_region *items = copy_of(cluster, given->items, count * sizeof *items);
  regions->given.items = items;
  regions->given.rtt_us = copy_of(cluster, given->rtt_us, count * count * sizeof *given->rtt_us);
  regions->given.of_group = copy_of(cluster, given->of_group, groups * sizeof *given->of_group);
  if (items == NULL || regions->given.rtt_us == NULL || regions->given.of_group == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t r = 0; r < count; r++) {
    items[r].name = blis_arena_text(&cluster->texts, items[r].name, strlen(items[r].name));
    if (items[r].name == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  return BLIS_OK;
}

static blis_status allocate(blis_cluster *cluster) {
  blis__regions *regions = blis__regions_of(cluster);
  const blis_alloc *alloc = &cluster->alloc;
  size_t count = regions->given.count;
  regions->all = blis_alloc_zeroed(alloc, count, sizeof *regions->all);
  regions->serves = blis_alloc_zeroed(alloc, cluster->config.instance_count, sizeof(bool));
  regions->ttft_us = blis_alloc_zeroed(alloc, count + 1, sizeof *regions->ttft_us);
  regions->e2e_us = blis_alloc_zeroed(alloc, count + 1, sizeof *regions->e2e_us);
  if (regions->all == NULL || regions->serves == NULL || regions->ttft_us == NULL ||
      regions->e2e_us == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t r = 0; r <= count; r++) {
    blis_sketch_init(&regions->ttft_us[r], alloc);
    blis_sketch_init(&regions->e2e_us[r], alloc);
  }
  for (size_t r = 0; r < count; r++) {
    const char *name = regions->given.items[r].name;
    BLIS_TRY(blis_intern_add(cluster->source->strings, name, strlen(name), &regions->all[r].name));
  }
  return BLIS_OK;
}

/* Returns whether decisions depend on the ends of requests. */
static bool reads_load(const blis_regions *given) {
  return given->spill_above > 0 || given->rule == BLIS_REGIONS_FUNCTION;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  const blis_regions *given = cluster->config.options[BLIS_FEATURE_REGIONS];
  if (given == NULL || given->count == 0) {
    return BLIS_OK;
  }
  blis__regions *regions = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *regions);
  BLIS_TRY_NEW(regions, error);
  cluster->features[BLIS_FEATURE_REGIONS] = regions;
  blis_pool_init(&regions->paths, &cluster->alloc, sizeof(blis__region_path));
  blis_map_init(&regions->homes, &cluster->alloc);
  regions->narrowed.alloc = cluster->alloc;
  BLIS_TRY_MEM(copy_options(cluster, given), error);
  BLIS_TRY_MEM(allocate(cluster), error);
  survey(cluster);
  const blis__listener listener = {.ud = regions,
                                   .phase = BLIS__BOOKS,
                                   .need =
                                       reads_load(given) ? BLIS__NEEDS_ORDER : BLIS__NEEDS_NOTHING,
                                   .on = {[BLIS__ARRIVED] = on_arrived,
                                          [BLIS__TO_BE_ROUTED] = on_to_be_routed,
                                          [BLIS__ROUTING] = on_routing,
                                          [BLIS__REPORTING] = on_reporting,
                                          [BLIS__ENDED] = on_ended,
                                          [BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_sketches(const blis_cluster *cluster, blis_sketch *sketches, size_t count) {
  for (size_t r = 0; sketches != NULL && r < count; r++) {
    blis_sketch_deinit(&sketches[r]);
  }
  blis_alloc_free(&cluster->alloc, sketches, count * sizeof *sketches);
}

static void free_regions(blis_cluster *cluster) {
  blis__regions *regions = blis__regions_of(cluster);
  if (regions == NULL) {
    return;
  }
  size_t count = regions->given.count;
  free_sketches(cluster, regions->ttft_us, count + 1);
  free_sketches(cluster, regions->e2e_us, count + 1);
  blis_alloc_free(&cluster->alloc, regions->all, count * sizeof *regions->all);
  blis_alloc_free(&cluster->alloc, regions->serves,
                  cluster->config.instance_count * sizeof *regions->serves);
  blis_array_deinit(&cluster->alloc, &regions->keep);
  blis__narrowed_deinit(&regions->narrowed);
  blis_map_deinit(&regions->homes);
  blis_pool_deinit(&regions->paths);
  blis_alloc_free(&cluster->alloc, regions, sizeof *regions);
}

/* Results. */

uint32_t blis_cluster_region_count(const blis_cluster *cluster) {
  return blis__regions_of(cluster) == NULL ? 0 : blis__regions_of(cluster)->given.count;
}

const char *blis_cluster_region_name(const blis_cluster *cluster, uint32_t region) {
  return blis__regions_of(cluster)->given.items[region].name;
}

blis_region_counts blis_cluster_region_counts(const blis_cluster *cluster, uint32_t region) {
  return blis__regions_of(cluster)->all[region].counts;
}

double blis_cluster_region_egress_price(const blis_cluster *cluster, uint32_t region) {
  return blis__regions_of(cluster)->given.items[region].egress_usd_per_gb;
}

const blis_sketch *blis_cluster_region_client_ttft(const blis_cluster *cluster, uint32_t region) {
  return &blis__regions_of(cluster)->ttft_us[region];
}

const blis_sketch *blis_cluster_region_client_e2e(const blis_cluster *cluster, uint32_t region) {
  return &blis__regions_of(cluster)->e2e_us[region];
}

const blis__feature blis__regions_feature = {
    .slot = BLIS_FEATURE_REGIONS,
    .name = "regions",
    .start = start,
    .free = free_regions,
};
