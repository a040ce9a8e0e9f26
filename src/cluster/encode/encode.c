#include "cluster/encode/encode.h"

#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/core_listeners.h"
#include "cluster/ending.h"
#include "cluster/feature.h"
#include "cluster/handoff/handoff.h"
#include "cluster/handoff/handoffs.h"
#include "cluster/instances/send_again.h"
#include "cluster/service.h"
#include "cluster/stages.h"
#include "cluster/waiting_room.h"

/* A request at an encoder, or its later state. */
typedef struct blis__encoding {
  blis__cluster_request *request;
  uint32_t slot;
  uint32_t instance;
  bool is_there; /* it is on its encode instance */
  bool is_done;
  int64_t since_us;
  blis_ticket ticket;
  blis_event_handle end_event;
  blis_event_handle late_event;
  blis_stage_times times;
  struct blis__encoding *next; /* next entry of the queue */
} blis__encoding;

/* The first request of the queue is being encoded. */
typedef struct encoder {
  blis__encoding *head;
  blis__encoding *tail;
  bool hangs; /* the current request will never finish */
} encoder;

typedef struct blis__encoders {
  blis_encode_stage stage;
  blis_pool pool;
  encoder *all; /* indexed by instance */
  blis_encode_counts counts;
} blis__encoders;

static blis__encoders *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_ENCODE);
}

static blis__encoding *encoding_of(const blis__cluster_request *request) {
  return request->parts[BLIS__PART_ENCODE];
}

static int64_t modal_tokens(const blis_request *request) {
  return (int64_t)request->image_tokens + request->audio_tokens + request->video_tokens;
}

static bool needs_encoding(const blis__encoders *e, const blis__cluster_request *request) {
  bool is_done = encoding_of(request) != NULL && encoding_of(request)->is_done;
  switch (e->stage.rule) {
  case BLIS_ENCODES_ALL:
    return !is_done;
  case BLIS_ENCODES_MULTIMODAL:
    return !is_done && modal_tokens(&request->request) > 0;
  default:
    return false;
  }
}

static const blis_router *router_of(const blis_cluster *cluster) {
  const blis_encode_stage *stage = &state_of(cluster)->stage;
  if (stage->router.ops != NULL) {
    return &stage->router;
  }
  return stage->as_prefill ? &blis__handoffs_of(cluster)->policy.prefill : &cluster->router;
}

static blis_status choose(blis_cluster *cluster, blis__cluster_request *request,
                          blis_ticket *ticket, blis__choice *choice, blis_error *error) {
  const blis__stage stage = {
      .router = router_of(cluster), .ticket = ticket, .role = BLIS_ROLE_ENCODE, .peer = -1};
  return blis__cluster_choose(cluster, request, &stage, choice, error);
}

/* The queue of an encoder. */

static blis_status schedule(blis_cluster *cluster, blis__encoding *encoding, int event_class,
                            int64_t at_us, blis_error *error) {
  const blis_event event = {.time_us = blis_max_i64(at_us, cluster->now_us),
                            .event_class = event_class,
                            .object = encoding};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event,
                                     event_class == BLIS__CLUSTER_ENCODED ? &encoding->end_event
                                                                          : &encoding->late_event),
               error);
  return BLIS_OK;
}

/* Starts the first request in the queue, if any. */
static blis_status start_next(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  const blis__encoders *e = state_of(cluster);
  blis__encoding *first = e->all[instance].head;
  if (first == NULL || first->times.encode_start_us >= 0 || e->all[instance].hangs) {
    return BLIS_OK;
  }
  int64_t tokens = modal_tokens(&first->request->request);
  double us = ceil((e->stage.base_us + e->stage.us_per_token * (double)tokens) *
                   blis__slowness_of(cluster, instance));
  int64_t end_us = us < (double)BLIS_TIME_NEVER_US
                       ? blis_time_after_us(cluster->now_us, (int64_t)us)
                       : BLIS_TIME_NEVER_US;
  first->times.encode_start_us = cluster->now_us;
  return schedule(cluster, first, BLIS__CLUSTER_ENCODED, end_us, error);
}

static blis_status join(blis_cluster *cluster, blis__encoding *encoding, uint32_t instance,
                        blis_error *error) {
  encoder *queue = &state_of(cluster)->all[instance];
  int64_t deadline_us = encoding->request->live.deadline_us;
  encoding->instance = instance;
  encoding->is_there = true;
  encoding->since_us = cluster->now_us;
  encoding->next = NULL;
  encoding->times.encode_instance = (int32_t)instance;
  encoding->times.encode_start_us = -1;
  *(queue->tail != NULL ? &queue->tail->next : &queue->head) = encoding;
  queue->tail = encoding;
  blis__snapshot_add_coming(&cluster->snapshot, instance, 1);
  if (deadline_us > 0) {
    BLIS_TRY(schedule(cluster, encoding, BLIS__CLUSTER_ENCODE_LATE, deadline_us, error));
  }
  return start_next(cluster, instance, error);
}

/* Removes a request from any position in the queue. */
static blis_status leave(blis_cluster *cluster, blis__encoding *encoding, blis_error *error) {
  encoder *queue = &state_of(cluster)->all[encoding->instance];
  blis__encoding *before = NULL;
  for (blis__encoding *at = queue->head; at != encoding; at = at->next) {
    before = at;
  }
  *(before != NULL ? &before->next : &queue->head) = encoding->next;
  if (queue->tail == encoding) {
    queue->tail = before;
  }
  encoding->is_there = false;
  blis_event_queue_cancel(cluster->queue, encoding->end_event);
  blis_event_queue_cancel(cluster->queue, encoding->late_event);
  blis__snapshot_add_coming(&cluster->snapshot, encoding->instance, -1);
  BLIS_TRY(start_next(cluster, encoding->instance, error));
  return blis__check_drained(cluster, encoding->instance, error);
}

/* Request lifecycle. */

/* Creates the record of a request. A request that has lost its encoder already has one. */
static blis_status need_record(blis__encoders *e, blis__cluster_request *request) {
  uint32_t slot;
  if (encoding_of(request) != NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_pool_take(&e->pool, &slot));
  request->parts[BLIS__PART_ENCODE] = blis_pool_item(&e->pool, slot);
  *encoding_of(request) =
      (blis__encoding){.request = request, .slot = slot, .times = BLIS_STAGE_TIMES_NONE};
  return BLIS_OK;
}

/* Sends a request that needs encoding to an encoder. Afterwards, it returns to routing. */
static blis_status on_to_be_routed(void *ud, blis_cluster *cluster, const blis__news *news,
                                   blis_error *error) {
  blis__encoders *e = ud;
  blis__cluster_request *request = news->request;
  blis__choice choice;
  if (!needs_encoding(e, request)) {
    return BLIS_OK;
  }
  if (cluster->waiting_room != NULL) {
    BLIS_TRY(blis__wait_for_candidates(cluster, request, BLIS_ROLE_ENCODE, news->is_taken, error));
  }
  if (*news->is_taken) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(need_record(e, request), error);
  BLIS_TRY(choose(cluster, request, &encoding_of(request)->ticket, &choice, error));
  *news->refusal = choice.decision.rejected;
  if (choice.decision.rejected != NULL) {
    return BLIS_OK;
  }
  *news->is_taken = true;
  blis__request_move(request, BLIS__HELD_FOR_ROUTING);
  return join(cluster, encoding_of(request), choice.instance, error);
}

static blis_status is_encoded(blis_cluster *cluster, blis__encoding *encoding, blis_error *error) {
  blis_encode_counts *counts = &state_of(cluster)->counts;
  int64_t start_us = encoding->times.encode_start_us;
  counts->encoded++;
  counts->wait_us += (double)(start_us - encoding->since_us);
  counts->busy_us += (double)(cluster->now_us - start_us);
  encoding->times.encode_end_us = cluster->now_us;
  encoding->is_done = true;
  BLIS_TRY(leave(cluster, encoding, error));
  return blis__cluster_schedule(cluster, encoding->request, BLIS__CLUSTER_ROUTING, 0, error);
}

static blis_status is_late(blis_cluster *cluster, blis__encoding *encoding, blis_error *error) {
  blis__cluster_request *request = encoding->request;
  state_of(cluster)->counts.timed_out++;
  cluster->dropped.timed_out--; /* no instance has counted it */
  BLIS_TRY(leave(cluster, encoding, error));
  request->live.state = BLIS_REQUEST_TIMED_OUT;
  return blis__cluster_end(cluster, request, cluster->now_us, NULL, error);
}

static blis_status run_event(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  cluster->fruitless = 0;
  return event->event_class == BLIS__CLUSTER_ENCODED ? is_encoded(cluster, event->object, error)
                                                     : is_late(cluster, event->object, error);
}

/* As in BLIS (Go), the router chooses an encode instance for a request that is being routed,
   without any further effect. */
static blis_status on_split_settled(void *ud, blis_cluster *cluster, const blis__news *news,
                                    blis_error *error) {
  blis__choice choice;
  blis_ticket ticket = {{0}};
  return needs_encoding(ud, news->request) ? choose(cluster, news->request, &ticket, &choice, error)
                                           : BLIS_OK;
}

/* Handles the requests of a failed encoder. */
static blis_status on_instance_lost(void *ud, blis_cluster *cluster, const blis__news *news,
                                    blis_error *error) {
  blis__encoders *e = ud;
  encoder *its = &e->all[news->instance];
  if (cluster->services[news->instance] != BLIS_SERVICE_FAILED) {
    return BLIS_OK;
  }
  while (its->head != NULL) {
    /* In reverse order, so that no request starts on this instance. */
    blis__encoding *last = its->tail;
    blis__cluster_request *request = last->request;
    e->counts.lost++;
    BLIS_TRY(leave(cluster, last, error));
    if (blis__goes_on(news->loss)) {
      BLIS_TRY(blis__send_again(cluster, request, news->loss, error));
    } else {
      request->live.state = BLIS_REQUEST_FAILED;
      BLIS_TRY(blis__cluster_end(cluster, request, cluster->now_us, "instance-failed", error));
    }
  }
  its->hangs = false;
  return BLIS_OK;
}

static blis_status on_hung(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)error;
  encoder *its = &((blis__encoders *)ud)->all[news->instance];
  its->hangs = true;
  if (its->head != NULL) {
    blis_event_queue_cancel(cluster->queue, its->head->end_event);
  }
  return BLIS_OK;
}

static blis_status on_restarted(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)cluster, (void)error;
  ((blis__encoders *)ud)->all[news->instance].hangs = false;
  return BLIS_OK;
}

/* Reports the encode stage of a request. */

static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  blis__encoding *encoding = encoding_of(news->request);
  if (encoding == NULL) {
    return BLIS_OK;
  }
  if (news->end->stages != NULL) {
    const blis_stage_times own = encoding->times;
    encoding->times = *news->end->stages;
    encoding->times.encode_instance = own.encode_instance;
    encoding->times.encode_start_us = own.encode_start_us;
    encoding->times.encode_end_us = own.encode_end_us;
  }
  news->end->stages = &encoding->times;
  return BLIS_OK;
}

static blis_status on_ended(void *ud, blis_cluster *cluster, const blis__news *news,
                            blis_error *error) {
  (void)cluster, (void)error;
  blis__encoders *e = ud;
  if (encoding_of(news->request) != NULL) {
    blis_pool_give(&e->pool, encoding_of(news->request)->slot);
    news->request->parts[BLIS__PART_ENCODE] = NULL;
  }
  return BLIS_OK;
}

void blis_cluster_get_encodes(const blis_cluster *cluster, blis_encode_counts *counts) {
  const blis__encoders *e = state_of(cluster);
  *counts = e == NULL ? (blis_encode_counts){0} : e->counts;
}

/* Construction. */

static blis_status check_stage(const blis_cluster *cluster, const blis_encode_stage *stage,
                               blis_error *error) {
  uint32_t roles = 0;
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    roles |= cluster->facts[i].roles;
  }
  if ((roles & BLIS_ROLE_ENCODE) == 0 || cluster->main_role == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "no instance has the role encode in addition to prefill and decode; the "
                     "encode stage needs one");
  }
  if (!(stage->base_us >= 0 && isfinite(stage->base_us) && stage->us_per_token >= 0 &&
        isfinite(stage->us_per_token))) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "encode stage: %g us and %g us a token, expected finite "
                     "numbers from 0",
                     stage->base_us, stage->us_per_token);
  }
  return BLIS_OK;
}

static blis_status make_parts(blis_cluster *cluster, blis__encoders *e) {
  e->all = blis_alloc_zeroed(&cluster->alloc, cluster->config.instance_count, sizeof *e->all);
  if (e->all == NULL) {
    return BLIS_ERR_NOMEM;
  }
  const blis_router *router = &e->stage.router;
  bool is_blind = router->ops == NULL || router->is_blind;
  const blis__listener listener = {
      .ud = e,
      .phase = BLIS__SEQUELS,
      .need = is_blind ? BLIS__NEEDS_NOTHING : BLIS__NEEDS_STATE,
      .on = {[BLIS__TO_BE_ROUTED] = e->stage.chooses_only ? NULL : on_to_be_routed,
             [BLIS__SPLIT_SETTLED] = e->stage.chooses_only ? on_split_settled : NULL,
             [BLIS__REPORTING] = on_reporting,
             [BLIS__ENDED] = on_ended}};
  /* Added before hand-offs, because a request that is not encoded has not been handed off. */
  const blis__listener of_instances = {.ud = e,
                                       .phase = BLIS__BOOKS,
                                       .on = {[BLIS__INSTANCE_LOST] = on_instance_lost,
                                              [BLIS__HUNG] = on_hung,
                                              [BLIS__RESTARTED] = on_restarted}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &of_instances));
  return blis__listeners_add(&cluster->listeners, &listener);
}

blis_status blis_cluster_set_encode_stage(blis_cluster *cluster, blis_encode_stage *stage,
                                          blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && state_of(cluster) == NULL);
  blis__encoders *e = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *e);
  blis_encode_stage taken = *stage;
  stage->router = (blis_router){0};
  if (e == NULL) {
    blis_router_free(&taken.router);
    return blis_fail_nomem(error);
  }
  e->stage = taken;
  blis_pool_init(&e->pool, &cluster->alloc, sizeof(blis__encoding));
  cluster->features[BLIS_FEATURE_ENCODE] = e;
  BLIS_TRY(check_stage(cluster, &e->stage, error));
  BLIS_TRY_MEM(make_parts(cluster, e), error);
  blis__snapshot_declare(&cluster->snapshot, e->stage.router.needs);
  BLIS_TRY_MEM(blis__add_prefill_history(cluster), error);
  return BLIS_OK;
}

static void free_encoders(blis_cluster *cluster) {
  blis__encoders *e = state_of(cluster);
  if (e != NULL) {
    blis_router_free(&e->stage.router);
    blis_pool_deinit(&e->pool);
    blis_alloc_free(&cluster->alloc, e->all, cluster->config.instance_count * sizeof *e->all);
    blis_alloc_free(&cluster->alloc, e, sizeof *e);
  }
}

const blis__feature blis__encode_feature = {
    .slot = BLIS_FEATURE_ENCODE,
    .name = "encode",
    .free = free_encoders,
    .event = run_event,
};
