/*
 * cluster.h - the shared clock: arrival -> admission -> routing -> instance.
 *
 * Two levels of events: the cluster's own, ordered by (time, class, sequence), and
 * the events of the instances. All cluster events at t precede any instance event
 * at t; among instances the lowest index is first. Behavior follows BLIS (Go,
 * inference-sim f90a1e3a).
 */
#ifndef BLIS_CLUSTER_CLUSTER_H
#define BLIS_CLUSTER_CLUSTER_H

#include "base/alloc.h"
#include "base/containers/histogram.h"
#include "base/containers/sketch.h"
#include "base/error.h"
#include "cluster/lists/features.h"
#include "cluster/lists/request_end.h"
#include "cluster/lists/sinks.h"
#include "cluster/requests/visits.h"
#include "cluster/run_events.h"
#include "instance/instance.h"
#include "instance/request/slo_priority.h"
#include "policy/admission/admission.h"
#include "policy/contract/facts.h"
#include "policy/contract/params.h"
#include "policy/contract/router.h"
#include "workload/request.h"

/* Receives the steps of the instances, for each instance in order of time. */
typedef struct blis_step_sink {
  void *ud;
  blis_status (*step)(void *ud, uint32_t instance, const blis_step_report *report,
                      blis_error *error);
} blis_step_sink;

/* Emissions of the facility for each request. */
typedef struct blis_facility_carbon {
  bool is_known;
  double pg_per_nj; /* of GPUs, where that never changes; else 0 */
  double factor;    /* of what steps count (blis_power_config.carbon) */
} blis_facility_carbon;

typedef struct blis_cluster_config {
  const blis_instance_config *instances; /* instance_count; copied */
  bool has_own_latencies;                /* each of these has its own latency model */
  const blis_instance_facts *facts;      /* one each, copied; NULL = none */
  int64_t admission_latency_us;          /* >= 0 */
  int64_t routing_latency_us;            /* >= 0 */
  blis_facility_carbon carbon;
  int64_t snapshot_refresh_us;    /* 0 = every signal is live */
  int64_t cache_signal_delay_us;  /* 0 = views of caches are current */
  int64_t horizon_us;             /* BLIS_TIME_NEVER_US = none */
  int64_t max_requests_in_memory; /* waiting or running; 0 = unlimited */
  /* Called at intervals; true stops the run with BLIS_ERR_INTERRUPTED. */
  bool (*interrupted)(void *ud);
  void *interrupted_ud;
  /*
   * Options of features that exist before the instances are made, by slot; borrowed during
   * construction. NULL = not configured. The type is in the header of the feature.
   */
  const void *options[BLIS_FEATURE_COUNT];
  uint32_t instance_count; /* >= 1 */
  /*
   * Initial instances; 0 = all. All other configurations are for instances that are
   * started later (life_cycle.h), as copies of these.
   */
  uint32_t initial_count;
  const char *room_option; /* the option that raises their maximum, for errors; may be NULL */
  int id_digits;           /* least number of digits of instance ids (instance_id.h) */
  /* Values of SLO classes other than the usual ones; copied. */
  const blis_slo_override *slo_overrides;
  size_t slo_override_count;
  bool load_counts_in_flight; /* go-blis: effective load is q + b + in flight */
  bool surveys_mark_caches;   /* go-blis: surveys by features also mark caches, not only surveys
                                 for decisions */
  bool keeps_traffic;         /* policies see the traffic of each tenant */
  bool oracle;                /* policies see the true output length */
  /*
   * Policies see no limit of output tokens that equals the output length: if a
   * client sets no limit, the workload uses the output length instead. The engines
   * obey it nevertheless.
   */
  bool hides_output_limits;
  /*
   * Per instance, borrowed like itl_us: inter-token latencies, which are then not
   * added to itl_us. NULL = all are added to itl_us.
   */
  blis_histogram *itl_of_instance_us;
  /* Receives every decision; borrowed. NULL = none, at no cost. */
  const struct blis_decision_sink *decisions;
  const blis_observer *observer; /* copied; NULL = none */
  /* Copied; NULL = none. Kinds that report steps need the stepwise engine. */
  const blis_run_listener *run_listener;
  /* Receives every step; copied. NULL = none; otherwise all instances use the stepwise engine. */
  const blis_step_sink *steps;
  const blis_load_sink *loads;   /* copied; NULL = none */
  const blis_visit_sink *visits; /* the same */
  /*
   * The priority (higher is more urgent) of an arriving request, which is shown
   * without prompt and with the priority of its SLO class; NULL = the priority of
   * its class. A failure stops the run.
   */
  blis_status (*priority)(void *ud, const blis_routing_request *request, int64_t now_us,
                          double *priority, blis_error *error);
  void *priority_ud;
  /*
   * The priority of the most important SLO class is 0 and all other priorities are
   * below, as in BLIS (Go). False: priorities are the values of the classes.
   */
  bool counts_priorities_down;
} blis_cluster_config;

typedef struct blis_cluster_counts {
  int64_t arrived; /* taken from the source and executed */
  int64_t routed;
  int64_t rejected;
  int64_t completed; /* length-capped ones included */
  int64_t timed_out;
  int64_t unservable;
  int64_t failed;            /* lost with their instance */
  int64_t escalated;         /* times that another model was tried after an answer */
  int64_t rerouted;          /* taken from an instance and routed once more */
  int64_t recomputed_tokens; /* prompt and output, that these and the next had
                                at the instance */
  int64_t retried;           /* lost with their instance and sent once more */
  int64_t in_flight;         /* arrived, not ended; 0 after finish */
  int64_t unfinished;        /* in flight at finish */
} blis_cluster_counts;

/*
 * Whether an instance serves: only active instances are candidates. Starting
 * instances (life_cycle.h) pass through the states from REQUESTED to WARMING.
 */
typedef enum blis_service {
  BLIS_SERVICE_ACTIVE,
  BLIS_SERVICE_DRAINING, /* finishes its requests, gets no new ones */
  BLIS_SERVICE_DRAINED,  /* has finished, and has gone */
  BLIS_SERVICE_FAILED,
  BLIS_SERVICE_RECOVERING, /* from a failure */
  BLIS_SERVICE_ABSENT,     /* not requested yet */
  BLIS_SERVICE_REQUESTED,  /* waits for a place */
  BLIS_SERVICE_PENDING,    /* no place is free; not paid */
  BLIS_SERVICE_PROVISIONING,
  BLIS_SERVICE_LOADING,
  BLIS_SERVICE_WARMING,
  BLIS_SERVICE_COUNT
} blis_service;

/* "active", "draining", ...; static. */
const char *blis_service_name(blis_service service);

typedef struct blis_cluster blis_cluster;

/*
 * Takes *router (also on failure); borrows source, sink and itl_us, which
 * outlive the cluster. itl_us gets the inter-token latencies of completed
 * requests.
 */
BLIS_MUSTUSE blis_status blis_cluster_new(const blis_alloc *alloc,
                                          const blis_cluster_config *config, blis_router *router,
                                          const blis_request_source *source,
                                          const blis_request_sink *sink, blis_histogram *itl_us,
                                          blis_cluster **cluster, blis_error *error);

void blis_cluster_free(blis_cluster *cluster);

/*
 * Takes *admission (also on failure), once, before the first event; without it
 * every request is admitted.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_admission(blis_cluster *cluster,
                                                    blis_admission *admission, blis_error *error);

/* The number of an instance's deployment unit (units.h), from 0, and its place in it, from 0. */
uint32_t blis_cluster_unit_of(const blis_cluster *cluster, uint32_t index);
uint32_t blis_cluster_place_in_unit(const blis_cluster *cluster, uint32_t index);

/* Whether instances have roles. */
bool blis_cluster_has_pools(const blis_cluster *cluster);

/*
 * Executes the next event (a fast engine: all events of one instance at one time).
 * *done = true if no event was left or the horizon is reached; later calls have no
 * effect.
 */
BLIS_MUSTUSE blis_status blis_cluster_step(blis_cluster *cluster, bool *done, blis_error *error);

/*
 * Executes every event up to and including limit_us. The clock is then at limit_us,
 * or at the last event if none is left. Fast engines run ahead between two cluster
 * events, so records may be emitted in another order than by single steps; each
 * record is the same.
 */
BLIS_MUSTUSE blis_status blis_cluster_run_until(blis_cluster *cluster, int64_t limit_us,
                                                blis_error *error);

/*
 * Closes the instances, reports every request that is still waiting or running
 * to the sink, in order of arrival, and closes the books: arrived = sum over
 * final states, or BLIS_ERR_STUCK. Call once, after the last event.
 */
BLIS_MUSTUSE blis_status blis_cluster_finish(blis_cluster *cluster, blis_error *error);

/*
 * Calls fn once at at_us (BLIS_ERR_INVALID if that is past), after all other
 * cluster events of that time and before any instance event. fn may read and
 * schedule anything; a failure stops the run.
 */
BLIS_MUSTUSE blis_status blis_cluster_call_at(blis_cluster *cluster, int64_t at_us,
                                              blis_status (*fn)(void *ud, blis_cluster *cluster,
                                                                blis_error *error),
                                              void *ud, blis_error *error);

/*
 * Failures. Call these from functions of call_at and between steps, not while an
 * event is executed (BLIS_ERR_INVALID, as for a missing instance). Earlier effects
 * remain: a request whose last step has begun is completed, unless
 * rules.leaves_at_step_end. BLIS_ERR_NOMEM leaves the cluster fit only to be freed.
 * If no instance in service serves a request's model, the request is rejected at
 * routing, reason no-instance.
 */

/*
 * How requests on a lost instance are handled. Requests that are not lost restart
 * from nothing, in order of arrival, and all their times count from their own
 * arrival.
 */
typedef enum blis_loss_kind {
  /* State failed, reason instance-failed; hand-offs to or from the instance follow the policy of
     hand-offs. */
  BLIS_LOSS_USUAL,
  BLIS_LOSS_FAILED,   /* all of its requests fail */
  BLIS_LOSS_REROUTED, /* routed again, with routing latency */
  BLIS_LOSS_RETRIED,  /* they are sent again after pause_us, including admission */
  BLIS_LOSS_KIND_COUNT
} blis_loss_kind;

typedef struct blis_loss {
  blis_loss_kind kind;
  int64_t pause_us; /* of RETRIED */
} blis_loss;

/*
 * The instance fails. Nothing happens when it has failed or drained already.
 * BLIS_ERR_STUCK when a request loses its instance for the 10001st time.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_fail(blis_cluster *cluster, uint32_t index,
                                                    blis_loss loss, blis_error *error);

/*
 * The instance gets no more requests, and is removed when it has finished its
 * requests; with re_route, requests that are not running are routed again.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_drain(blis_cluster *cluster, uint32_t index,
                                                     bool re_route, blis_error *error);

/*
 * The instance serves again. After a failure or a completed drain it has an empty cache and is
 * shown as new, otherwise it is unchanged. BLIS_ERR_INVALID: it drains or has drained, and a
 * feature maintains a number of instances; or no node has enough free GPUs.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_restore(blis_cluster *cluster, uint32_t index,
                                                       blis_error *error);

/*
 * Sets the factor of step times since the next step, also after a restore;
 * initially 1. factor is from 1e-3 to 1e6.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_slow(blis_cluster *cluster, uint32_t index,
                                                    double factor, blis_error *error);

/*
 * The instance loses its prefix cache (blis_instance_forget_cache) and works
 * on.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_lose_cache(blis_cluster *cluster, uint32_t index,
                                                          blis_error *error);

blis_service blis_cluster_instance_service(const blis_cluster *cluster, uint32_t index);

/* The cluster's own; strings are never NULL. */
const blis_instance_facts *blis_cluster_instance_facts(const blis_cluster *cluster, uint32_t index);

int64_t blis_cluster_now_us(const blis_cluster *cluster);

/* A request at an instance, as policies see it, without its prompt. */
blis_routing_request blis_cluster_show(blis_cluster *cluster, const blis_live_request *live);
void blis_cluster_get_counts(const blis_cluster *cluster, blis_cluster_counts *counts);

/*
 * Equal for two clusters with the same configuration in the same state, and
 * hardly ever equal otherwise: a hash of clock, counters, requests and
 * instances. O(live requests + instances). Only for use within one program.
 */
uint64_t blis_cluster_fingerprint(const blis_cluster *cluster);

/* Are there requests that have not ended, or more to arrive? */
bool blis_cluster_has_requests(const blis_cluster *cluster);

/* Number of current and former instances; numbers are never reused. */
uint32_t blis_cluster_instance_count(const blis_cluster *cluster);

/* Borrowed; index < instance count. Its state is as of now. */
const blis_instance *blis_cluster_instance(const blis_cluster *cluster, uint32_t index);
/* See instance_id.h; owned by the cluster. */
const char *blis_cluster_instance_id(const blis_cluster *cluster, uint32_t index);

/*
 * Whether the signals that count since the start are maintained: if a policy reads
 * one, or might.
 */
bool blis_cluster_has_history(const blis_cluster *cluster);

/* The live value of a signal that does not depend on a request. */
double blis_cluster_signal(const blis_cluster *cluster, uint32_t index, blis_signal signal);

/* Like blis_router_change, for later decisions. */
BLIS_MUSTUSE blis_status blis_cluster_change_routing(blis_cluster *cluster,
                                                     const blis_params *params, blis_error *error);

#endif
