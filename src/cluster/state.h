/*
 * state.h - what the files of the cluster share.
 */
#ifndef BLIS_CLUSTER_STATE_H
#define BLIS_CLUSTER_STATE_H

#include "base/arena.h"
#include "base/event_queue.h"
#include "base/pool.h"
#include "base/winner_tree.h"
#include "cluster/cascade_run.h"
#include "cluster/chain_cache.h"
#include "cluster/cluster.h"
#include "cluster/pins.h"
#include "cluster/request_table.h"
#include "cluster/snapshot.h"
#include "cluster/tenant_budgets.h"
#include "instance/slo_priority.h"
#include "policy/admission/admission.h"

/*
 * Classes of cluster events, lower ones first at equal times. In the queue are
 * only the arrivals of follow-ups; the others come from the source in order.
 */
enum {
  BLIS__CLUSTER_ARRIVAL = 0,
  BLIS__CLUSTER_ADMISSION = 1,
  BLIS__CLUSTER_ROUTING = 2,
  BLIS__CLUSTER_CALL = 10
};

/* A function of call_at. */
typedef struct blis__scheduled_call {
  blis_status (*fn)(void *ud, blis_cluster *cluster, blis_error *error);
  void *ud;
} blis__scheduled_call;

/* What is known of an SLO class. */
typedef struct blis__class {
  int32_t priority; /* lower is more urgent */
  int32_t value;    /* higher is more important */
} blis__class;

struct blis_cluster {
  blis_alloc alloc;
  blis_cluster_config config;
  blis_router router;
  blis_admission admission;
  blis__cascades cascades;
  blis_observer observer;
  const blis_request_source *source;
  const blis_request_sink *sink;

  blis_instance **instances;
  char **ids;
  blis_instance_facts *facts;
  blis_service *services;
  blis_arena texts;              /* the ids, and what facts say */
  blis_winner_tree *next_events; /* of the instances */
  blis_event_queue *queue;       /* of the cluster */
  blis_pool calls;
  blis_pool follow_ups; /* requests that are still to arrive */
  blis__request_table requests;
  blis__snapshot snapshot;
  blis__chain_cache chains;
  blis_block_namer *namer;
  blis_slo_priority *priorities;
  BLIS_ARRAY(blis__class) classes; /* by number of the text */
  blis__tenant_budgets budgets;
  blis__pins pins;

  blis_error observer_error; /* of first_token, until its event is over */
  bool has_scripts;          /* of instances: what they keep may be shared */
  bool is_busy; /* in an event other than a call: policies are running */
  bool has_arrival;
  blis_request arrival; /* the next one of the source, when there is one */
  int64_t now_us;
  int64_t calls_at_now; /* functions of call_at called at this time so far */
  int64_t fruitless;    /* calls and delays since a request last moved on */
  uint32_t until_interrupt_check;
  blis_cluster_counts counts;
  blis_cache_belief belief;
};

/* As policies see the request, without prompt and ticket. */
blis_routing_request
blis__cluster_show_request(const blis_cluster *cluster,
                           const blis__cluster_request *request);

/* observer.c: what the observer is told. */

BLIS_MUSTUSE blis_status blis__cluster_tell_arrival(
    blis_cluster *cluster, const blis__cluster_request *request,
    blis_error *error);
BLIS_MUSTUSE blis_status blis__cluster_tell_routed(
    blis_cluster *cluster, const blis__cluster_request *request,
    uint32_t instance, blis_error *error);
/* A failure is kept in observer_error. */
void blis__cluster_tell_first_token(blis_cluster *cluster,
                                    const blis__cluster_request *request);
BLIS_MUSTUSE blis_status blis__cluster_tell_escalation(
    blis_cluster *cluster, const blis__cluster_request *request,
    const blis_cascade_attempt *attempt, blis_error *error);
BLIS_MUSTUSE blis_status blis__cluster_tell_end(
    blis_cluster *cluster, const blis__cluster_request *request,
    const blis_request_end *end, blis_error *error);

/* cascade_run.c: requests that are asked of several models. */

/* A request has arrived: is it asked of a chain of models? */
BLIS_MUSTUSE blis_status blis__cascade_begin(blis_cluster *cluster,
                                             blis__cluster_request *request,
                                             blis_error *error);

/* Before anybody forgets a completed attempt: is its answer dropped? */
BLIS_MUSTUSE blis_status blis__cascade_look(blis_cluster *cluster,
                                            blis__cluster_request *request,
                                            int64_t end_us, bool *is_dropped,
                                            blis_error *error);

/*
 * An attempt of a request that takes part in a cascade has ended. *goes_on =
 * true: another model is being asked.
 */
BLIS_MUSTUSE blis_status blis__cascade_ended(blis_cluster *cluster,
                                             blis__cluster_request *request,
                                             int64_t end_us, const char *reason,
                                             bool *goes_on, blis_error *error);

/* The request, which will be reported, wants the model that it came with. */
BLIS_MUSTUSE blis_status blis__cascade_close(blis_cluster *cluster,
                                             blis__cluster_request *request,
                                             blis_error *error);

/* follow_up.c */

/* Tells the source about a request that reached an end, after the sink. */
BLIS_MUSTUSE blis_status blis__cluster_tell_source(
    blis_cluster *cluster, const blis__cluster_request *request, int64_t end_us,
    blis_error *error);

#endif
