/*
 * waiting_room.h - requests that wait before routing for an instance that may serve
 * them, in order of arrival.
 *
 * They wait if an instance is expected: a feature maintains a number of instances,
 * or an instance starts, recovers from a failure, or will recover. Otherwise a
 * request without candidates is rejected, as without a waiting room. A request
 * waits at most until its deadline; it is rejected at that time, reason
 * no-instance.
 */
#ifndef BLIS_CLUSTER_WAITING_ROOM_H
#define BLIS_CLUSTER_WAITING_ROOM_H

#include "cluster/state.h"

typedef struct blis__waiting_room {
  BLIS_ARRAY(blis__cluster_request *) waiting; /* some may be NULL: gone */
  /* A feature maintains a number of instances: of any role, or of these roles. */
  bool keeps_any;
  uint32_t kept_roles;
  int64_t count;
  int64_t waited;       /* requests that ever did */
  int64_t waited_us;    /* sum over all requests */
  int64_t longest_us;   /* any of them */
  int64_t most_waiting; /* at one time */
} blis__waiting_room;

/* A request that waits has a new deadline, live.deadline_us, which is after the clock's time. */
BLIS_MUSTUSE blis_status blis__waiting_leave_at(blis_cluster *cluster,
                                                blis__cluster_request *request, blis_error *error);

/* There is none so far. */
BLIS_MUSTUSE blis_status blis__add_waiting_room(blis_cluster *cluster);

/*
 * The request is at routing, and there is a pending queue. *waits is set if the
 * request waits there now: no instance in service serves its model in this role,
 * but one will.
 */
BLIS_MUSTUSE blis_status blis__wait_for_candidates(blis_cluster *cluster,
                                                   blis__cluster_request *request, uint32_t role,
                                                   bool *waits, blis_error *error);

#endif
