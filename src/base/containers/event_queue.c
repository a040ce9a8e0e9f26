#include "base/containers/event_queue.h"

#include "base/array.h"
#include "base/invariant.h"
#include "base/time.h"

enum { ARITY = 4 };

#define NO_SLOT UINT32_MAX

/* The sort key of an event, and the slot that contains its other fields. */
typedef struct node {
  int64_t time_us;
  uint64_t sequence;
  int32_t event_class;
  uint32_t slot;
} node;

/*
 * The part of an event that stays in place when the heap changes. In a free slot, place is the next
 * free slot. The generation counts the events that have used the slot, so that an old handle cannot
 * refer to a new event.
 */
typedef struct slot {
  uint64_t number;
  void *object;
  uint32_t place; /* index into the heap */
  uint32_t generation;
  bool is_pending;
} slot;

/* Main invariant: no event is before its parent, heap[(i - 1) / ARITY]. */
struct blis_event_queue {
  blis_alloc alloc;
  BLIS_ARRAY(node) heap;
  BLIS_ARRAY(slot) slots;
  uint32_t first_free;
  uint64_t next_sequence;
};

blis_event_queue *blis_event_queue_new(const blis_alloc *alloc) {
  blis_event_queue *queue = blis_alloc_zeroed(alloc, 1, sizeof *queue);
  if (queue != NULL) {
    queue->alloc = *alloc;
    queue->first_free = NO_SLOT;
  }
  return queue;
}

void blis_event_queue_free(blis_event_queue *queue) {
  if (queue == NULL) {
    return;
  }
  blis_alloc alloc = queue->alloc;
  blis_array_deinit(&alloc, &queue->heap);
  blis_array_deinit(&alloc, &queue->slots);
  blis_alloc_free(&alloc, queue, sizeof *queue);
}

blis_event blis_event_queue_look(const blis_event_queue *queue, size_t i, uint64_t *sequence) {
  BLIS_ASSERT(i < queue->heap.count);
  const node *n = &queue->heap.items[i];
  const slot *rest = &queue->slots.items[n->slot];
  *sequence = n->sequence;
  return (blis_event){.time_us = n->time_us,
                      .event_class = n->event_class,
                      .number = rest->number,
                      .object = rest->object};
}

size_t blis_event_queue_count(const blis_event_queue *queue) {
  return queue->heap.count;
}

blis_status blis_event_queue_reserve(blis_event_queue *queue, size_t count) {
  if (count >= NO_SLOT) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(&queue->alloc, &queue->heap, count));
  return blis_array_reserve(&queue->alloc, &queue->slots, count);
}

static bool is_before(const node *a, const node *b) {
  if (a->time_us != b->time_us) {
    return a->time_us < b->time_us;
  }
  if (a->event_class != b->event_class) {
    return a->event_class < b->event_class;
  }
  return a->sequence < b->sequence;
}

static void put(blis_event_queue *queue, size_t i, const node *moved) {
  queue->heap.items[i] = *moved;
  queue->slots.items[moved->slot].place = (uint32_t)i;
}

/* Fills the gap at i with *moved or with parents that come after it. */
static void sift_up(blis_event_queue *queue, size_t i, const node *moved) {
  const node *heap = queue->heap.items;
  while (i > 0 && is_before(moved, &heap[(i - 1) / ARITY])) {
    put(queue, i, &heap[(i - 1) / ARITY]);
    i = (i - 1) / ARITY;
  }
  put(queue, i, moved);
}

/* Fills the gap at i with *moved or with children that are due earlier. */
static void sift_down(blis_event_queue *queue, size_t i, const node *moved) {
  const node *heap = queue->heap.items;
  size_t count = queue->heap.count;
  for (size_t child = ARITY * i + 1; child < count; child = ARITY * i + 1) {
    size_t end = child + ARITY < count ? child + ARITY : count;
    size_t first = child;
    for (size_t other = child + 1; other < end; other++) {
      first = is_before(&heap[other], &heap[first]) ? other : first;
    }
    if (!is_before(&heap[first], moved)) {
      break;
    }
    put(queue, i, &heap[first]);
    i = first;
  }
  put(queue, i, moved);
}

/* Moves an event whose order has changed, or that fills a gap, to its position. */
static void settle(blis_event_queue *queue, size_t i, node moved) {
  if (i > 0 && is_before(&moved, &queue->heap.items[(i - 1) / ARITY])) {
    sift_up(queue, i, &moved);
  } else {
    sift_down(queue, i, &moved);
  }
}

/* Takes a slot for a new event. The queue must have a free slot. */
static uint32_t take_slot(blis_event_queue *queue) {
  uint32_t index = queue->first_free;
  if (index == NO_SLOT) {
    index = (uint32_t)queue->slots.count++;
    queue->slots.items[index] = (slot){0};
  } else {
    queue->first_free = queue->slots.items[index].place;
  }
  slot *taken = &queue->slots.items[index];
  BLIS_ASSERT(!taken->is_pending);
  taken->generation++;
  taken->is_pending = true;
  return index;
}

/*
 * Releases a slot. A slot that has used all its generations is never reused, so no handle is ever
 * reused.
 */
static void give_slot(blis_event_queue *queue, uint32_t index) {
  slot *given = &queue->slots.items[index];
  BLIS_ASSERT(given->is_pending);
  given->is_pending = false;
  if (given->generation < UINT32_MAX) {
    given->place = queue->first_free;
    queue->first_free = index;
  }
}

blis_status blis_event_queue_push(blis_event_queue *queue, const blis_event *event,
                                  blis_event_handle *handle) {
  size_t count = queue->heap.count + 1;
  BLIS_TRY(blis_array_reserve(&queue->alloc, &queue->heap, count));
  if (queue->first_free == NO_SLOT) {
    BLIS_TRY(blis_event_queue_reserve(queue, queue->slots.count + 1));
  }
  uint32_t index = take_slot(queue);
  slot *taken = &queue->slots.items[index];
  taken->number = event->number;
  taken->object = event->object;
  if (handle != NULL) {
    *handle = (uint64_t)taken->generation << 32 | index;
  }
  const node added = {.time_us = event->time_us,
                      .sequence = queue->next_sequence++,
                      .event_class = event->event_class,
                      .slot = index};
  queue->heap.count = count;
  sift_up(queue, count - 1, &added);
  BLIS_INVARIANT(blis_event_queue_check(queue));
  return BLIS_OK;
}

bool blis_event_queue_peek(const blis_event_queue *queue, blis_event *event) {
  if (queue->heap.count == 0) {
    return false;
  }
  const node *first = &queue->heap.items[0];
  const slot *rest = &queue->slots.items[first->slot];
  *event = (blis_event){.time_us = first->time_us,
                        .event_class = first->event_class,
                        .number = rest->number,
                        .object = rest->object};
  return true;
}

int64_t blis_event_queue_next_us(const blis_event_queue *queue) {
  return queue->heap.count > 0 ? queue->heap.items[0].time_us : BLIS_TIME_NEVER_US;
}

static void take_out(blis_event_queue *queue, size_t i) {
  BLIS_ASSERT(queue->slots.items[queue->heap.items[i].slot].place == i);
  give_slot(queue, queue->heap.items[i].slot);
  size_t last = --queue->heap.count;
  if (i != last) {
    settle(queue, i, queue->heap.items[last]);
  }
  BLIS_INVARIANT(blis_event_queue_check(queue));
}

bool blis_event_queue_pop(blis_event_queue *queue, blis_event *event) {
  if (!blis_event_queue_peek(queue, event)) {
    return false;
  }
  take_out(queue, 0);
  return true;
}

/* Returns the slot of a pending event, or NULL. */
static const slot *slot_of(const blis_event_queue *queue, blis_event_handle handle) {
  uint32_t index = (uint32_t)handle;
  if (index >= queue->slots.count) {
    return NULL;
  }
  const slot *found = &queue->slots.items[index];
  bool is_same = found->is_pending && found->generation == handle >> 32;
  return is_same ? found : NULL;
}

bool blis_event_queue_cancel(blis_event_queue *queue, blis_event_handle handle) {
  const slot *found = slot_of(queue, handle);
  if (found == NULL) {
    return false;
  }
  take_out(queue, found->place);
  return true;
}

bool blis_event_queue_reschedule(blis_event_queue *queue, blis_event_handle handle,
                                 int64_t time_us) {
  const slot *found = slot_of(queue, handle);
  if (found == NULL) {
    return false;
  }
  node moved = queue->heap.items[found->place];
  moved.time_us = time_us;
  moved.sequence = queue->next_sequence++;
  settle(queue, found->place, moved);
  BLIS_INVARIANT(blis_event_queue_check(queue));
  return true;
}

bool blis_event_queue_check(const blis_event_queue *queue) {
  const node *heap = queue->heap.items;
  for (size_t i = 0; i < queue->heap.count; i++) {
    const slot *rest = &queue->slots.items[heap[i].slot];
    if (rest->place != i || !rest->is_pending) {
      return false;
    }
    if (i > 0 && is_before(&heap[i], &heap[(i - 1) / ARITY])) {
      return false;
    }
  }
  size_t pending = 0;
  for (size_t i = 0; i < queue->slots.count; i++) {
    pending += queue->slots.items[i].is_pending;
  }
  return pending == queue->heap.count;
}
