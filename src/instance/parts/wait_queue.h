/*
 * wait_queue.h - the waiting requests of one engine in the order of its scheduler.
 *
 * Arrivals are added at the back and preempted requests at the front. order() sorts stably by the
 * scheduler's key; under FCFS it does nothing. All other built-in orders are total: ties are broken
 * by arrival time, then by the number of the request. With orders_ids_as_text, the bytes of the
 * request ID replace the number, as in BLIS (Go, inference-sim f90a1e3a).
 *
 * Main invariant: the queue is a doubly linked list of nodes that are embedded in their owners, so
 * it allocates no memory. Changes are O(1). order() is O(n log n) after changes. Without changes,
 * it is O(n) for a scripted scheduler and O(1) for the others.
 */
#ifndef BLIS_INSTANCE_PARTS_WAIT_QUEUE_H
#define BLIS_INSTANCE_PARTS_WAIT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "instance/config/instance_config.h"

/* An entry of the queue. The owner sets request; the links are private. */
typedef struct blis__waiting {
  blis_live_request *request;
  struct blis__waiting *before;
  struct blis__waiting *after;
} blis__waiting;

typedef struct blis__wait_queue {
  const blis_instance_config *config; /* the scheduler; borrowed */
  blis__waiting *head;                /* scheduled next; NULL if the queue is empty */
  blis__waiting *tail;
  int64_t count;
  bool is_ordered; /* nothing was added since the last order(); always true under FCFS */
} blis__wait_queue;

/* Initializes an empty queue. */
void blis__wait_queue_init(blis__wait_queue *queue, const blis_instance_config *config);

void blis__wait_queue_push_back(blis__wait_queue *queue, blis__waiting *node);
void blis__wait_queue_push_front(blis__wait_queue *queue, blis__waiting *node);

/* Removes a node of the queue. */
void blis__wait_queue_remove(blis__wait_queue *queue, blis__waiting *node);

/*
 * Sorts the queue into the scheduler's order. If a scripted scheduler fails, the queue is intact,
 * but its order is undefined.
 */
BLIS_MUSTUSE blis_status blis__wait_queue_order(blis__wait_queue *queue, blis_error *error);

/* Walks the queue. Returns whether the links and the count agree. */
bool blis__wait_queue_check(const blis__wait_queue *queue);

#endif
