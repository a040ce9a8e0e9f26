/*
 * event_queue.h - pending events in the order of (time, class, sequence).
 *
 * The sequence counts pushes, so events of equal time and class are removed in FIFO order. Every
 * event can be canceled or moved through the handle that its push returned. push, pop, cancel, and
 * reschedule are O(log n), peek is O(1). Memory is allocated only when the queue is larger than
 * ever before.
 */
#ifndef BLIS_BASE_CONTAINERS_EVENT_QUEUE_H
#define BLIS_BASE_CONTAINERS_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

/* Identifies a pending event; never reused in the same queue. */
typedef uint64_t blis_event_handle;

/* The handle of no event. */
#define BLIS_EVENT_NONE UINT64_C(0)

typedef struct blis_event {
  int64_t time_us;
  int32_t event_class; /* among equal times, lower classes are first */
  uint64_t number;     /* the caller's */
  void *object;        /* the caller's, borrowed */
} blis_event;

typedef struct blis_event_queue blis_event_queue;

/* Copies *alloc. NULL = out of memory. */
blis_event_queue *blis_event_queue_new(const blis_alloc *alloc);

/* Drops pending events; NULL is allowed. */
void blis_event_queue_free(blis_event_queue *queue);

size_t blis_event_queue_count(const blis_event_queue *queue);

/* Reserves space for a total of count events. */
BLIS_MUSTUSE blis_status blis_event_queue_reserve(blis_event_queue *queue, size_t count);

/*
 * Copies *event. handle may be NULL. BLIS_ERR_NOMEM leaves the queue unchanged; it also reports
 * more than 2^32-1 pending events.
 */
BLIS_MUSTUSE blis_status blis_event_queue_push(blis_event_queue *queue, const blis_event *event,
                                               blis_event_handle *handle);

/* Copies the next event and leaves it in the queue. Returns false if the queue is empty. */
bool blis_event_queue_peek(const blis_event_queue *queue, blis_event *event);

/*
 * Returns pending event i < count, in no particular order. Use it to inspect all events. Events of
 * equal time and class are due in the order of *sequence.
 */
blis_event blis_event_queue_look(const blis_event_queue *queue, size_t i, uint64_t *sequence);

/* Returns the next event's time; BLIS_TIME_NEVER_US if the queue is empty. */
int64_t blis_event_queue_next_us(const blis_event_queue *queue);

/* Removes the next event. Returns false if the queue is empty. */
bool blis_event_queue_pop(blis_event_queue *queue, blis_event *event);

/* Removes an event. Returns false if it is no longer pending. */
bool blis_event_queue_cancel(blis_event_queue *queue, blis_event_handle handle);

/*
 * Moves an event to another time, after the events already there, as if it were canceled and pushed
 * again. The handle stays valid. Returns false if the event is no longer pending.
 */
bool blis_event_queue_reschedule(blis_event_queue *queue, blis_event_handle handle,
                                 int64_t time_us);

/* Walks the queue, O(n). Returns whether every invariant holds. */
bool blis_event_queue_check(const blis_event_queue *queue);

#endif
