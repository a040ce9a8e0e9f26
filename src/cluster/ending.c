/*
 * ending.c - the way of a request out: what instances report, and how an end is
 * told.
 */
#include "cluster/ending.h"
#include "base/invariant.h"

void blis__cluster_set_service(blis_cluster *cluster, uint32_t index,
                               blis_service service) {
  cluster->services[index] = service;
  blis__snapshot_put_in_service(&cluster->snapshot, index,
                                service == BLIS_SERVICE_ACTIVE);
}

void blis__cluster_check_drained(blis_cluster *cluster, uint32_t index) {
  if (cluster->services[index] == BLIS_SERVICE_DRAINING &&
      blis__snapshot_live(&cluster->snapshot, index, BLIS_SIGNAL_IN_FLIGHT) ==
          0) {
    blis__cluster_set_service(cluster, index, BLIS_SERVICE_DRAINED);
  }
}

/* What the instances report. */

static void forget_pending(blis_cluster *cluster,
                           blis__cluster_request *request) {
  if (request->is_pending) {
    request->is_pending = false;
    blis__snapshot_add_pending(&cluster->snapshot, (uint32_t)request->instance,
                               -1);
  }
}

static void forget_prefill(blis_cluster *cluster,
                           blis__cluster_request *request) {
  if (request->pending_prefill_tokens != 0) {
    blis__snapshot_add_prefill(&cluster->snapshot, (uint32_t)request->instance,
                               -request->pending_prefill_tokens);
    request->pending_prefill_tokens = 0;
  }
}

static void on_queued(void *ud, blis_live_request *live, int64_t now_us) {
  (void)now_us;
  blis_cluster *cluster = ud;
  forget_pending(cluster, blis__request_table_of(&cluster->requests, live));
}

static blis_request_times times_of(const blis_cluster *cluster,
                                   const blis_live_request *live) {
  return (blis_request_times){.now_us = cluster->now_us,
                              .ttft_us = live->ttft_us,
                              .itl_sum_us = live->itl_sum_us,
                              .itl_count = live->itl_count};
}

static void on_first_token(void *ud, blis_live_request *live, int64_t now_us) {
  (void)now_us;
  blis_cluster *cluster = ud;
  blis__cluster_request *request =
      blis__request_table_of(&cluster->requests, live);
  forget_prefill(cluster, request);
  if (cluster->router.ops->first_token != NULL) {
    const blis_request_times times = times_of(cluster, live);
    cluster->router.ops->first_token(cluster->router.state,
                                     &request->router_ticket,
                                     (uint32_t)request->instance, &times);
  }
  blis__cluster_tell_first_token(cluster, request);
}

void blis__cluster_leave_instance(blis_cluster *cluster,
                                  blis__cluster_request *request) {
  uint32_t number = (uint32_t)request->instance;
  forget_pending(cluster, request);
  forget_prefill(cluster, request);
  blis__snapshot_add_in_flight(&cluster->snapshot, number, -1);
  blis__tenant_budgets_remove(&cluster->budgets, request->request.tenant);
  if (cluster->router.ops->ended != NULL) {
    const blis_request_times times = times_of(cluster, &request->live);
    cluster->router.ops->ended(cluster->router.state, &request->router_ticket,
                               number, &times);
  }
  blis__cluster_check_drained(cluster, number);
}

void blis__cluster_end_admission(blis_cluster *cluster,
                                 blis__cluster_request *request) {
  const blis_admission *admission = &cluster->admission;
  if (admission->ops != NULL && admission->ops->ended != NULL) {
    admission->ops->ended(admission->state, &request->admission_ticket);
  }
}

static blis_status on_completed(void *ud, const blis_live_request *live,
                                int64_t end_us, bool *counts_itl,
                                blis_error *error) {
  blis_cluster *cluster = ud;
  bool is_dropped;
  BLIS_TRY(blis__cascade_look(cluster,
                              blis__request_table_of(&cluster->requests, live),
                              end_us, &is_dropped, error));
  *counts_itl = !is_dropped;
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_live_request *live, int64_t now_us,
                            int64_t end_us, blis_error *error) {
  (void)now_us;
  blis_cluster *cluster = ud;
  blis__cluster_request *request =
      blis__request_table_of(&cluster->requests, live);
  blis__cluster_leave_instance(cluster, request);
  blis__cluster_end_admission(cluster, request);
  return blis__cluster_end(cluster, request, end_us, NULL, error);
}

const blis_instance_events blis__cluster_instance_events = {
    .queued = on_queued,
    .first_token = on_first_token,
    .completed = on_completed,
    .ended = on_ended,
};

static void count_end(blis_cluster_counts *counts, blis_request_state state) {
  switch (state) {
  case BLIS_REQUEST_REJECTED:
    counts->rejected++;
    return;
  case BLIS_REQUEST_FAILED:
    counts->failed++;
    return;
  case BLIS_REQUEST_TIMED_OUT:
    counts->timed_out++;
    return;
  case BLIS_REQUEST_UNSERVABLE:
    counts->unservable++;
    return;
  default:
    BLIS_ASSERT(state == BLIS_REQUEST_COMPLETED ||
                state == BLIS_REQUEST_LENGTH_CAPPED);
    counts->completed++;
  }
}

blis_status blis__cluster_end(blis_cluster *cluster,
                              blis__cluster_request *request, int64_t end_us,
                              const char *reason, blis_error *error) {
  bool goes_on = false;
  if (request->cascade != NULL) {
    BLIS_TRY(
        blis__cascade_ended(cluster, request, end_us, reason, &goes_on, error));
  }
  if (goes_on) {
    return BLIS_OK;
  }
  count_end(&cluster->counts, request->live.state);
  return blis__cluster_report(cluster, request, end_us, reason, error);
}

blis_status blis__cluster_report(blis_cluster *cluster,
                                 blis__cluster_request *request, int64_t end_us,
                                 const char *reason, blis_error *error) {
  blis_live_request *live = &request->live;
  const blis__cascade_run *run = request->cascade;
  if (run != NULL) {
    BLIS_TRY(blis__cascade_close(cluster, request, error));
  }
  const blis_request_end end = {
      .request = &request->request,
      .state = live->state,
      .instance = request->instance,
      .reason = reason,
      .was_counted = live->was_counted,
      .ttft_us = live->ttft_us,
      .e2e_us = live->e2e_us,
      .scheduling_delay_us = live->scheduling_delay_us,
      .itl_sum_us = live->itl_sum_us,
      .itl_count = live->itl_count,
      .end_us = end_us,
      .steps = run == NULL ? 0 : run->steps,
      .attempt = run == NULL ? NULL : &run->attempt,
      .verdict = run == NULL ? BLIS_CASCADE_ACCEPT : run->verdict,
  };
  blis_status status = cluster->sink->ended(cluster->sink->ud, &end, error);
  if (status == BLIS_OK) {
    status = blis__cluster_tell_end(cluster, request, &end, error);
  }
  if (status == BLIS_OK) {
    status = blis__cluster_tell_source(cluster, request, end_us, error);
  }
  blis_block_namer_release(cluster->namer, &live->chain);
  if (run != NULL) {
    blis_pool_give(&cluster->cascades.runs, run->slot);
  }
  const blis_request_source *source = cluster->source;
  if (source->release != NULL) {
    source->release(source->state, &request->request);
  }
  blis__request_table_remove(&cluster->requests, request);
  cluster->counts.in_flight--;
  return status;
}
