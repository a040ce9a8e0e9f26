/*
 * service.h - the service states of instances, and the time spent in each state.
 *
 * Every state change goes through blis__set_service. It asserts that the change is a valid step of
 * the lifecycle, updates the candidates and the times, and notifies listeners
 * (BLIS__SERVICE_CHANGED).
 *
 * All instances of a unit (units.h) change together. A change of one instance is applied to its
 * whole unit.
 */
#ifndef BLIS_CLUSTER_SERVICE_H
#define BLIS_CLUSTER_SERVICE_H

#include "cluster/state.h"

struct blis__service_times {
  int64_t since_us; /* start of its current state */
  int64_t spent_us[BLIS_SERVICE_COUNT];
  /* Time in billed states that was not billed, because another instance used its node. */
  int64_t unpaid_us;
  bool will_recover;  /* it is down or about to go down, and will recover */
  bool is_given_back; /* it has failed, and another instance uses its node */
};

/* Returns whether the state precedes the first request of an instance. */
static inline bool blis__is_starting(blis_service service) {
  return service >= BLIS_SERVICE_REQUESTED && service <= BLIS_SERVICE_WARMING;
}

/*
 * Returns whether the engine of an instance may have requests. In other states, the engine is
 * empty.
 */
static inline bool blis__is_up(blis_service service) {
  return service == BLIS_SERVICE_ACTIVE || service == BLIS_SERVICE_DRAINING;
}

BLIS_MUSTUSE blis_status blis__set_service(blis_cluster *cluster, uint32_t index,
                                           blis_service service, blis_error *error);

/* Sets whether the group will recover. */
void blis__set_will_recover(const blis_cluster *cluster, uint32_t index, bool will_recover);

/* Returns whether an instance that is down may recover. A drained instance may not if a feature
   controls the number of instances. */
bool blis__may_recover(const blis_cluster *cluster, uint32_t index);

/* Returns whether an instance does not serve, or not for much longer, but will serve later. */
bool blis__will_serve(const blis_cluster *cluster, uint32_t index);

/* Returns BLIS_ERR_INVALID if there is no such instance or if it must not be changed at this time.
 */
BLIS_MUSTUSE blis_status blis__check_changeable(const blis_cluster *cluster, uint32_t index,
                                                blis_error *error);

/* The reason for a slowdown of steps. Factors are multiplied. */
typedef enum blis__slowness {
  BLIS__SLOW_BY_CALL,
  BLIS__SLOW_BY_WARMING,
  BLIS__SLOWNESS_COUNT
} blis__slowness;

struct blis__speed {
  double factors[BLIS__SLOWNESS_COUNT]; /* 0 means 1 */
};

/*
 * Sets the factor of a reason, starting with the next step. A factor of 1 ends the slowdown for
 * this reason.
 */
void blis__slow_down(blis_cluster *cluster, uint32_t index, blis__slowness reason, double factor);

/* Like blis__slow_down, for every instance of the group. */
void blis__slow_down_group(blis_cluster *cluster, uint32_t index, blis__slowness reason,
                           double factor);

/* Returns the product of the factors for all reasons. */
double blis__slowness_of(const blis_cluster *cluster, uint32_t index);

/* Records a change of an instance that was not caused by its own events. */
void blis__note_instance_change(blis_cluster *cluster, uint32_t index);
void blis__note_group_change(blis_cluster *cluster, uint32_t index);

/* Clears the state of the engine and its cache. The engine must have no requests. */
BLIS_MUSTUSE blis_status blis__restart_instance(blis_cluster *cluster, uint32_t index,
                                                blis_error *error);

/* Describes which requests are evicted from the instances of a group, and how these are handled. */
typedef struct blis__eviction {
  uint32_t index;
  bool spares_running;
  blis_loss loss;
  const char *reason; /* static; the reason if they fail */
} blis__eviction;

/* Evicts the requests in order of arrival. Routers see the instances in their new state. */
BLIS_MUSTUSE blis_status blis__evict_all(blis_cluster *cluster, const blis__eviction *how,
                                         blis_error *error);

/* Ends the drain of an instance without requests. */
BLIS_MUSTUSE blis_status blis__check_drained(blis_cluster *cluster, uint32_t index,
                                             blis_error *error);

/* Adds a listener that checks departing requests. Called at the first drain. */
BLIS_MUSTUSE blis_status blis__add_drains(blis_cluster *cluster);

#endif
