/*
 * waiting_room.h - requests that wait, before routing, for an instance that may serve them, in
 * order of arrival.
 *
 * Requests wait if an instance is expected, because a feature controls the number of instances, or
 * because an instance starts, recovers from a failure, or will recover. Otherwise, a request
 * without candidates is rejected, as without a waiting room. A request waits at most until its
 * deadline, and is then rejected with reason no-instance.
 */
#ifndef BLIS_CLUSTER_WAITING_ROOM_H
#define BLIS_CLUSTER_WAITING_ROOM_H

#include "cluster/state.h"

typedef struct blis__waiting_room {
  BLIS_ARRAY(blis__cluster_request *) waiting; /* entries of requests that have left are NULL */
  /* A feature controls the number of instances of any role, or of these roles. */
  bool keeps_any;
  uint32_t kept_roles;
  int64_t count;
  int64_t waited;       /* number of requests that have waited */
  int64_t waited_us;    /* total wait of all requests */
  int64_t longest_us;   /* maximum wait of a request */
  int64_t most_waiting; /* maximum number of waiting requests */
} blis__waiting_room;

/*
 * Updates a waiting request after a change of its deadline, live.deadline_us, which must be in the
 * future.
 */
BLIS_MUSTUSE blis_status blis__waiting_leave_at(blis_cluster *cluster,
                                                blis__cluster_request *request, blis_error *error);

/* Creates the waiting room, which must not exist yet. */
BLIS_MUSTUSE blis_status blis__add_waiting_room(blis_cluster *cluster);

/*
 * Makes a request at routing wait if no instance in service serves its model in this role, but one
 * is expected to. *waits is set to whether it waits. The waiting room must exist.
 */
BLIS_MUSTUSE blis_status blis__wait_for_candidates(blis_cluster *cluster,
                                                   blis__cluster_request *request, uint32_t role,
                                                   bool *waits, blis_error *error);

#endif
