#include "policy/flow/flow_queue.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/containers/node_heap.h"
#include "base/invariant.h"
#include "base/pool.h"
#include "base/time.h"
#include "policy/flow/flow_claims.h"
#include "policy/flow/flow_service.h"

typedef struct flow flow;
typedef struct band band;
typedef struct entry entry;

/* Links of an item in a list from the oldest to the newest. */
typedef struct link {
  entry *older;
  entry *newer;
} link;

struct entry {
  blis_heap_node node; /* in its flow's heap, by order; first member, so that the entry can be
                          found from the node */
  blis_flow_item item;
  uint32_t index; /* in the pool */
  flow *flow;
  link in_flow;
  link in_band;
};

typedef struct list {
  entry *oldest;
  entry *newest;
} list;

/* A tenant with waiting entries. The flow is removed with its last entry. */
struct flow {
  blis_heap_node node;   /* in its band's heap, with strict-fifo; first member */
  blis_flow_claim claim; /* in its band's claims, with least-service */
  uint32_t tenant;
  uint32_t index;   /* in the pool */
  const char *name; /* name of the tenant */
  size_t place;     /* index in its band, if the band sorts its flows by name */
  int64_t count;
  list by_age;
  /* Entries by order. While all orders are equal, the oldest entry is first. */
  blis_node_heap entries;
  bool is_ordered; /* the entries are in the heap */
};

struct band {
  int32_t priority;
  int64_t max_requests;
  int64_t max_bytes;
  int64_t count;
  int64_t bytes;
  int64_t idle_since_us;
  list by_age;
  flow everybody;           /* with strict, the only flow */
  blis_map flow_of_tenant;  /* otherwise: from tenant to index in the pool */
  blis_node_heap heads;     /* heads of the flows, with strict-fifo */
  blis_flow_claims claims;  /* claims of the flows, with least-service */
  BLIS_ARRAY(flow *) flows; /* for the remaining rules: the flows by name */
  int64_t claims_base_us;   /* base time of the service values in claims */
  const char *last_served;  /* name of a tenant; NULL = none yet */
};

struct blis_flow_queue {
  blis_alloc alloc;
  blis_flow_limits limits; /* without the limits of bands */
  BLIS_ARRAY(blis_flow_band_limits) band_limits;
  blis_flow_fairness fairness;
  const blis_intern *strings;
  blis_flow_service *service;
  BLIS_ARRAY(band *) bands; /* in order of decreasing priority */
  blis_pool entries;
  blis_pool flows;
  int64_t count;
  int64_t bytes;
  uint64_t next_sequence;
};

/* Lists: the offset identifies the link of an entry. */

static inline link *link_of(entry *item, size_t offset) {
  return (link *)((char *)item + offset);
}

static inline void list_append(list *to, entry *item, size_t offset) {
  *link_of(item, offset) = (link){.older = to->newest};
  if (to->newest == NULL) {
    to->oldest = item;
  } else {
    link_of(to->newest, offset)->newer = item;
  }
  to->newest = item;
}

static inline void list_remove(list *from, entry *item, size_t offset) {
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
#define IN_BAND offsetof(entry, in_band)

/* Construction and destruction */

static blis_status copy_limits(blis_flow_queue *queue, const blis_flow_limits *limits) {
  for (size_t i = 0; i < limits->band_count; i++) {
    BLIS_TRY(blis_array_push(&queue->alloc, &queue->band_limits, limits->bands[i]));
  }
  queue->limits.bands = NULL;
  return BLIS_OK;
}

blis_flow_queue *blis_flow_queue_new(const blis_alloc *alloc, const blis_flow_limits *limits,
                                     blis_flow_fairness fairness, const blis_intern *strings,
                                     blis_flow_service *service) {
  blis_flow_queue *queue = blis_alloc_new(alloc, sizeof *queue);
  if (queue != NULL) {
    *queue = (blis_flow_queue){.alloc = *alloc,
                               .limits = *limits,
                               .fairness = fairness,
                               .strings = strings,
                               .service = service,
                               .next_sequence = 1};
    blis_pool_init(&queue->entries, alloc, sizeof(entry));
    blis_pool_init(&queue->flows, alloc, sizeof(flow));
    if (copy_limits(queue, limits) != BLIS_OK) {
      blis_flow_queue_free(queue);
      return NULL;
    }
  }
  return queue;
}

static bool is_strict(const blis_flow_queue *queue) {
  return queue->fairness == BLIS_FLOW_STRICT;
}

static bool has_claims(const blis_flow_queue *queue) {
  return queue->fairness == BLIS_FLOW_LEAST_SERVICE;
}

/* Returns whether the flow with the oldest entry is served next. */
static bool has_heads(const blis_flow_queue *queue) {
  return queue->fairness == BLIS_FLOW_STRICT_FIFO;
}

static void free_band(blis_flow_queue *queue, band *its) {
  const blis_alloc *alloc = &queue->alloc;
  for (entry *item = its->by_age.oldest; item != NULL;) {
    entry *next = item->in_band.newer;
    if (--item->flow->count == 0) { /* the flow is removed with its last entry */
      blis_node_heap_deinit(&item->flow->entries, alloc);
    }
    item = next;
  }
  blis_node_heap_deinit(&its->everybody.entries, alloc);
  blis_map_deinit(&its->flow_of_tenant);
  blis_array_deinit(alloc, &its->flows);
  blis_flow_claims_deinit(&its->claims, alloc);
  blis_node_heap_deinit(&its->heads, alloc);
  blis_alloc_free(alloc, its, sizeof *its);
}

void blis_flow_queue_free(blis_flow_queue *queue) {
  if (queue == NULL) {
    return;
  }
  blis_alloc alloc = queue->alloc;
  for (size_t i = 0; i < queue->bands.count; i++) {
    free_band(queue, queue->bands.items[i]);
  }
  blis_pool_deinit(&queue->entries);
  blis_pool_deinit(&queue->flows);
  blis_array_deinit(&alloc, &queue->bands);
  blis_array_deinit(&alloc, &queue->band_limits);
  blis_alloc_free(&alloc, queue, sizeof *queue);
}

/* Bands: found, or created at their position */

static size_t band_place(const blis_flow_queue *queue, int32_t priority) {
  size_t place = 0;
  while (place < queue->bands.count && queue->bands.items[place]->priority > priority) {
    place++;
  }
  return place;
}

static blis_flow_band_limits limits_of(const blis_flow_queue *queue, int32_t priority) {
  for (size_t i = 0; i < queue->band_limits.count; i++) {
    if (queue->band_limits.items[i].priority == priority) {
      return queue->band_limits.items[i];
    }
  }
  return (blis_flow_band_limits){priority, queue->limits.band_max_requests,
                                 queue->limits.band_max_bytes};
}

static blis_status add_band(blis_flow_queue *queue, int32_t priority, size_t place) {
  BLIS_TRY(blis_array_reserve(&queue->alloc, &queue->bands, queue->bands.count + 1));
  band *made = blis_alloc_new(&queue->alloc, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  const blis_flow_band_limits limits = limits_of(queue, priority);
  *made = (band){
      .priority = priority, .max_requests = limits.max_requests, .max_bytes = limits.max_bytes};
  blis_map_init(&made->flow_of_tenant, &queue->alloc);
  memmove(&queue->bands.items[place + 1], &queue->bands.items[place],
          (queue->bands.count - place) * sizeof(band *));
  queue->bands.items[place] = made;
  queue->bands.count++;
  return BLIS_OK;
}

blis_status blis_flow_queue_open_band(blis_flow_queue *queue, int32_t priority, int64_t now_us) {
  size_t place = band_place(queue, priority);
  if (place == queue->bands.count || queue->bands.items[place]->priority != priority) {
    BLIS_TRY(add_band(queue, priority, place));
  }
  band *its = queue->bands.items[place];
  its->idle_since_us = its->count == 0 ? now_us : its->idle_since_us;
  return BLIS_OK;
}

static band *band_of(const blis_flow_queue *queue, int32_t priority) {
  return queue->bands.items[band_place(queue, priority)];
}

/* Entries of a flow */

static entry *first_of(const flow *its) {
  return its->is_ordered ? (entry *)blis_node_heap_first(&its->entries) : its->by_age.oldest;
}

/* Builds the heap. Called when items must leave in an order other than arrival. */
static blis_status put_in_order(const blis_flow_queue *queue, flow *its) {
  for (entry *item = its->by_age.oldest; item != NULL; item = item->in_flow.newer) {
    blis_status status = blis_node_heap_add(&its->entries, &queue->alloc, &item->node);
    if (status != BLIS_OK) {
      blis_node_heap_deinit(&its->entries, &queue->alloc);
      return status;
    }
  }
  its->is_ordered = true;
  return BLIS_OK;
}

static blis_status put_in_flow(const blis_flow_queue *queue, flow *its, entry *item) {
  bool is_other = its->count > 0 && item->node.key != its->by_age.newest->node.key;
  if (is_other && !its->is_ordered) {
    BLIS_TRY(put_in_order(queue, its));
  }
  if (its->is_ordered) {
    BLIS_TRY(blis_node_heap_add(&its->entries, &queue->alloc, &item->node));
  }
  item->flow = its;
  its->count++;
  list_append(&its->by_age, item, IN_FLOW);
  return BLIS_OK;
}

static void leave_flow(flow *its, entry *item) {
  if (its->is_ordered) {
    blis_node_heap_remove(&its->entries, &item->node);
  }
  list_remove(&its->by_age, item, IN_FLOW);
  its->count--;
  its->is_ordered = its->is_ordered && its->count > 0;
}

/* Flows of a band, if tenants are separated */

/* Returns the index of the first flow whose name does not precede name. */
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

static void number_flows(const band *in, size_t from) {
  for (size_t i = from; i < in->flows.count; i++) {
    in->flows.items[i]->place = i;
  }
}

/* Updates the claim of a flow after its head or its service has changed. */
static void claim_anew(const blis_flow_queue *queue, band *in, flow *its) {
  if (has_claims(queue)) {
    blis_flow_claims_change(&in->claims, &its->claim,
                            blis_flow_service_share(queue->service, its->tenant),
                            first_of(its)->item.enqueue_us);
  }
}

static blis_status claim_first(const blis_flow_queue *queue, band *in, flow *its,
                               int64_t enqueue_us) {
  its->claim = (blis_flow_claim){.service = blis_flow_service_share(queue->service, its->tenant),
                                 .enqueue_us = enqueue_us,
                                 .name = its->name,
                                 .owner = its};
  return blis_flow_claims_add(&in->claims, &queue->alloc, &its->claim);
}

static blis_status list_flow(blis_flow_queue *queue, band *in, flow *made, int64_t enqueue_us) {
  if (has_heads(queue)) {
    return blis_node_heap_add(&in->heads, &queue->alloc, &made->node);
  }
  if (has_claims(queue)) {
    return claim_first(queue, in, made, enqueue_us);
  }
  BLIS_TRY(blis_array_reserve(&queue->alloc, &in->flows, in->flows.count + 1));
  size_t place = flow_place(in, made->name);
  memmove(&in->flows.items[place + 1], &in->flows.items[place],
          (in->flows.count - place) * sizeof(flow *));
  in->flows.items[place] = made;
  in->flows.count++;
  number_flows(in, place);
  return BLIS_OK;
}

/* Adds a flow that contains only this entry. */
static blis_status add_flow(blis_flow_queue *queue, band *in, entry *item) {
  uint32_t tenant = item->item.tenant;
  uint32_t index = 0;
  BLIS_TRY(blis_pool_take(&queue->flows, &index));
  flow *made = blis_pool_item(&queue->flows, index);
  *made = (flow){.tenant = tenant,
                 .index = index,
                 .name = blis_intern_text(queue->strings, tenant),
                 .node = {.sequence = item->node.sequence}};
  blis_status status = blis_map_put(&in->flow_of_tenant, tenant, index);
  if (status == BLIS_OK) {
    status = list_flow(queue, in, made, item->item.enqueue_us);
    if (status != BLIS_OK) {
      blis_map_remove(&in->flow_of_tenant, tenant);
    }
  }
  if (status != BLIS_OK) {
    blis_pool_give(&queue->flows, index);
    return status;
  }
  return put_in_flow(queue, made, item); /* cannot fail without an order */
}

static blis_status join_flow(blis_flow_queue *queue, band *in, entry *item) {
  if (is_strict(queue)) {
    return put_in_flow(queue, &in->everybody, item);
  }
  uint64_t *found = blis_map_find(&in->flow_of_tenant, item->item.tenant);
  return found == NULL ? add_flow(queue, in, item)
                       : put_in_flow(queue, blis_pool_item(&queue->flows, (uint32_t)*found), item);
}

static void drop_flow(blis_flow_queue *queue, band *in, flow *its) {
  if (has_heads(queue)) {
    blis_node_heap_remove(&in->heads, &its->node);
  } else if (has_claims(queue)) {
    blis_flow_claims_remove(&in->claims, &its->claim);
  } else {
    size_t place = its->place;
    in->flows.count--;
    memmove(&in->flows.items[place], &in->flows.items[place + 1],
            (in->flows.count - place) * sizeof(flow *));
    number_flows(in, place);
  }
  blis_map_remove(&in->flow_of_tenant, its->tenant);
  blis_node_heap_deinit(&its->entries, &queue->alloc);
  blis_pool_give(&queue->flows, its->index);
}

/* Updates a flow after one of its entries was removed. */
static void update_flow(blis_flow_queue *queue, band *in, flow *its) {
  if (its->count == 0) {
    drop_flow(queue, in, its);
  } else if (!has_heads(queue)) {
    claim_anew(queue, in, its);
  } else if (its->node.sequence != its->by_age.oldest->node.sequence) {
    its->node.sequence = its->by_age.oldest->node.sequence;
    blis_node_heap_update(&in->heads, &its->node);
  }
}

/* Removal */

static blis_flow_item leave(blis_flow_queue *queue, entry *item, int64_t now_us) {
  blis_flow_item left = item->item;
  band *in = band_of(queue, left.priority);
  leave_flow(item->flow, item);
  list_remove(&in->by_age, item, IN_BAND);
  if (!is_strict(queue)) {
    update_flow(queue, in, item->flow);
  }
  in->count--;
  in->bytes -= left.size_bytes;
  in->idle_since_us = now_us;
  queue->count--;
  queue->bytes -= left.size_bytes;
  blis_pool_give(&queue->entries, item->index);
  return left;
}

/* Adding */

static bool is_over(int64_t limit, int64_t wanted) {
  return limit > 0 && wanted > limit;
}

static blis_flow_verdict room_for(const blis_flow_queue *queue, const band *in,
                                  int64_t size_bytes) {
  const blis_flow_limits *limits = &queue->limits;
  if (is_over(in->max_requests, in->count + 1)) {
    return BLIS_FLOW_BAND_FULL_REQUESTS;
  }
  if (is_over(in->max_bytes, in->bytes + size_bytes)) {
    return BLIS_FLOW_BAND_FULL_BYTES;
  }
  if (is_over(limits->max_bytes, queue->bytes + size_bytes)) {
    return BLIS_FLOW_FULL_BYTES;
  }
  return is_over(limits->max_requests, queue->count + 1) ? BLIS_FLOW_FULL_REQUESTS
                                                         : BLIS_FLOW_QUEUED;
}

/* Returns the newest entry of the lowest nonempty band if it may be shed for an entry of this
   priority. */
static entry *victim_for(const blis_flow_queue *queue, int32_t priority) {
  if (!queue->limits.sheds) {
    return NULL;
  }
  size_t b = queue->bands.count;
  while (b > 0 && queue->bands.items[b - 1]->count == 0) {
    b--;
  }
  const band *lowest = b == 0 ? NULL : queue->bands.items[b - 1];
  bool may_go = lowest != NULL && lowest->priority < 0 && lowest->priority < priority;
  return may_go ? lowest->by_age.newest : NULL;
}

static blis_status enter(blis_flow_queue *queue, band *in, const blis_flow_item *item) {
  uint32_t index = 0;
  BLIS_TRY(blis_pool_take(&queue->entries, &index));
  entry *made = blis_pool_item(&queue->entries, index);
  *made = (entry){.node = {.key = item->order, .sequence = queue->next_sequence},
                  .item = *item,
                  .index = index};
  blis_status status = join_flow(queue, in, made);
  if (status != BLIS_OK) {
    blis_pool_give(&queue->entries, index);
    return status;
  }
  claim_anew(queue, in, made->flow);
  list_append(&in->by_age, made, IN_BAND);
  in->count++;
  in->bytes += item->size_bytes;
  queue->count++;
  queue->bytes += item->size_bytes;
  return BLIS_OK;
}

blis_status blis_flow_queue_add(blis_flow_queue *queue, const blis_flow_item *item,
                                blis_flow_verdict *verdict, bool *has_displaced,
                                blis_flow_item *displaced) {
  BLIS_TRY(blis_flow_queue_open_band(queue, item->priority, item->enqueue_us));
  band *in = band_of(queue, item->priority);
  *has_displaced = false;
  *verdict = room_for(queue, in, item->size_bytes);
  entry *victim = *verdict == BLIS_FLOW_FULL_REQUESTS ? victim_for(queue, item->priority) : NULL;
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

bool blis_flow_queue_pass(blis_flow_queue *queue, const blis_flow_item *item) {
  band *in = band_of(queue, item->priority);
  BLIS_ASSERT(queue->count == 0 && in->priority == item->priority);
  if (room_for(queue, in, item->size_bytes) != BLIS_FLOW_QUEUED) {
    return false;
  }
  queue->next_sequence++;
  in->idle_since_us = item->enqueue_us;
  in->last_served = is_strict(queue) ? NULL : blis_intern_text(queue->strings, item->tenant);
  return true;
}

/* Queries */

/* Returns the band that contains the oldest entry; NULL = no entries. */
static const band *oldest_band(const blis_flow_queue *queue) {
  const band *oldest = NULL;
  for (size_t i = 0; i < queue->bands.count && queue->count > 0; i++) {
    const band *its = queue->bands.items[i];
    bool is_older = its->count > 0 && (oldest == NULL || its->by_age.oldest->node.sequence <
                                                             oldest->by_age.oldest->node.sequence);
    oldest = is_older ? its : oldest;
  }
  return oldest;
}

bool blis_flow_queue_oldest(const blis_flow_queue *queue, blis_flow_item *item) {
  const band *in = oldest_band(queue);
  if (in == NULL) {
    return false;
  }
  *item = in->by_age.oldest->item;
  return true;
}

blis_flow_item blis_flow_queue_take_oldest(blis_flow_queue *queue, int64_t now_us) {
  const band *in = oldest_band(queue);
  BLIS_ASSERT(in != NULL);
  return leave(queue, in->by_age.oldest, now_us);
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

blis_flow_band blis_flow_queue_band(const blis_flow_queue *queue, size_t index) {
  const band *its = queue->bands.items[index];
  return (blis_flow_band){.priority = its->priority,
                          .count = its->count,
                          .bytes = its->bytes,
                          .idle_since_us = its->idle_since_us,
                          .oldest_us = its->count > 0 ? its->by_age.oldest->item.enqueue_us : 0};
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

int64_t blis_flow_queue_first_idle_us(const blis_flow_queue *queue, int64_t idle_us) {
  int64_t first_us = BLIS_TIME_NEVER_US;
  for (size_t i = 0; i < queue->bands.count; i++) {
    const band *its = queue->bands.items[i];
    int64_t due_us = blis_time_after_us(its->idle_since_us, idle_us);
    first_us = its->count == 0 && due_us < first_us ? due_us : first_us;
  }
  return first_us;
}

size_t blis_flow_queue_flow_count(const blis_flow_queue *queue, size_t index) {
  return queue->bands.items[index]->flows.count;
}

blis_flow blis_flow_queue_flow(const blis_flow_queue *queue, size_t index, size_t place) {
  const flow *its = queue->bands.items[index]->flows.items[place];
  return (blis_flow){
      .tenant = its->tenant, .name = its->name, .count = its->count, .head = first_of(its)->item};
}

/* Taking */

/* Returns the tenant that follows the last one served, in rotation. */
static size_t pick_in_turn(const band *in) {
  if (in->last_served == NULL) {
    return 0;
  }
  size_t place = flow_place(in, in->last_served);
  if (place < in->flows.count && strcmp(in->flows.items[place]->name, in->last_served) == 0) {
    place++;
  }
  return place < in->flows.count ? place : 0;
}

/* Updates all claims after the base of the service values has changed. */
static void claim_all_anew(const blis_flow_queue *queue, band *in) {
  for (const entry *item = in->by_age.oldest; item != NULL; item = item->in_band.newer) {
    if (item == item->flow->by_age.oldest) { /* once for each flow */
      claim_anew(queue, in, item->flow);
    }
  }
}

static flow *pick_least_served(const blis_flow_queue *queue, band *in, int64_t now_us) {
  const blis_flow_service_rules *rules = blis_flow_service_get_rules(queue->service);
  int64_t base_us = blis_flow_service_base(queue->service);
  if (in->claims_base_us != base_us) {
    claim_all_anew(queue, in);
    in->claims_base_us = base_us;
  }
  return blis_flow_claims_pick(&in->claims, rules->service_weight, rules->wait_weight, now_us);
}

void blis_flow_queue_note_service(blis_flow_queue *queue, uint32_t tenant) {
  for (size_t i = 0; i < queue->bands.count && has_claims(queue); i++) {
    band *in = queue->bands.items[i];
    const uint64_t *found = blis_map_find(&in->flow_of_tenant, tenant);
    if (found != NULL) {
      claim_anew(queue, in, blis_pool_item(&queue->flows, (uint32_t)*found));
    }
  }
}

static flow *pick(blis_flow_queue *queue, band *in, int64_t now_us) {
  switch (queue->fairness) {
  case BLIS_FLOW_ROUND_ROBIN:
    return in->flows.items[pick_in_turn(in)];
  case BLIS_FLOW_LEAST_SERVICE:
    return pick_least_served(queue, in, now_us);
  case BLIS_FLOW_STRICT_FIFO:
    return (flow *)blis_node_heap_first(&in->heads);
  default:
    BLIS_ASSERT(is_strict(queue));
    return &in->everybody;
  }
}

static blis_flow_item take_from(blis_flow_queue *queue, band *in, flow *its, int64_t now_us) {
  in->last_served = its->name;
  return leave(queue, first_of(its), now_us);
}

blis_flow_item blis_flow_queue_take(blis_flow_queue *queue, size_t index, int64_t now_us) {
  band *in = queue->bands.items[index];
  BLIS_ASSERT(in->count > 0);
  return take_from(queue, in, pick(queue, in, now_us), now_us);
}

blis_flow_item blis_flow_queue_take_from(blis_flow_queue *queue, size_t index, size_t place,
                                         int64_t now_us) {
  band *in = queue->bands.items[index];
  BLIS_ASSERT(place < in->flows.count);
  return take_from(queue, in, in->flows.items[place], now_us);
}
