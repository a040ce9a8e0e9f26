/*
 * service.h - whether instances serve, and the time that they spent in each state.
 *
 * Every change of a state goes through blis__set_service, which asserts that it is
 * a step of the life cycle, updates the candidates and the times, and notifies
 * listeners (BLIS__SERVICE_CHANGED).
 *
 * All instances of a unit (units.h) change together: a change of one instance here
 * is applied to its whole unit.
 */
#ifndef BLIS_CLUSTER_SERVICE_H
#define BLIS_CLUSTER_SERVICE_H

#include "cluster/state.h"

struct blis__service_times {
  int64_t since_us; /* in its present state */
  int64_t spent_us[BLIS_SERVICE_COUNT];
  /* Time in paid states that was not paid, because another instance had its place. */
  int64_t unpaid_us;
  bool will_recover;  /* it is down or about to be, and will recover */
  bool is_given_back; /* it has failed, and another instance has its place */
};

/* In a state before its first request. */
static inline bool blis__is_starting(blis_service service) {
  return service >= BLIS_SERVICE_REQUESTED && service <= BLIS_SERVICE_WARMING;
}

/* Its engine has requests, or could have them; the engines of other instances are empty. */
static inline bool blis__is_up(blis_service service) {
  return service == BLIS_SERVICE_ACTIVE || service == BLIS_SERVICE_DRAINING;
}

BLIS_MUSTUSE blis_status blis__set_service(blis_cluster *cluster, uint32_t index,
                                           blis_service service, blis_error *error);

/* Sets whether the group will recover. */
void blis__set_will_recover(const blis_cluster *cluster, uint32_t index, bool will_recover);

/* Whether an instance that is down may recover; a drained instance does not if a feature
   maintains a number of instances. */
bool blis__may_recover(const blis_cluster *cluster, uint32_t index);

/* Whether it does not serve, or only for a short time, but will serve later. */
bool blis__will_serve(const blis_cluster *cluster, uint32_t index);

/* BLIS_ERR_INVALID: there is no such instance, or it is no time to change it.
 */
BLIS_MUSTUSE blis_status blis__check_changeable(const blis_cluster *cluster, uint32_t index,
                                                blis_error *error);

/* Why steps take longer; factors multiply. */
typedef enum blis__slowness {
  BLIS__SLOW_BY_CALL,
  BLIS__SLOW_BY_WARMING,
  BLIS__SLOWNESS_COUNT
} blis__slowness;

struct blis__speed {
  double factors[BLIS__SLOWNESS_COUNT]; /* 0 = 1 */
};

/* From its next step on; factor 1 = no longer for that reason. */
void blis__slow_down(blis_cluster *cluster, uint32_t index, blis__slowness reason, double factor);

/* Applies to every instance of its group. */
void blis__slow_down_group(blis_cluster *cluster, uint32_t index, blis__slowness reason,
                           double factor);

/* Factor of the durations of its work, for all reasons together. */
double blis__slowness_of(const blis_cluster *cluster, uint32_t index);

/* Records a change of the instance from outside its own events. */
void blis__note_instance_change(blis_cluster *cluster, uint32_t index);
void blis__note_group_change(blis_cluster *cluster, uint32_t index);

/* Drops the state of the engine and its cache. It must have no requests. */
BLIS_MUSTUSE blis_status blis__restart_instance(blis_cluster *cluster, uint32_t index,
                                                blis_error *error);

/* Which requests leave the instances of a group, and how they are handled. */
typedef struct blis__eviction {
  uint32_t index;
  bool spares_running;
  blis_loss loss;
  const char *reason; /* static; why they fail, if they do */
} blis__eviction;

/* Evicts in order of arrival; routers see the instances in their new state. */
BLIS_MUSTUSE blis_status blis__evict_all(blis_cluster *cluster, const blis__eviction *how,
                                         blis_error *error);

/* Ends the drain of an instance without requests. */
BLIS_MUSTUSE blis_status blis__check_drained(blis_cluster *cluster, uint32_t index,
                                             blis_error *error);

/* From the first drain on, requests that leave are looked at. */
BLIS_MUSTUSE blis_status blis__add_drains(blis_cluster *cluster);

#endif
