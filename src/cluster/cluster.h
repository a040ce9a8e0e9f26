/*
 * cluster.h - the shared clock: arrival -> admission -> routing -> instance.
 *
 * There are two levels of events: events of the cluster, ordered by (time, class, sequence), and
 * events of the instances. All cluster events at time t precede all instance events at time t.
 * Among instances, the lowest index is first. Behavior follows BLIS (Go, inference-sim f90a1e3a).
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

/* Receives the steps of the instances. The steps of each instance arrive in time order. */
typedef struct blis_step_sink {
  void *ud;
  blis_status (*step)(void *ud, uint32_t instance, const blis_step_report *report,
                      blis_error *error);
} blis_step_sink;

/* Emissions of the facility for each request. */
typedef struct blis_facility_carbon {
  bool is_known;
  double pg_per_nj; /* emissions per nJ of GPU energy if constant; otherwise 0 */
  double factor;    /* factor on the emissions counted by steps (blis_power_config.carbon) */
} blis_facility_carbon;

typedef struct blis_cluster_config {
  const blis_instance_config *instances; /* instance_count entries; copied */
  bool has_own_latencies;                /* each instance has its own latency model */
  const blis_instance_facts *facts;      /* one per instance, copied; NULL = none */
  int64_t admission_latency_us;          /* >= 0 */
  int64_t routing_latency_us;            /* >= 0 */
  blis_facility_carbon carbon;
  int64_t snapshot_refresh_us;   /* 0 = all signals are live */
  int64_t cache_signal_delay_us; /* 0 = views of caches are current */
  int64_t horizon_us;            /* BLIS_TIME_NEVER_US = none */
  /* Maximum number of waiting and running requests; 0 = unlimited. */
  int64_t max_requests_in_memory;
  /* Called at intervals. If it returns true, the run stops with BLIS_ERR_INTERRUPTED. */
  bool (*interrupted)(void *ud);
  void *interrupted_ud;
  /*
   * Options, by slot, of features that are needed before the instances are created. Borrowed during
   * construction. NULL = not configured. The header of each feature declares the type.
   */
  const void *options[BLIS_FEATURE_COUNT];
  uint32_t instance_count; /* >= 1 */
  /*
   * Number of initial instances; 0 = all. The remaining configurations are copies of these for
   * instances that are started later (life_cycle.h).
   */
  uint32_t initial_count;
  /* Name of the option that sets the maximum number of instances, for errors; may be NULL. */
  const char *room_option;
  int id_digits; /* minimum number of digits in instance IDs (instance_id.h) */
  /* Values of SLO classes that differ from the defaults; copied. */
  const blis_slo_override *slo_overrides;
  size_t slo_override_count;
  /* go-blis: the effective load is queue depth + batch size + requests in flight */
  bool load_counts_in_flight;
  /*
   * go-blis: all surveys mark caches, including surveys by features, not only surveys for decisions
   */
  bool surveys_mark_caches;
  bool keeps_traffic; /* policies can read the traffic of each tenant */
  bool oracle;        /* policies can read the true output length */
  /*
   * If a client sets no limit, the workload uses the output length as the limit of output tokens.
   * This member hides such limits from policies. The engines still apply them.
   */
  bool hides_output_limits;
  /*
   * One histogram of inter-token latencies per instance, borrowed like itl_us. If it is set,
   * latencies are not added to itl_us. NULL = all latencies are added to itl_us.
   */
  blis_histogram *itl_of_instance_us;
  /* Receives every decision; borrowed. NULL = none, without overhead. */
  const struct blis_decision_sink *decisions;
  const blis_observer *observer; /* copied; NULL = none */
  /* Copied; NULL = none. Kinds of listeners that report steps require the stepwise engine. */
  const blis_run_listener *run_listener;
  /*
   * Receives every step; copied. NULL = none. If it is set, all instances use the stepwise engine.
   */
  const blis_step_sink *steps;
  const blis_load_sink *loads;   /* copied; NULL = none */
  const blis_visit_sink *visits; /* copied; NULL = none */
  /*
   * Computes the priority of an arriving request (higher is more urgent). The function receives the
   * request without its prompt and with the priority of its SLO class. NULL = use the priority of
   * the class. A failure stops the run.
   */
  blis_status (*priority)(void *ud, const blis_routing_request *request, int64_t now_us,
                          double *priority, blis_error *error);
  void *priority_ud;
  /*
   * If true, the priority of the most important SLO class is 0 and all others are lower, as in BLIS
   * (Go). If false, priorities are the values of the classes.
   */
  bool counts_priorities_down;
} blis_cluster_config;

typedef struct blis_cluster_counts {
  int64_t arrived; /* arrivals taken from the source and executed */
  int64_t routed;
  int64_t rejected;
  int64_t completed; /* including length-capped requests */
  int64_t timed_out;
  int64_t unservable;
  int64_t failed;    /* lost with their instance */
  int64_t escalated; /* times that a request was sent to another model after an answer */
  int64_t rerouted;  /* removed from an instance and routed again */
  /* Prompt and output tokens that rerouted and retried requests had already computed. */
  int64_t recomputed_tokens;
  int64_t retried;    /* lost with their instance and sent again */
  int64_t in_flight;  /* arrived but not ended; 0 after finish */
  int64_t unfinished; /* in flight at finish */
} blis_cluster_counts;

/*
 * The service state of an instance. Only active instances are candidates for routing. Starting
 * instances (life_cycle.h) pass through the states from REQUESTED to WARMING.
 */
typedef enum blis_service {
  BLIS_SERVICE_ACTIVE,
  BLIS_SERVICE_DRAINING, /* finishes its requests and gets no new ones */
  BLIS_SERVICE_DRAINED,  /* has finished its requests and is removed */
  BLIS_SERVICE_FAILED,
  BLIS_SERVICE_RECOVERING, /* restarts after a failure */
  BLIS_SERVICE_ABSENT,     /* not requested yet */
  BLIS_SERVICE_REQUESTED,  /* waits for capacity on a node */
  BLIS_SERVICE_PENDING,    /* no capacity is free; not billed */
  BLIS_SERVICE_PROVISIONING,
  BLIS_SERVICE_LOADING,
  BLIS_SERVICE_WARMING,
  BLIS_SERVICE_COUNT
} blis_service;

/* "active", "draining", ...; static. */
const char *blis_service_name(blis_service service);

typedef struct blis_cluster blis_cluster;

/*
 * Takes ownership of *router, even on failure. Borrows source, sink, and itl_us, which must outlive
 * the cluster. itl_us receives the inter-token latencies of completed requests.
 */
BLIS_MUSTUSE blis_status blis_cluster_new(const blis_alloc *alloc,
                                          const blis_cluster_config *config, blis_router *router,
                                          const blis_request_source *source,
                                          const blis_request_sink *sink, blis_histogram *itl_us,
                                          blis_cluster **cluster, blis_error *error);

void blis_cluster_free(blis_cluster *cluster);

/*
 * Takes ownership of *admission, even on failure. Call it at most once, before the first event.
 * Without it, every request is admitted.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_admission(blis_cluster *cluster,
                                                    blis_admission *admission, blis_error *error);

/*
 * Return the number of an instance's deployment unit (units.h), and the position of the instance in
 * its unit. Both count from 0.
 */
uint32_t blis_cluster_unit_of(const blis_cluster *cluster, uint32_t index);
uint32_t blis_cluster_place_in_unit(const blis_cluster *cluster, uint32_t index);

/* Returns whether instances have roles. */
bool blis_cluster_has_pools(const blis_cluster *cluster);

/*
 * Executes the next event. With a fast engine, this executes all events of one instance at the same
 * time. *done is true if no event remained or the horizon is reached; later calls then have no
 * effect.
 */
BLIS_MUSTUSE blis_status blis_cluster_step(blis_cluster *cluster, bool *done, blis_error *error);

/*
 * Executes every event up to and including limit_us. Afterwards, the clock is at limit_us, or at
 * the last event if none remains. Fast engines run ahead between two cluster events, so the order
 * of records may differ from that of single steps. The records themselves are the same.
 */
BLIS_MUSTUSE blis_status blis_cluster_run_until(blis_cluster *cluster, int64_t limit_us,
                                                blis_error *error);

/*
 * Closes the instances and reports every request that is still waiting or running to the sink, in
 * order of arrival. Checks that the number of arrived requests equals the sum over all final
 * states; otherwise, BLIS_ERR_STUCK. Call it once, after the last event.
 */
BLIS_MUSTUSE blis_status blis_cluster_finish(blis_cluster *cluster, blis_error *error);

/*
 * Calls fn once at at_us, after all other cluster events of that time and before any instance
 * event. BLIS_ERR_INVALID if at_us is in the past. fn may read and schedule anything. A failure of
 * fn stops the run.
 */
BLIS_MUSTUSE blis_status blis_cluster_call_at(blis_cluster *cluster, int64_t at_us,
                                              blis_status (*fn)(void *ud, blis_cluster *cluster,
                                                                blis_error *error),
                                              void *ud, blis_error *error);

/*
 * Failures. Call these functions between steps or from a function of blis_cluster_call_at, but not
 * while an event is executed. Otherwise, and for a missing instance, they return BLIS_ERR_INVALID.
 * Earlier effects remain: a request whose last step has begun is completed, unless
 * rules.leaves_at_step_end is set. After BLIS_ERR_NOMEM, the cluster can only be freed. If no
 * active instance serves a request's model, routing rejects the request with reason no-instance.
 */

/*
 * How requests on a lost instance are handled. Requests that are rerouted or retried start from the
 * beginning, in order of arrival. All their times count from their original arrival.
 */
typedef enum blis_loss_kind {
  /* Requests end in state failed with reason instance-failed. Hand-offs to or from the instance
     follow the hand-off policy. */
  BLIS_LOSS_USUAL,
  BLIS_LOSS_FAILED,   /* all requests of the instance fail */
  BLIS_LOSS_REROUTED, /* requests are routed again, with routing latency */
  BLIS_LOSS_RETRIED,  /* requests are sent again after pause_us, including admission */
  BLIS_LOSS_KIND_COUNT
} blis_loss_kind;

typedef struct blis_loss {
  blis_loss_kind kind;
  int64_t pause_us; /* for BLIS_LOSS_RETRIED */
} blis_loss;

/*
 * Makes the instance fail. Does nothing if it has already failed or drained. BLIS_ERR_STUCK if a
 * request loses its instance for the 10,001st time.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_fail(blis_cluster *cluster, uint32_t index,
                                                    blis_loss loss, blis_error *error);

/*
 * Drains the instance: it gets no more requests, and is removed when it has finished its requests.
 * With re_route, requests that are not running are routed again.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_drain(blis_cluster *cluster, uint32_t index,
                                                     bool re_route, blis_error *error);

/*
 * Makes the instance serve again. After a failure or a completed drain, it has an empty cache and
 * appears as new. Otherwise, it is unchanged. BLIS_ERR_INVALID if it drains or has drained while a
 * feature controls the number of instances, or if no node has enough free GPUs.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_restore(blis_cluster *cluster, uint32_t index,
                                                       blis_error *error);

/*
 * Sets the factor of step times, starting with the next step. A restore does not reset it.
 * Initially 1. factor must be from 1e-3 to 1e6.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_slow(blis_cluster *cluster, uint32_t index,
                                                    double factor, blis_error *error);

/*
 * Clears the prefix cache of the instance (blis_instance_forget_cache). The instance continues to
 * run.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_lose_cache(blis_cluster *cluster, uint32_t index,
                                                          blis_error *error);

blis_service blis_cluster_instance_service(const blis_cluster *cluster, uint32_t index);

/* Returns the cluster's copy of the facts. Strings are never NULL. */
const blis_instance_facts *blis_cluster_instance_facts(const blis_cluster *cluster, uint32_t index);

int64_t blis_cluster_now_us(const blis_cluster *cluster);

/* Returns a request on an instance as policies see it, without its prompt. */
blis_routing_request blis_cluster_show(blis_cluster *cluster, const blis_live_request *live);
void blis_cluster_get_counts(const blis_cluster *cluster, blis_cluster_counts *counts);

/*
 * Returns a hash of the clock, the counters, the requests, and the instances. Two clusters with the
 * same configuration and state have equal hashes. Other clusters almost never do. O(live requests +
 * instances). Compare hashes only within one process.
 */
uint64_t blis_cluster_fingerprint(const blis_cluster *cluster);

/* Returns whether there are requests that have not ended or not arrived yet. */
bool blis_cluster_has_requests(const blis_cluster *cluster);

/* Returns the number of current and former instances. Numbers are never reused. */
uint32_t blis_cluster_instance_count(const blis_cluster *cluster);

/* Returns an instance in its current state; borrowed. index < instance count. */
const blis_instance *blis_cluster_instance(const blis_cluster *cluster, uint32_t index);
/* Returns the ID of an instance (instance_id.h), owned by the cluster. */
const char *blis_cluster_instance_id(const blis_cluster *cluster, uint32_t index);

/*
 * Returns whether signals that accumulate from the start are maintained. This is the case if a
 * policy reads such a signal or might read one.
 */
bool blis_cluster_has_history(const blis_cluster *cluster);

/* Returns the live value of a signal that does not depend on a request. */
double blis_cluster_signal(const blis_cluster *cluster, uint32_t index, blis_signal signal);

/* Like blis_router_change, for later decisions. */
BLIS_MUSTUSE blis_status blis_cluster_change_routing(blis_cluster *cluster,
                                                     const blis_params *params, blis_error *error);

#endif
