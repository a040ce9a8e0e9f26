/*
 * state.h - the state of a cluster, shared by its files.
 */
#ifndef BLIS_CLUSTER_STATE_H
#define BLIS_CLUSTER_STATE_H

#include "base/arena.h"
#include "base/containers/event_queue.h"
#include "base/containers/winner_tree.h"
#include "base/pool.h"
#include "cluster/cluster.h"
#include "cluster/hooks.h"
#include "cluster/listeners.h"
#include "cluster/lists/event_classes.h"
#include "cluster/lists/features.h"
#include "cluster/requests/chain_cache.h"
#include "cluster/requests/request_table.h"
#include "cluster/signals/snapshot.h"
#include "instance/request/slo_priority.h"
#include "policy/admission/admission.h"

typedef struct blis__feature blis__feature; /* feature.h */

/* The optional features, in the order in which they are constructed. */
typedef struct blis__feature_table {
  const blis__feature *const *all;
  size_t count;
} blis__feature_table;

typedef blis_status blis__event_fn(blis_cluster *cluster, const blis_event *event,
                                   blis_error *error);

/* The handler for the events of a class. run is NULL if no class has the number. */
typedef struct blis__event_handler {
  blis__event_fn *run;
  bool makes_room; /* event_classes.h */
} blis__event_handler;

/* A function of blis_cluster_call_at. */
typedef struct blis__scheduled_call {
  blis_status (*fn)(void *ud, blis_cluster *cluster, blis_error *error);
  void *ud;
} blis__scheduled_call;

/* An SLO class. */
typedef struct blis__class {
  double priority; /* higher is more urgent */
  int32_t value;   /* higher is more important */
} blis__class;

/* Counts of requests that an instance counts as ended but that continued elsewhere. */
typedef struct blis__dropped_counts {
  int64_t completed;
  int64_t unservable;
  int64_t timed_out; /* negative: requests that timed out outside of an instance */
} blis__dropped_counts;

struct blis__choice; /* stages.h */

/*
 * Instances that may lag behind and have changed since the last update of next_events, which is
 * updated before each read.
 */
typedef struct blis__laggards {
  bool *is_one; /* indexed by instance */
  uint32_t *numbers;
  uint32_t count;
} blis__laggards;

struct blis_cluster {
  blis_alloc alloc;
  blis_cluster_config config;
  blis_router router;
  blis_admission admission;
  blis_observer observer;
  blis_run_listener run_listener;
  blis_step_sink steps;
  blis_load_sink loads;
  uint32_t running; /* the instance that currently executes events, if any */
  const blis_request_source *source;
  const blis_request_sink *sink;

  blis_instance **instances;   /* NULL = never requested */
  struct blis__places *places; /* places.c */
  char **ids;
  blis_instance_facts *facts;
  blis_service *services;
  struct blis__units *units;                 /* units.h; NULL = each instance is a unit */
  struct blis__service_times *service_times; /* service.h */
  struct blis__speed *speeds;                /* service.h */
  /* For each instance, the instance that routers see in its place (candidates.h). NULL = every
     instance is visible. */
  const uint32_t *fronts;
  /* Number of current and former instances, which have the numbers below this. */
  uint32_t existing;
  blis_arena texts;              /* strings of IDs and facts */
  blis_winner_tree *next_events; /* next events of the instances */
  uint32_t event_owners;         /* capacity of next_events, which grows */
  /* Next events of the eager instances (clock.h), which are not in next_events; NULL = none. */
  blis_winner_tree *eager_events;
  bool *is_eager;           /* indexed by instance */
  blis__laggards *laggards; /* changed instances that are not eager */
  blis_event_queue *queue;  /* events of the cluster */
  blis_pool calls;
  blis_pool follow_ups; /* follow-ups that have not arrived yet */
  blis__request_table requests;
  blis__snapshot snapshot;
  blis__chain_cache chains;
  blis_block_namer *namer;
  blis_slo_priority *priorities;
  BLIS_ARRAY(blis__class) classes; /* indexed by string ID */

  blis__listeners listeners;
  blis__hooks hooks;
  const blis__feature_table *table;
  void *features[BLIS_FEATURE_COUNT]; /* state of each feature; NULL = not configured */
  blis__event_handler handlers[BLIS__EVENT_CLASS_COUNT]; /* indexed by class number */
  /* State of listeners, defined in their files; NULL if not configured. */
  struct blis__traffic *traffic; /* traffic_state.c */
  const struct blis_stages
      *stages;        /* queries of routers about other stages; NULL = only one stage */
  uint32_t main_role; /* role of the instances to which requests are routed; 0 = no roles */
  const struct blis__placer *placer;       /* placement.h; NULL = instances always fit */
  struct blis__life_cycle *life_cycle;     /* life_cycle.c */
  struct blis__waiting_room *waiting_room; /* waiting_room.h */
  bool has_power;                          /* at least one engine computes its power draw */
  bool has_prefill_history;
  bool has_drains;
  bool may_bring_instances; /* a feature may add instances at an evaluation (see `looks`) */
  /* Name of the feature that controls the number of instances, for messages. With such a feature,
     drained instances are not restored. NULL = none. */
  const char *number_keeper;
  int loaded_event_class; /* class of events for instances that have loaded */

  blis_error event_error; /* error of an instance callback that cannot return an error */
  /* An event other than a call is being executed, so policies may be running. */
  bool is_busy;
  bool is_stepped; /* each stage of a request is a separate event */
  bool has_arrival;
  bool is_open;         /* see external.h */
  blis_request arrival; /* next arrival of the source, if has_arrival */
  int64_t now_us;
  int64_t last_end_us;  /* latest end of a request so far */
  int64_t life_due_us;  /* time of the last planned start, recovery, or node */
  int64_t calls_at_now; /* number of calls executed at the current time */
  int64_t fruitless;    /* number of calls and delays since the last progress of a request */
  int64_t looks;        /* number of evaluations of features that may add instances */
  /* Last planned event at the time when the number of evaluations became large. */
  int64_t hope_us;
  int64_t hope_looks; /* value of `looks` at that time */
  uint32_t until_interrupt_check;
  blis_cluster_counts counts;
  blis__dropped_counts dropped;
};

/* Returns the state of a feature, for its own files; NULL = not configured. */
static inline void *blis__feature_state(const blis_cluster *cluster, blis_feature_slot slot) {
  return cluster->features[slot];
}

/* Returns the instance that routers see in place of instance i. */
static inline uint32_t blis__front_of(const blis_cluster *cluster, uint32_t i) {
  return cluster->fronts == NULL ? i : cluster->fronts[i];
}

/* Records that a start, a recovery, or a node is planned for due_us. */
static inline void blis__note_life_due(blis_cluster *cluster, int64_t due_us) {
  if (due_us > cluster->life_due_us && due_us != BLIS_TIME_NEVER_US) {
    cluster->life_due_us = due_us;
  }
}

typedef struct blis__traffic blis__traffic;

/*
 * Returns the traffic of the tenant of an arrived request, with config.keeps_traffic. ud is the
 * traffic state.
 */
blis_traffic_state blis__cluster_traffic(void *ud, uint32_t number, int64_t now_us);

/*
 * Returns the number of requests that wait for the pool, and the saturation of the pool. ud is the
 * cluster.
 */
blis_pool_state blis__cluster_pool(void *ud, const blis_routing_view *view);

/* Sets *shown to the request as policies see it, without prompt and ticket. */
void blis__cluster_show(blis_cluster *cluster, const blis__cluster_request *request,
                        blis_routing_request *shown);

/* Like blis__cluster_show, but returns the request. */
static inline blis_routing_request
blis__cluster_show_request(blis_cluster *cluster, const blis__cluster_request *request) {
  blis_routing_request shown;
  blis__cluster_show(cluster, request, &shown);
  return shown;
}

#endif
