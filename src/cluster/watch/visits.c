/* visits.c - reports visits, preemptions, and states of instances to config.visits. */
#include "base/invariant.h"
#include "base/minmax.h"
#include "cluster/feature.h"

/* OUT -> THERE -> LEFT -> OUT: a visit is reported when the next step of its request is
   determined. */
typedef enum visit_state {
  OUT,   /* on no instance; all visits are reported */
  THERE, /* on an instance */
  LEFT   /* the visit has ended; the reason is not determined yet */
} visit_state;

/* The current visit of a request, indexed by the slot of its record. */
typedef struct watched {
  blis_visit visit;
  blis_preempted preempted;
  visit_state state;
  bool is_preempted; /* a preemption is in progress */
  bool is_leg;       /* the prefill of a hand-off */
  bool brings_times; /* its record includes the times of the prefill */
  uint32_t count;    /* visits of the request so far */
} watched;

struct blis__visits {
  blis_visit_sink sink;
  /* The previous callbacks of instances. */
  void (*queued)(void *ud, blis_live_request *request, int64_t now_us);
  blis_status (*ended)(void *ud, blis_live_request *request, int64_t now_us, int64_t end_us,
                       blis_error *error);
  BLIS_ARRAY(watched) slots;
  uint8_t *told; /* the reported state of each instance, plus 1 */
  uint32_t instance_count;
};

static struct blis__visits *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_VISITS);
}

const char *blis_visit_end_name(blis_visit_end end) {
  static const char *const names[] = {
#define XX(constant, name) name,
      BLIS_VISIT_END_MAP(XX)
#undef XX
  };
  return names[end];
}

static watched *watched_of(const blis_cluster *cluster, const blis_live_request *live) {
  struct blis__visits *visits = state_of(cluster);
  return live->slot < visits->slots.count ? &visits->slots.items[live->slot] : NULL;
}

static bool is_in(const watched *w, visit_state state) {
  return w != NULL && w->state == state;
}

static void enter(watched *w, visit_state state) {
  BLIS_ASSERT(state == (w->state + 1) % (LEFT + 1));
  w->state = state;
}

static blis_status make_slot(blis_cluster *cluster, uint32_t slot) {
  struct blis__visits *visits = state_of(cluster);
  while (visits->slots.count <= slot) {
    const watched none = {0};
    BLIS_TRY(blis_array_push(&cluster->alloc, &visits->slots, none));
  }
  return BLIS_OK;
}

/* The request has entered the wait queue. */
static void on_queued(void *ud, blis_live_request *live, int64_t now_us) {
  const blis_cluster *cluster = ud;
  watched *w = watched_of(cluster, live);
  BLIS_ASSERT(is_in(w, THERE));
  w->visit.queued_us = now_us;
  state_of(cluster)->queued(ud, live, now_us);
}

/* Preemptions. */

static blis_status tell_preempted(const blis_cluster *cluster, watched *w, blis_error *error) {
  if (!w->is_preempted) {
    return BLIS_OK;
  }
  const blis_visit_sink *sink = &state_of(cluster)->sink;
  w->is_preempted = false;
  return sink->preempted(sink->ud, &w->preempted, error);
}

/* Stores the times of a visit. In profile go-blis, the record contains the times since the last
   preemption, which restarts the request. */
static void note_times(watched *w, const blis_live_request *live) {
  int64_t token_us = live->has_first_token ? live->arrival_us + live->ttft_us : -1;
  if (w->visit.admitted_us < 0 && !w->brings_times && live->scheduling_delay_us >= 0) {
    w->visit.admitted_us = live->arrival_us + live->scheduling_delay_us;
  }
  if (w->visit.first_us < 0) {
    w->visit.first_us = token_us;
  } else if (w->is_preempted && w->preempted.recomputed_us < 0 && w->preempted.resumed_us >= 0 &&
             token_us > w->preempted.resumed_us) {
    w->preempted.recomputed_us = token_us;
  }
}

static void on_preempted(void *ud, blis_live_request *live, int64_t now_us) {
  blis_cluster *cluster = ud;
  watched *w = watched_of(cluster, live);
  BLIS_ASSERT(is_in(w, THERE));
  note_times(w, live);
  blis_error error = {0};
  blis_status status = tell_preempted(cluster, w, &error);
  if (status != BLIS_OK && cluster->event_error.status == BLIS_OK) {
    cluster->event_error = error;
    cluster->event_error.status = status;
  }
  w->visit.preemptions++;
  w->is_preempted = true;
  w->preempted = (blis_preempted){.request = w->visit.request,
                                  .instance = w->visit.instance,
                                  .visit = w->visit.number,
                                  .time_us = now_us,
                                  .resumed_us = -1,
                                  .recomputed_us = -1};
}

static void on_readmitted(void *ud, blis_live_request *live, int64_t now_us) {
  const blis_cluster *cluster = ud;
  watched *w = watched_of(cluster, live);
  BLIS_ASSERT(is_in(w, THERE));
  if (w->is_preempted) {
    BLIS_ASSERT(w->preempted.resumed_us < 0);
    w->preempted.resumed_us = now_us;
  } else if (w->visit.admitted_us < 0) {
    w->visit.admitted_us = now_us;
  }
}

static void on_recomputed(void *ud, blis_live_request *live, int64_t end_us) {
  const blis_cluster *cluster = ud;
  watched *w = watched_of(cluster, live);
  BLIS_ASSERT(is_in(w, THERE));
  if (w->is_preempted) {
    w->preempted.recomputed_us = end_us;
  }
}

/* Visits. */

static blis_status tell_visit(const blis_cluster *cluster, watched *w, blis_visit_end end,
                              blis_error *error) {
  const blis_visit_sink *sink = &state_of(cluster)->sink;
  enter(w, OUT);
  w->visit.end = (uint8_t)end;
  return sink->visit(sink->ud, &w->visit, error);
}

/* Ends a visit. Its outcome is reported later. */
static blis_status leave(const blis_cluster *cluster, watched *w, const blis_live_request *live,
                         int64_t left_us, int64_t to_us, blis_error *error) {
  BLIS_ASSERT(left_us >= w->visit.from_us && to_us >= left_us);
  note_times(w, live);
  /* The step that would have recomputed the KV may have been lost. */
  if (w->is_preempted && w->preempted.recomputed_us > left_us) {
    w->preempted.recomputed_us = -1;
  }
  enter(w, LEFT);
  w->visit.left_us = left_us;
  w->visit.to_us = to_us;
  w->visit.service = (uint8_t)cluster->services[w->visit.instance];
  return tell_preempted(cluster, w, error);
}

static blis_visit_end end_of(blis_request_state state) {
  switch (state) {
  case BLIS_REQUEST_COMPLETED:
    return BLIS_VISIT_COMPLETED;
  case BLIS_REQUEST_LENGTH_CAPPED:
    return BLIS_VISIT_LENGTH_CAPPED;
  case BLIS_REQUEST_TIMED_OUT:
    return BLIS_VISIT_TIMED_OUT;
  case BLIS_REQUEST_UNSERVABLE:
    return BLIS_VISIT_UNSERVABLE;
  case BLIS_REQUEST_REJECTED:
    return BLIS_VISIT_REJECTED;
  case BLIS_REQUEST_FAILED:
    return BLIS_VISIT_FAILED;
  default:
    return BLIS_VISIT_UNFINISHED;
  }
}

static blis_status on_ended(void *ud, blis_live_request *live, int64_t now_us, int64_t end_us,
                            blis_error *error) {
  blis_cluster *cluster = ud;
  watched *w = watched_of(cluster, live);
  BLIS_ASSERT(is_in(w, THERE));
  const blis_instance *instance = cluster->instances[w->visit.instance];
  /* Without this rule, the last step is about to begin. */
  bool is_out = blis_instance_get_config(instance)->rules.leaves_at_step_end;
  bool is_handed_off = w->is_leg && live->state == BLIS_REQUEST_COMPLETED;
  BLIS_TRY(leave(cluster, w, live, is_out || is_handed_off ? now_us : end_us,
                 is_handed_off ? now_us : end_us, error));
  BLIS_TRY(
      tell_visit(cluster, w, is_handed_off ? BLIS_VISIT_PREFILLED : end_of(live->state), error));
  return state_of(cluster)->ended(ud, live, now_us, end_us, error);
}

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  (void)ud;
  const blis__cluster_request *request = news->request;
  const blis_live_request *live = &request->live;
  const blis_kv_arrival *arrival = news->arrival;
  BLIS_TRY_MEM(make_slot(cluster, live->slot), error);
  watched *w = watched_of(cluster, live);
  if (w->state == LEFT) {
    BLIS_TRY(tell_visit(cluster, w, BLIS_VISIT_RECOMPUTED, error));
  }
  BLIS_ASSERT(w->state == OUT);
  bool is_leg = request->other != NULL;
  bool is_prefilled = arrival != NULL && arrival->tokens == live->prompt_tokens;
  *w = (watched){.visit = {.request = blis_request_name_of(live),
                           .instance = news->instance,
                           .number = w->count + 1,
                           .from_us = cluster->now_us,
                           .queued_us = -1,
                           .admitted_us = -1,
                           .first_us = is_prefilled ? cluster->now_us : -1},
                 .state = THERE,
                 .is_leg = is_leg,
                 .brings_times = arrival != NULL && arrival->scheduling_delay_us >= 0,
                 .count = w->count + 1};
  return BLIS_OK;
}

/* Handles a request that leaves its instance. If it ended there, its visit has already ended. */
static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud;
  const blis__cluster_request *request = news->request;
  watched *w = watched_of(cluster, &request->live);
  if (!is_in(w, THERE)) {
    return BLIS_OK;
  }
  return leave(cluster, w, blis__live_of(news->request), cluster->now_us, cluster->now_us, error);
}

static blis_status on_sent_again(void *ud, blis_cluster *cluster, const blis__news *news,
                                 blis_error *error) {
  (void)ud;
  watched *w = watched_of(cluster, &news->request->live);
  if (!is_in(w, LEFT)) {
    return BLIS_OK;
  }
  return tell_visit(cluster, w,
                    news->loss.kind == BLIS_LOSS_RETRIED ? BLIS_VISIT_RETRIED : BLIS_VISIT_REROUTED,
                    error);
}

static blis_status on_over(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)ud;
  watched *w = watched_of(cluster, &news->request->live);
  return !is_in(w, LEFT) ? BLIS_OK
                         : tell_visit(cluster, w, end_of(news->request->live.state), error);
}

/*
 * Reports the last visit of a request, also for requests that are unfinished at the end of the run.
 */
static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud;
  watched *w = watched_of(cluster, &news->request->live);
  if (w == NULL) {
    return BLIS_OK;
  }
  if (w->state == THERE) {
    BLIS_TRY(on_left(ud, cluster, news, error));
  }
  if (w->state == LEFT) {
    BLIS_TRY(tell_visit(cluster, w, end_of(news->request->live.state), error));
  }
  w->count = 0;
  return BLIS_OK;
}

/* States. */

static blis_status tell_service(const blis_cluster *cluster, uint32_t index, blis_service service,
                                blis_error *error) {
  uint8_t *told = &state_of(cluster)->told[index];
  if (*told == service + 1) {
    return BLIS_OK; /* only its billing changed, or the event is repeated */
  }
  *told = (uint8_t)(service + 1);
  const blis_visit_sink *sink = &state_of(cluster)->sink;
  const blis_service_change change = {
      .time_us = cluster->now_us, .instance = index, .service = (uint8_t)service};
  return sink->service(sink->ud, &change, error);
}

static blis_status on_start_failed(void *ud, blis_cluster *cluster, const blis__news *news,
                                   blis_error *error) {
  (void)ud;
  return tell_service(cluster, news->instance, BLIS_SERVICE_FAILED, error);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)ud;
  return tell_service(cluster, news->instance, cluster->services[news->instance], error);
}

/* Construction and destruction. */

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_visit_sink *sink = cluster->config.visits;
  if (sink == NULL) {
    return BLIS_OK;
  }
  cluster->features[BLIS_FEATURE_VISITS] =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *state_of(cluster));
  BLIS_TRY_NEW(state_of(cluster), error);
  struct blis__visits *visits = state_of(cluster);
  visits->sink = *sink;
  visits->instance_count = cluster->config.instance_count;
  visits->told = blis_alloc_zeroed(&cluster->alloc, visits->instance_count, sizeof *visits->told);
  BLIS_TRY_NEW(visits->told, error);
  return BLIS_OK;
}

static void free_visits(blis_cluster *cluster) {
  struct blis__visits *visits = state_of(cluster);
  if (visits != NULL) {
    blis_array_deinit(&cluster->alloc, &visits->slots);
    blis_alloc_free(&cluster->alloc, visits->told, visits->instance_count * sizeof *visits->told);
    blis_alloc_free(&cluster->alloc, visits, sizeof *visits);
  }
}

static void watch(blis_cluster *cluster, blis_instance_events *events) {
  if (state_of(cluster) == NULL) {
    return;
  }
  state_of(cluster)->queued = events->queued;
  state_of(cluster)->ended = events->ended;
  events->queued = on_queued;
  events->ended = on_ended;
  events->preempted = on_preempted;
  events->readmitted = on_readmitted;
  events->recomputed = on_recomputed;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster) == NULL) {
    return BLIS_OK;
  }
  const blis__listener listener = {.phase = BLIS__BOOKS,
                                   .on = {[BLIS__JOINED] = on_joined,
                                          [BLIS__LEFT] = on_left,
                                          [BLIS__SENT_AGAIN] = on_sent_again,
                                          [BLIS__OVER] = on_over,
                                          [BLIS__REPORTING] = on_reporting,
                                          [BLIS__STATE_ENTERED] = on_service_changed,
                                          [BLIS__START_FAILED] = on_start_failed,
                                          [BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  for (uint32_t i = 0; i < cluster->existing; i++) {
    BLIS_TRY(tell_service(cluster, i, cluster->services[i], error));
  }
  return BLIS_OK;
}

const blis__feature blis__visits_feature = {
    .slot = BLIS_FEATURE_VISITS,
    .name = "visits",
    .prepare = prepare,
    .watch = watch,
    .start = start,
    .free = free_visits,
};
