/* ending.c - the end of a request: reports from instances, and notification of listeners. */
#include "cluster/ending.h"

#include <math.h>

#include "base/invariant.h"
#include "cluster/clock.h"

/* Reports of instances. */

static void forget_pending(blis_cluster *cluster, blis__cluster_request *request) {
  if (request->is_pending) {
    request->is_pending = false;
    blis__snapshot_add_pending(&cluster->snapshot, (uint32_t)request->instance, -1);
  }
}

static void queued(blis_cluster *cluster, blis_live_request *live) {
  blis__cluster_request *request = blis__request_of(live);
  BLIS_ASSERT(live->state == BLIS_REQUEST_QUEUED && (request->is_pending || request->kv_came));
  forget_pending(cluster, request);
}

static void first_token(blis_cluster *cluster, blis_live_request *live) {
  blis__cluster_request *request = blis__request_of(live);
  BLIS_ASSERT(request->place == BLIS__AT_INSTANCE && live->ttft_us >= 0);
  blis_error *error = &cluster->event_error;
  if (error->status == BLIS_OK && !request->kv_came) {
    error->status = BLIS__TELL(cluster, BLIS__PREFILLED, error, .request = request,
                               .instance = (uint32_t)request->instance);
  }
  if (error->status == BLIS_OK) {
    error->status = BLIS__TELL(cluster, BLIS__FIRST_TOKEN, error, .request = request);
  }
}

/* Attempts of features have their own callbacks. */
#define HAS_OWN(live, event)                                                                       \
  (blis__attempt_of(live)->events != NULL && blis__attempt_of(live)->events->event != NULL)

static void on_queued(void *ud, blis_live_request *live, int64_t now_us) {
  if (HAS_OWN(live, queued)) {
    blis__attempt_of(live)->events->queued(ud, live, now_us);
  } else {
    queued(ud, live);
  }
}

static void on_first_token(void *ud, blis_live_request *live, int64_t now_us) {
  if (HAS_OWN(live, first_token)) {
    blis__attempt_of(live)->events->first_token(ud, live, now_us);
  } else {
    first_token(ud, live);
  }
}

/* Only attempts of features hold their KV. */
static blis_status on_computing(void *ud, blis_live_request *live, const blis_prefill_step *step,
                                blis_error *error) {
  BLIS_ASSERT(HAS_OWN(live, computing));
  return blis__attempt_of(live)->events->computing(ud, live, step, error);
}

static blis_status on_token(void *ud, const blis_live_request *live, int64_t number,
                            blis_error *error) {
  blis_cluster *cluster = ud;
  return BLIS__TELL(cluster, BLIS__TOKEN, error,
                    .request = blis__request_table_of(&cluster->requests, live),
                    .instance = cluster->running, .count = number);
}

static blis_status on_batch(void *ud, int64_t count, blis_error *error) {
  blis_cluster *cluster = ud;
  return BLIS__TELL(cluster, BLIS__BATCH_FORMED, error, .instance = cluster->running,
                    .count = count);
}

static blis_status on_step(void *ud, const blis_step_report *report, blis_error *error) {
  blis_cluster *cluster = ud;
  return cluster->steps.step(cluster->steps.ud, cluster->running, report, error);
}

void blis__choose_step_events(const blis_cluster *cluster, blis_instance_events *events) {
  uint32_t kinds = cluster->run_listener.kinds;
  if ((kinds & BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_TOKEN_GENERATED)) != 0) {
    events->token = on_token;
  }
  if ((kinds & BLIS_RUN_EVENT_BIT(BLIS_RUN_EVENT_BATCH_SCHEDULE)) != 0) {
    events->batch = on_batch;
  }
  if (cluster->steps.step != NULL) {
    events->step = on_step;
  }
}

blis_status blis__cluster_leave_instance(blis_cluster *cluster, blis__cluster_request *request,
                                         int64_t at_us, blis_error *error) {
  BLIS_ASSERT(request->place == BLIS__AT_INSTANCE);
  forget_pending(cluster, request);
  blis__snapshot_add_in_flight(&cluster->snapshot, (uint32_t)request->instance, -1);
  return BLIS__TELL(cluster, BLIS__LEFT, error, .request = request, .end_us = at_us);
}

blis_status blis__cluster_take_away(blis_cluster *cluster, blis__cluster_request *request,
                                    blis_error *error) {
  uint32_t number = (uint32_t)request->instance;
  blis_instance *instance = cluster->instances[number];
  blis_error cause = {0};
  blis_status status = blis_instance_evict(instance, &request->live, cluster->now_us, &cause);
  if (status != BLIS_OK) {
    return blis_fail(error, status, "%s: %s", cluster->ids[number], cause.message);
  }
  blis__snapshot_instance_changed(&cluster->snapshot, number);
  blis__cluster_note_next(cluster, number);
  return blis__cluster_leave_instance(cluster, request, cluster->now_us, error);
}

static blis_status on_completed(void *ud, const blis_live_request *live, int64_t end_us,
                                bool *counts_itl, blis_error *error) {
  blis_cluster *cluster = ud;
  *counts_itl = true;
  if (HAS_OWN(live, completed)) {
    return blis__attempt_of(live)->events->completed(ud, live, end_us, counts_itl, error);
  }
  return BLIS__TELL(cluster, BLIS__COMPLETED, error, .request = blis__request_of(live),
                    .end_us = end_us, .counts_itl = counts_itl);
}

blis_status blis__cluster_end_at_instance(blis_cluster *cluster, blis__cluster_request *request,
                                          int64_t end_us, blis_error *error) {
  BLIS_ASSERT(request->live.state >= BLIS_REQUEST_COMPLETED);
  BLIS_TRY(blis__cluster_leave_instance(cluster, request, end_us, error));
  return blis__cluster_end(cluster, request, end_us, request->live.rejection, error);
}

static blis_status on_ended(void *ud, blis_live_request *live, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  BLIS_ASSERT(end_us >= now_us && live->state >= BLIS_REQUEST_COMPLETED);
  return HAS_OWN(live, ended)
             ? blis__attempt_of(live)->events->ended(ud, live, now_us, end_us, error)
             : blis__cluster_end_at_instance(ud, blis__request_of(live), end_us, error);
}

const blis_instance_events blis__cluster_instance_events = {
    .queued = on_queued,
    .first_token = on_first_token,
    .computing = on_computing,
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
    BLIS_ASSERT(state == BLIS_REQUEST_COMPLETED || state == BLIS_REQUEST_LENGTH_CAPPED);
    counts->completed++;
  }
}

static void count_dropped(blis__dropped_counts *dropped, blis_request_state state) {
  dropped->completed += state == BLIS_REQUEST_COMPLETED || state == BLIS_REQUEST_LENGTH_CAPPED;
  dropped->unservable += state == BLIS_REQUEST_UNSERVABLE;
}

blis_status blis__cluster_end(blis_cluster *cluster, blis__cluster_request *request, int64_t end_us,
                              const char *reason, blis_error *error) {
  blis_request_state state = request->live.state;
  BLIS_ASSERT(state >= BLIS_REQUEST_COMPLETED && end_us >= cluster->now_us);
  bool goes_on = false;
  BLIS_TRY(BLIS__TELL(cluster, BLIS__OVER, error, .request = request, .end_us = end_us,
                      .reason = reason, .goes_on = &goes_on));
  if (goes_on) {
    BLIS_ASSERT(request->live.state == BLIS_REQUEST_ARRIVED);
    count_dropped(&cluster->dropped, state);
    return BLIS_OK;
  }
  count_end(&cluster->counts, state);
  return blis__cluster_report(cluster, request, end_us, reason, error);
}

static void forget(blis_cluster *cluster, blis__cluster_request *request) {
  const blis_request_source *source = cluster->source;
  blis_block_namer_release(cluster->namer, &request->live.chain);
  if (source->release != NULL) {
    source->release(source->state, &request->request);
  }
  blis__request_table_remove(&cluster->requests, request);
  cluster->counts.in_flight--;
  BLIS_ASSERT(cluster->counts.in_flight >= 0);
}

void blis__end_add_drawn(const blis_cluster *cluster, blis_request_end *end,
                         const blis_drawn *drawn) {
  const blis_facility_carbon *carbon = &cluster->config.carbon;
  int64_t nj = blis_record_extras_get(end->extras, BLIS_EXTRA_energy_j);
  int64_t pg = blis_record_extras_get(end->extras, BLIS_EXTRA_carbon_g);
  if (nj >= 0) {
    blis_record_extras_set(end->extras, BLIS_EXTRA_energy_j, nj + (int64_t)drawn->nj);
  }
  if (pg >= 0) {
    double more = (double)drawn->nj * carbon->pg_per_nj + (double)drawn->carbon_pg * carbon->factor;
    blis_record_extras_set(end->extras, BLIS_EXTRA_carbon_g, pg + (int64_t)fmin(more + 0.5, 4e18));
  }
}

static void set_extras(const blis_cluster *cluster, const blis__cluster_request *request,
                       blis_request_end *end) {
  const blis_live_request *live = &request->live;
  blis_record_extras *extras = end->extras;
  if (live->may_draft) {
    blis_record_extras_set(extras, BLIS_EXTRA_drafted_tokens, live->drafted_tokens);
    blis_record_extras_set(extras, BLIS_EXTRA_accepted_tokens, live->accepted_tokens);
  }
  if (live->frontend_us > 0) {
    blis_record_extras_set(extras, BLIS_EXTRA_frontend_us, live->frontend_us);
  }
  if (cluster->has_power) {
    blis_record_extras_set(extras, BLIS_EXTRA_energy_j, 0);
    if (cluster->config.carbon.is_known) {
      blis_record_extras_set(extras, BLIS_EXTRA_carbon_g, 0);
    }
    blis__end_add_drawn(cluster, end, &live->drawn);
  }
}

blis_status blis__cluster_report(blis_cluster *cluster, blis__cluster_request *request,
                                 int64_t end_us, const char *reason, blis_error *error) {
  const blis_live_request *live = &request->live;
  blis__request_move(request, BLIS__AT_END);
  blis_record_extras extras;
  extras.set = 0;
  blis_request_end end = {
      .request = &request->request,
      .state = live->state,
      .instance = request->instance,
      .reason = reason,
      .was_counted = live->was_counted,
      .had_hit = live->had_hit,
      .cached_tokens = live->cached_tokens,
      .ttft_us = live->ttft_us,
      .e2e_us = live->e2e_us,
      .scheduling_delay_us = live->scheduling_delay_us,
      .itl_sum_us = live->itl_sum_us,
      .itl_count = live->itl_count,
      .end_us = end_us,
      .extras = &extras,
      .priority = live->priority,
  };
  set_extras(cluster, request, &end);
  if (end_us > cluster->last_end_us) {
    cluster->last_end_us = end_us;
  }
  BLIS_TRY(BLIS__TELL(cluster, BLIS__REPORTING, error, .request = request, .end = &end));
  blis_status status = cluster->sink->ended(cluster->sink->ud, &end, error);
  if (status == BLIS_OK) {
    status = BLIS__TELL(cluster, BLIS__ENDED, error, .request = request, .end = &end);
  }
  forget(cluster, request);
  return status;
}
