/*
 * waiter.h - waits for many sockets and a deadline with microsecond resolution; for observe files
 * only. O(ready sockets) with epoll (Linux), O(sockets) elsewhere.
 */
#ifndef BLIS_OBSERVE_WAITER_H
#define BLIS_OBSERVE_WAITER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

#define BLIS__WAIT_FOREVER INT64_MAX

typedef struct blis__waiter {
  blis_alloc alloc;
  int epoll;
  int timer;
  BLIS_ARRAY(struct pollfd) sockets; /* used without epoll */
} blis__waiter;

void blis__waiter_init(blis__waiter *waiter);
BLIS_MUSTUSE blis_status blis__waiter_open(blis__waiter *waiter, const blis_alloc *alloc,
                                           blis_error *error);
void blis__waiter_close(blis__waiter *waiter);

/* Adds a socket to the wait set, or changes it. is_known: the socket is already in the set. */
void blis__waiter_set(blis__waiter *waiter, int socket, bool is_known, bool reads, bool writes);
void blis__waiter_remove(blis__waiter *waiter, int socket);

/* Waits until a time of CLOCK_MONOTONIC. Returns earlier if it has called `ready` for some
   sockets. */
void blis__waiter_wait(blis__waiter *waiter, int64_t until_ns,
                       void (*ready)(void *ud, int socket, bool reads, bool writes, bool fails),
                       void *ud);

#endif
