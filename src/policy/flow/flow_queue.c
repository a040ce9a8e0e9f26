#include "policy/flow/flow_queue.h"

#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/map.h"
#include "base/node_heap.h"
#include "policy/flow/flow_service.h"

typedef struct flow flow;
typedef struct band band;
typedef struct entry entry;

/* A neighbour in a list from the oldest to the newest. */
typedef struct link {
  entry *older;
  entry *newer;
} link;

struct entry {
  blis_heap_node node; /* in its flow, by order; first, so that it is found */
  blis_flow_item item;
  flow *flow;
  link in_flow;
  link in_queue;
};

typedef struct list {
  entry *oldest;
  entry *newest;
} list;

/* A tenant that waits; it goes with its last entry. */
struct flow {
  blis_heap_node node; /* in its band, by what strict goes by; first */
  uint32_t tenant;
  const char *name;
  int64_t count;
  blis_node_heap entries;
  list by_age;
};

struct band {
  int32_t priority;
  int64_t count;
  int64_t bytes;
  int64_t idle_since_us;
  blis_node_heap heads;     /* of the flows */
  BLIS_ARRAY(flow *) flows; /* the same, by name */
  const char *last_served;  /* name of a tenant; NULL = none yet */
};

struct blis_flow_queue {
  blis_alloc alloc;
  blis_flow_limits limits;
  blis_flow_fairness fairness;
  const blis_intern *strings;
  blis_flow_service *service;
  BLIS_ARRAY(band *) bands; /* from the highest priority down */
  blis_map entries;         /* by handle */
  list by_age;
  int64_t count;
  int64_t bytes;
  uint64_t next_sequence;
  BLIS_ARRAY(blis_flow_claim) claims; /* of one choice */
};

/* Lists: which link of an entry is told by its offset. */

static link *link_of(entry *item, size_t offset) {
  return (link *)((char *)item + offset);
}

static void list_append(list *to, entry *item, size_t offset) {
  *link_of(item, offset) = (link){.older = to->newest};
  if (to->newest == NULL) {
    to->oldest = item;
  } else {
    link_of(to->newest, offset)->newer = item;
  }
  to->newest = item;
}

static void list_remove(list *from, entry *item, size_t offset) {
  link *its = link_of(item, offset);
  if (its->older == NULL) {
    from->oldest = its->newer;
  } else {
    link_of(its->older, offset)->newer = its->newer;
  }
  if (its->newer == NULL) {
    from->newest = its->older;
  } else {
    link_of(its->newer, offset)->older = its->older;
  }
}

#define IN_FLOW offsetof(entry, in_flow)
#define IN_QUEUE offsetof(entry, in_queue)

/* Making and ending */

blis_flow_queue *blis_flow_queue_new(const blis_alloc *alloc,
                                     const blis_flow_limits *limits,
                                     blis_flow_fairness fairness,
                                     const blis_intern *strings,
                                     blis_flow_service *service) {
  blis_flow_queue *queue = blis_alloc_new(alloc, sizeof *queue);
  if (queue != NULL) {
    *queue = (blis_flow_queue){.alloc = *alloc,
                               .limits = *limits,
                               .fairness = fairness,
                               .strings = strings,
                               .service = service,
                               .next_sequence = 1};
    blis_map_init(&queue->entries, alloc);
  }
  return queue;
}

static void free_flow(blis_flow_queue *queue, flow *its) {
  blis_node_heap_deinit(&its->entries, &queue->alloc);
  blis_alloc_free(&queue->alloc, its, sizeof *its);
}

static void free_band(blis_flow_queue *queue, band *its) {
  for (size_t i = 0; i < its->flows.count; i++) {
    free_flow(queue, its->flows.items[i]);
  }
  blis_array_deinit(&queue->alloc, &its->flows);
  blis_node_heap_deinit(&its->heads, &queue->alloc);
  blis_alloc_free(&queue->alloc, its, sizeof *its);
}

void blis_flow_queue_free(blis_flow_queue *queue) {
  if (queue == NULL) {
    return;
  }
  blis_alloc alloc = queue->alloc;
  while (queue->by_age.oldest != NULL) {
    entry *item = queue->by_age.oldest;
    list_remove(&queue->by_age, item, IN_QUEUE);
    blis_alloc_free(&alloc, item, sizeof *item);
  }
  for (size_t i = 0; i < queue->bands.count; i++) {
    free_band(queue, queue->bands.items[i]);
  }
  blis_array_deinit(&alloc, &queue->bands);
  blis_array_deinit(&alloc, &queue->claims);
  blis_map_deinit(&queue->entries);
  blis_alloc_free(&alloc, queue, sizeof *queue);
}

/* Bands and flows: found, or made where they belong */

static blis_status band_for(blis_flow_queue *queue, int32_t priority,
                            int64_t now_us, band **found) {
  size_t place = 0;
  while (place < queue->bands.count &&
         queue->bands.items[place]->priority > priority) {
    place++;
  }
  if (place < queue->bands.count &&
      queue->bands.items[place]->priority == priority) {
    *found = queue->bands.items[place];
    return BLIS_OK;
  }
  BLIS_TRY(
      blis_array_reserve(&queue->alloc, &queue->bands, queue->bands.count + 1));
  band *made = blis_alloc_new(&queue->alloc, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *made = (band){.priority = priority, .idle_since_us = now_us};
  memmove(&queue->bands.items[place + 1], &queue->bands.items[place],
          (queue->bands.count - place) * sizeof(band *));
  queue->bands.items[place] = made;
  queue->bands.count++;
  *found = made;
  return BLIS_OK;
}

/* Index of the first flow whose name is not before name. */
static size_t flow_place(const band *in, const char *name) {
  size_t low = 0;
  size_t high = in->flows.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (strcmp(in->flows.items[middle]->name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool is_flow_at(const band *in, size_t place, const char *name) {
  return place < in->flows.count &&
         strcmp(in->flows.items[place]->name, name) == 0;
}

/* What strict goes by, of a flow that is not empty. */
static void set_head(const blis_flow_queue *queue, flow *its) {
  const entry *head = queue->fairness == BLIS_FLOW_STRICT_FIFO
                          ? its->by_age.oldest
                          : (const entry *)blis_node_heap_first(&its->entries);
  its->node.key = queue->fairness == BLIS_FLOW_STRICT_FIFO ? 0 : head->node.key;
  its->node.sequence = head->node.sequence;
}

static blis_status insert_flow(blis_flow_queue *queue, band *in, size_t place,
                               flow *made) {
  BLIS_TRY(blis_array_reserve(&queue->alloc, &in->flows, in->flows.count + 1));
  BLIS_TRY(
      blis_array_reserve(&queue->alloc, &queue->claims, in->flows.count + 1));
  BLIS_TRY(blis_node_heap_add(&in->heads, &queue->alloc, &made->node));
  memmove(&in->flows.items[place + 1], &in->flows.items[place],
          (in->flows.count - place) * sizeof(flow *));
  in->flows.items[place] = made;
  in->flows.count++;
  return BLIS_OK;
}

/* A flow of this one entry. */
static blis_status add_flow(blis_flow_queue *queue, band *in, size_t place,
                            const char *name, entry *item) {
  flow *made = blis_alloc_new(&queue->alloc, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *made = (flow){.tenant = item->item.tenant, .name = name, .count = 1};
  made->node.key =
      queue->fairness == BLIS_FLOW_STRICT_FIFO ? 0 : item->node.key;
  made->node.sequence = item->node.sequence;
  if (blis_node_heap_add(&made->entries, &queue->alloc, &item->node) !=
          BLIS_OK ||
      insert_flow(queue, in, place, made) != BLIS_OK) {
    free_flow(queue, made);
    return BLIS_ERR_NOMEM;
  }
  item->flow = made;
  return BLIS_OK;
}

static blis_status join_flow(blis_flow_queue *queue, band *in, entry *item) {
  const char *name = blis_intern_text(queue->strings, item->item.tenant);
  size_t place = flow_place(in, name);
  if (!is_flow_at(in, place, name)) {
    BLIS_TRY(add_flow(queue, in, place, name, item));
    list_append(&item->flow->by_age, item, IN_FLOW);
    return BLIS_OK;
  }
  flow *its = in->flows.items[place];
  BLIS_TRY(blis_node_heap_add(&its->entries, &queue->alloc, &item->node));
  item->flow = its;
  its->count++;
  list_append(&its->by_age, item, IN_FLOW);
  set_head(queue, its);
  blis_node_heap_update(&in->heads, &its->node);
  return BLIS_OK;
}

/* Leaving */

static band *band_of(const blis_flow_queue *queue, int32_t priority) {
  for (size_t i = 0; i < queue->bands.count; i++) {
    if (queue->bands.items[i]->priority == priority) {
      return queue->bands.items[i];
    }
  }
  return NULL;
}

static void drop_flow(blis_flow_queue *queue, band *in, flow *its) {
  size_t place = flow_place(in, its->name);
  blis_node_heap_remove(&in->heads, &its->node);
  in->flows.count--;
  memmove(&in->flows.items[place], &in->flows.items[place + 1],
          (in->flows.count - place) * sizeof(flow *));
  free_flow(queue, its);
}

static blis_flow_item leave(blis_flow_queue *queue, entry *item,
                            int64_t now_us) {
  blis_flow_item left = item->item;
  band *in = band_of(queue, left.priority);
  flow *its = item->flow;
  blis_node_heap_remove(&its->entries, &item->node);
  list_remove(&its->by_age, item, IN_FLOW);
  list_remove(&queue->by_age, item, IN_QUEUE);
  if (--its->count == 0) {
    drop_flow(queue, in, its);
  } else {
    set_head(queue, its);
    blis_node_heap_update(&in->heads, &its->node);
  }
  in->count--;
  in->bytes -= left.size_bytes;
  in->idle_since_us = now_us;
  queue->count--;
  queue->bytes -= left.size_bytes;
  blis_map_remove(&queue->entries, left.handle);
  blis_alloc_free(&queue->alloc, item, sizeof *item);
  return left;
}

/* Adding */

static bool is_over(int64_t limit, int64_t wanted) {
  return limit > 0 && wanted > limit;
}

static blis_flow_verdict room_for(const blis_flow_queue *queue, const band *in,
                                  int64_t size_bytes) {
  const blis_flow_limits *limits = &queue->limits;
  if (is_over(limits->band_max_requests, in->count + 1)) {
    return BLIS_FLOW_BAND_FULL_REQUESTS;
  }
  if (is_over(limits->band_max_bytes, in->bytes + size_bytes)) {
    return BLIS_FLOW_BAND_FULL_BYTES;
  }
  if (is_over(limits->max_bytes, queue->bytes + size_bytes)) {
    return BLIS_FLOW_FULL_BYTES;
  }
  return is_over(limits->max_requests, queue->count + 1)
             ? BLIS_FLOW_FULL_REQUESTS
             : BLIS_FLOW_QUEUED;
}

/* The newest entry of the lowest band that waits, if that may be shed for one
   of this priority. */
static entry *victim_for(const blis_flow_queue *queue, int32_t priority) {
  if (!queue->limits.sheds) {
    return NULL;
  }
  for (size_t b = queue->bands.count; b-- > 0;) {
    const band *in = queue->bands.items[b];
    if (in->count == 0) {
      continue;
    }
    if (in->priority >= 0 || in->priority >= priority) {
      return NULL;
    }
    entry *newest = in->flows.items[0]->by_age.newest;
    for (size_t f = 1; f < in->flows.count; f++) {
      entry *other = in->flows.items[f]->by_age.newest;
      if (other->node.sequence > newest->node.sequence) {
        newest = other;
      }
    }
    return newest;
  }
  return NULL;
}

static blis_status enter(blis_flow_queue *queue, band *in,
                         const blis_flow_item *item) {
  entry *made = blis_alloc_new(&queue->alloc, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *made =
      (entry){.node = {.key = item->order, .sequence = queue->next_sequence},
              .item = *item};
  blis_status status =
      blis_map_put(&queue->entries, item->handle, (uintptr_t)made);
  if (status == BLIS_OK) {
    status = join_flow(queue, in, made);
    if (status != BLIS_OK) {
      blis_map_remove(&queue->entries, item->handle);
    }
  }
  if (status != BLIS_OK) {
    blis_alloc_free(&queue->alloc, made, sizeof *made);
    return status;
  }
  list_append(&queue->by_age, made, IN_QUEUE);
  in->count++;
  in->bytes += item->size_bytes;
  queue->count++;
  queue->bytes += item->size_bytes;
  return BLIS_OK;
}

blis_status blis_flow_queue_add(blis_flow_queue *queue,
                                const blis_flow_item *item,
                                blis_flow_verdict *verdict, bool *has_displaced,
                                blis_flow_item *displaced) {
  band *in;
  BLIS_TRY(band_for(queue, item->priority, item->enqueue_us, &in));
  *has_displaced = false;
  *verdict = room_for(queue, in, item->size_bytes);
  entry *victim = *verdict == BLIS_FLOW_FULL_REQUESTS
                      ? victim_for(queue, item->priority)
                      : NULL;
  if (victim != NULL) {
    *verdict = BLIS_FLOW_QUEUED;
  }
  if (*verdict == BLIS_FLOW_QUEUED) {
    BLIS_TRY(enter(queue, in, item));
  }
  if (victim != NULL) {
    *has_displaced = true;
    *displaced = leave(queue, victim, item->enqueue_us);
  }
  queue->next_sequence++;
  return BLIS_OK;
}

bool blis_flow_queue_remove(blis_flow_queue *queue, uint64_t handle,
                            int64_t now_us) {
  uint64_t *found = blis_map_find(&queue->entries, handle);
  if (found == NULL) {
    return false;
  }
  (void)leave(queue, (entry *)(uintptr_t)*found, now_us);
  return true;
}

/* Looking */

bool blis_flow_queue_oldest(const blis_flow_queue *queue,
                            blis_flow_item *item) {
  if (queue->by_age.oldest == NULL) {
    return false;
  }
  *item = queue->by_age.oldest->item;
  return true;
}

int64_t blis_flow_queue_count(const blis_flow_queue *queue) {
  return queue->count;
}

int64_t blis_flow_queue_bytes(const blis_flow_queue *queue) {
  return queue->bytes;
}

size_t blis_flow_queue_band_count(const blis_flow_queue *queue) {
  return queue->bands.count;
}

blis_flow_band blis_flow_queue_band(const blis_flow_queue *queue,
                                    size_t index) {
  const band *its = queue->bands.items[index];
  return (blis_flow_band){.priority = its->priority,
                          .count = its->count,
                          .bytes = its->bytes,
                          .idle_since_us = its->idle_since_us};
}

void blis_flow_queue_forget_bands(blis_flow_queue *queue, int64_t before_us) {
  size_t kept = 0;
  for (size_t i = 0; i < queue->bands.count; i++) {
    band *its = queue->bands.items[i];
    if (its->count == 0 && its->idle_since_us < before_us) {
      free_band(queue, its);
    } else {
      queue->bands.items[kept++] = its;
    }
  }
  queue->bands.count = kept;
}

size_t blis_flow_queue_flow_count(const blis_flow_queue *queue, size_t index) {
  return queue->bands.items[index]->flows.count;
}

blis_flow blis_flow_queue_flow(const blis_flow_queue *queue, size_t index,
                               size_t place) {
  const flow *its = queue->bands.items[index]->flows.items[place];
  const entry *head = (const entry *)blis_node_heap_first(&its->entries);
  return (blis_flow){
      .tenant = its->tenant, .count = its->count, .head = head->item};
}

/* Taking */

/* The first tenant behind the last served, going round. */
static size_t pick_in_turn(const band *in) {
  if (in->last_served == NULL) {
    return 0;
  }
  size_t place = flow_place(in, in->last_served);
  if (is_flow_at(in, place, in->last_served)) {
    place++;
  }
  return place < in->flows.count ? place : 0;
}

/* Memory for the choice was set aside when the flows came. */
static size_t pick_least_served(blis_flow_queue *queue, size_t index,
                                int64_t now_us) {
  const band *in = queue->bands.items[index];
  for (size_t i = 0; i < in->flows.count; i++) {
    blis_flow its = blis_flow_queue_flow(queue, index, i);
    queue->claims.items[i] = (blis_flow_claim){
        .program = its.tenant, .head_wait_us = now_us - its.head.enqueue_us};
  }
  return blis_flow_service_pick(queue->service, queue->claims.items,
                                in->flows.count, now_us);
}

static flow *pick(blis_flow_queue *queue, size_t index, int64_t now_us) {
  band *in = queue->bands.items[index];
  switch (queue->fairness) {
  case BLIS_FLOW_ROUND_ROBIN:
    return in->flows.items[pick_in_turn(in)];
  case BLIS_FLOW_LEAST_SERVICE:
    return in->flows.items[pick_least_served(queue, index, now_us)];
  case BLIS_FLOW_STRICT:
  case BLIS_FLOW_STRICT_FIFO:
    break;
  }
  return (flow *)blis_node_heap_first(&in->heads);
}

static blis_flow_item take_from(blis_flow_queue *queue, band *in, flow *its,
                                int64_t now_us) {
  in->last_served = its->name;
  return leave(queue, (entry *)blis_node_heap_first(&its->entries), now_us);
}

blis_flow_item blis_flow_queue_take(blis_flow_queue *queue, size_t index,
                                    int64_t now_us) {
  band *in = queue->bands.items[index];
  BLIS_ASSERT(in->count > 0);
  return take_from(queue, in, pick(queue, index, now_us), now_us);
}

blis_flow_item blis_flow_queue_take_from(blis_flow_queue *queue, size_t index,
                                         size_t place, int64_t now_us) {
  band *in = queue->bands.items[index];
  BLIS_ASSERT(place < in->flows.count);
  return take_from(queue, in, in->flows.items[place], now_us);
}
