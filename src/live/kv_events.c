#include "live/kv_events.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/event_queue.h"
#include "base/containers/map.h"
#include "base/format/msgpack.h"
#include "base/minmax.h"
#include "base/time.h"

/* A batch that is not due yet. */
typedef struct batch {
  struct batch *next;
  size_t length;
  char payload[];
} batch;

typedef enum event_kind { NO_EVENT, STORED, REMOVED } event_kind;

/* The events of an instance. */
typedef struct outlet {
  /* Number of cached blocks by hash: more than one if blocks with equal content have different
     ids (content.h). */
  blis_map counts;
  uint64_t sequence;
  int64_t last_due_us;
  bool is_changed; /* changed since the last batch */
  /* The current event, which may still grow. */
  event_kind kind;
  BLIS_ARRAY(uint64_t) hashes;
  BLIS_ARRAY(uint32_t) tokens;
  const blis_live_adapter *adapter;
  uint64_t parent;
  bool has_parent;
  uint32_t block_size;
  uint32_t next_number;
  blis_buffer salt;
  /* The previous events of the batch. */
  blis_buffer events;
  size_t event_count;
  batch *first; /* first batch that is not due */
  batch *last;
} outlet;

struct blis_live_kv_events {
  blis_alloc alloc;
  blis_live_kv_book *book;
  blis_live_kv_publisher publisher;
  bool has_maps;
  BLIS_ARRAY(outlet *) outlets; /* by instance */
  BLIS_ARRAY(uint32_t) changed; /* changed instances */
  blis_event_queue *due;        /* due batches; the number of an event is the instance */
  blis_buffer payload;
  blis_status status;
};

blis_live_kv_events *blis_live_kv_events_new(const blis_alloc *alloc, blis_live_kv_book *book,
                                             bool has_maps) {
  blis_live_kv_events *events = blis_alloc_zeroed(alloc, 1, sizeof *events);
  if (events == NULL) {
    return NULL;
  }
  events->alloc = *alloc;
  events->book = book;
  events->has_maps = has_maps;
  blis_buffer_init(&events->payload, alloc);
  events->due = blis_event_queue_new(alloc);
  if (events->due == NULL) {
    blis_live_kv_events_free(events);
    return NULL;
  }
  return events;
}

static void free_outlet(const blis_alloc *alloc, outlet *o) {
  while (o->first != NULL) {
    batch *first = o->first;
    o->first = first->next;
    blis_alloc_free(alloc, first, sizeof *first + first->length);
  }
  blis_map_deinit(&o->counts);
  blis_array_deinit(alloc, &o->hashes);
  blis_array_deinit(alloc, &o->tokens);
  blis_buffer_deinit(&o->salt);
  blis_buffer_deinit(&o->events);
  blis_alloc_free(alloc, o, sizeof *o);
}

void blis_live_kv_events_free(blis_live_kv_events *events) {
  if (events == NULL) {
    return;
  }
  blis_alloc alloc = events->alloc;
  for (size_t i = 0; i < events->outlets.count; i++) {
    if (events->outlets.items[i] != NULL) {
      free_outlet(&alloc, events->outlets.items[i]);
    }
  }
  blis_array_deinit(&alloc, &events->outlets);
  blis_array_deinit(&alloc, &events->changed);
  blis_buffer_deinit(&events->payload);
  if (events->due != NULL) {
    blis_event_queue_free(events->due);
  }
  blis_alloc_free(&alloc, events, sizeof *events);
}

void blis_live_kv_events_open(blis_live_kv_events *events,
                              const blis_live_kv_publisher *publisher) {
  events->publisher = *publisher;
}

/* Returns the outlet of an instance; NULL = out of memory, which is recorded. */
static outlet *outlet_of(blis_live_kv_events *events, uint32_t instance) {
  while (events->outlets.count <= instance) {
    if (blis_array_push(&events->alloc, &events->outlets, NULL) != BLIS_OK) {
      events->status = BLIS_ERR_NOMEM;
      return NULL;
    }
  }
  outlet **place = &events->outlets.items[instance];
  if (*place == NULL) {
    *place = blis_alloc_zeroed(&events->alloc, 1, sizeof **place);
    if (*place == NULL) {
      events->status = BLIS_ERR_NOMEM;
      return NULL;
    }
    blis_map_init(&(*place)->counts, &events->alloc);
    blis_buffer_init(&(*place)->salt, &events->alloc);
    blis_buffer_init(&(*place)->events, &events->alloc);
    events->status = blis_map_reserve(&(*place)->counts, 1);
  }
  return events->status == BLIS_OK ? *place : NULL;
}

/* Writing events. */

static void write_name(blis_buffer *to, const char *name) {
  blis_msgpack_text(to, blis_slice_of(name));
}

/* Writes the head of an event: its number of fields and its name. */
static void write_head(blis_buffer *to, bool is_map, const char *name, size_t fields) {
  if (is_map) {
    blis_msgpack_map(to, fields + 1);
    write_name(to, "type");
  } else {
    blis_msgpack_array(to, fields + 1);
  }
  write_name(to, name);
}

/* Writes the name of a field; arrays have no field names. */
static void write_field(blis_buffer *to, bool is_map, const char *name) {
  if (is_map) {
    write_name(to, name);
  }
}

static void write_hashes(const outlet *o, blis_buffer *to) {
  blis_msgpack_array(to, o->hashes.count);
  for (size_t i = 0; i < o->hashes.count; i++) {
    blis_msgpack_uint(to, o->hashes.items[i]);
  }
}

/* Writes the name of an adapter that clients use, or used until it was unloaded. */
static void write_adapter(const outlet *o, blis_buffer *to) {
  if (o->adapter == NULL) {
    blis_msgpack_nil(to);
  } else {
    write_name(to, o->adapter->name[0] == '\0' ? o->adapter->own_name : o->adapter->name);
  }
}

/* Writes a list for each block; that of the first block of a prompt contains its cache_salt. */
static void write_extra_keys(const outlet *o, blis_buffer *to) {
  blis_msgpack_array(to, o->hashes.count);
  for (size_t i = 0; i < o->hashes.count; i++) {
    if (i > 0) {
      blis_msgpack_nil(to);
    } else {
      blis_msgpack_array(to, 1);
      blis_msgpack_text(to, blis_buffer_slice(&o->salt));
    }
  }
}

static void write_stored(const outlet *o, blis_buffer *to, bool is_map) {
  bool has_keys = o->salt.length > 0;
  write_head(to, is_map, "BlockStored", has_keys ? 8 : 7);
  write_field(to, is_map, "block_hashes");
  write_hashes(o, to);
  write_field(to, is_map, "parent_block_hash");
  if (o->has_parent) {
    blis_msgpack_uint(to, o->parent);
  } else {
    blis_msgpack_nil(to);
  }
  write_field(to, is_map, "token_ids");
  blis_msgpack_array(to, o->tokens.count);
  for (size_t i = 0; i < o->tokens.count; i++) {
    blis_msgpack_uint(to, o->tokens.items[i]);
  }
  write_field(to, is_map, "block_size");
  blis_msgpack_uint(to, o->block_size);
  write_field(to, is_map, "lora_id");
  blis_msgpack_nil(to);
  write_field(to, is_map, "medium");
  write_name(to, "GPU");
  write_field(to, is_map, "lora_name");
  write_adapter(o, to);
  if (has_keys) {
    write_field(to, is_map, "extra_keys");
    write_extra_keys(o, to);
  }
}

static void write_removed(const outlet *o, blis_buffer *to, bool is_map) {
  write_head(to, is_map, "BlockRemoved", 2);
  write_field(to, is_map, "block_hashes");
  write_hashes(o, to);
  write_field(to, is_map, "medium");
  write_name(to, "GPU");
}

/* Ends the current event. */
static void end_event(const blis_live_kv_events *events, outlet *o) {
  if (o->kind == NO_EVENT) {
    return;
  }
  (o->kind == STORED ? write_stored : write_removed)(o, &o->events, events->has_maps);
  o->event_count++;
  o->kind = NO_EVENT;
}

/* Gathering changes. */

static void begin_event(const blis_live_kv_events *events, outlet *o, event_kind kind) {
  end_event(events, o);
  o->kind = kind;
  o->hashes.count = 0;
  o->tokens.count = 0;
  blis_buffer_clear(&o->salt);
}

static void note_change(blis_live_kv_events *events, outlet *o, uint32_t instance) {
  if (!o->is_changed && blis_array_push(&events->alloc, &events->changed, instance) != BLIS_OK) {
    events->status = BLIS_ERR_NOMEM;
  }
  o->is_changed = true;
}

static bool follows(const outlet *o, const blis_live_kv_block *block) {
  return o->kind == STORED && block->number > 0 && block->number == o->next_number &&
         o->block_size == block->size && o->hashes.items[o->hashes.count - 1] == block->parent;
}

/* Counts a block. Returns whether it is the only one with this hash. */
static bool is_first(blis_live_kv_events *events, outlet *o, uint64_t hash) {
  uint64_t *count;
  bool is_new = false;
  if (blis_map_add(&o->counts, hash, 0, &count, &is_new) != BLIS_OK) {
    events->status = BLIS_ERR_NOMEM;
    return false;
  }
  (*count)++;
  return is_new;
}

/* Uncounts a block. Returns whether it was the only one with this hash. */
static bool was_last(outlet *o, uint64_t hash) {
  uint64_t *count = blis_map_find(&o->counts, hash);
  if (count == NULL || --*count > 0) {
    return false;
  }
  return blis_map_remove(&o->counts, hash);
}

void blis_live_kv_events_stored(blis_live_kv_events *events, uint32_t instance, blis_block_id id) {
  outlet *o = outlet_of(events, instance);
  const blis_live_kv_block *block = o == NULL ? NULL : blis_live_kv_book_enter(events->book, id);
  if (block == NULL || !is_first(events, o, block->hash)) {
    return;
  }
  note_change(events, o, instance);
  if (!follows(o, block)) {
    begin_event(events, o, STORED);
    o->adapter = block->adapter;
    o->parent = block->parent;
    o->has_parent = block->number > 0;
    o->block_size = block->size;
    blis_buffer_string(&o->salt, block->salt == NULL ? "" : block->salt);
  }
  o->next_number = block->number + 1;
  if (blis_array_reserve(&events->alloc, &o->tokens, o->tokens.count + block->size) != BLIS_OK ||
      blis_array_push(&events->alloc, &o->hashes, block->hash) != BLIS_OK) {
    events->status = BLIS_ERR_NOMEM;
    return;
  }
  memcpy(o->tokens.items + o->tokens.count, block->tokens, block->size * sizeof *block->tokens);
  o->tokens.count += block->size;
}

/* Handles an empty cache: replaces all events of the batch. */
static void clear(const blis_live_kv_events *events, outlet *o) {
  o->kind = NO_EVENT;
  blis_buffer_clear(&o->events);
  write_head(&o->events, events->has_maps, "AllBlocksCleared", 0);
  o->event_count = 1;
}

void blis_live_kv_events_removed(blis_live_kv_events *events, uint32_t instance, blis_block_id id) {
  outlet *o = outlet_of(events, instance);
  const blis_live_kv_block *block = o == NULL ? NULL : blis_live_kv_book_leave(events->book, id);
  if (block == NULL || !was_last(o, block->hash)) {
    return;
  }
  note_change(events, o, instance);
  if (blis_map_count(&o->counts) == 0) {
    clear(events, o);
    return;
  }
  if (o->kind != REMOVED) {
    begin_event(events, o, REMOVED);
  }
  if (blis_array_push(&events->alloc, &o->hashes, block->hash) != BLIS_OK) {
    events->status = BLIS_ERR_NOMEM;
  }
}

int64_t blis_live_kv_events_cached(const blis_live_kv_events *events, uint32_t instance) {
  bool is_known = instance < events->outlets.count && events->outlets.items[instance] != NULL;
  return is_known ? (int64_t)blis_map_count(&events->outlets.items[instance]->counts) : 0;
}

/* Batches. */

/* Creates a batch of the changes since the last batch. */
static blis_status close_batch(blis_live_kv_events *events, uint32_t instance, int64_t due_us) {
  outlet *o = events->outlets.items[instance];
  blis_buffer *payload = &events->payload;
  end_event(events, o);
  o->last_due_us = blis_max_i64(due_us, o->last_due_us);
  blis_buffer_clear(payload);
  blis_msgpack_array(payload, 3);
  blis_msgpack_double(payload, events->publisher.started_s + (double)o->last_due_us / 1e6);
  blis_msgpack_array(payload, o->event_count);
  blis_buffer_bytes(payload, o->events.data, o->events.length);
  blis_msgpack_uint(payload, 0);
  BLIS_TRY(blis_buffer_status(payload));
  BLIS_TRY(blis_buffer_status(&o->events));
  batch *made = blis_alloc_new(&events->alloc, sizeof *made + payload->length);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *made = (batch){.length = payload->length};
  memcpy(made->payload, payload->data, payload->length);
  const blis_event due = {.time_us = o->last_due_us, .number = instance};
  if (blis_event_queue_push(events->due, &due, NULL) != BLIS_OK) {
    blis_alloc_free(&events->alloc, made, sizeof *made + made->length);
    return BLIS_ERR_NOMEM;
  }
  *(o->first == NULL ? &o->first : &o->last->next) = made;
  o->last = made;
  blis_buffer_clear(&o->events);
  o->event_count = 0;
  o->is_changed = false;
  return BLIS_OK;
}

blis_status blis_live_kv_events_end_step(blis_live_kv_events *events, uint32_t instance,
                                         int64_t end_us) {
  BLIS_TRY(events->status);
  bool is_changed = instance < events->outlets.count && events->outlets.items[instance] != NULL &&
                    events->outlets.items[instance]->is_changed;
  if (!is_changed) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < events->changed.count; i++) {
    if (events->changed.items[i] == instance) {
      events->changed.items[i] = events->changed.items[--events->changed.count];
      break;
    }
  }
  return close_batch(events, instance, end_us);
}

static void publish_first(blis_live_kv_events *events, uint32_t instance) {
  outlet *o = events->outlets.items[instance];
  batch *first = o->first;
  o->first = first->next;
  if (events->publisher.publish != NULL) {
    events->publisher.publish(events->publisher.ud, instance, o->sequence,
                              (blis_slice){first->payload, first->length});
  }
  o->sequence++;
  blis_alloc_free(&events->alloc, first, sizeof *first + first->length);
}

blis_status blis_live_kv_events_run(blis_live_kv_events *events, int64_t now_us) {
  BLIS_TRY(events->status);
  while (events->changed.count > 0) {
    uint32_t instance = events->changed.items[--events->changed.count];
    BLIS_TRY(close_batch(events, instance, now_us));
  }
  blis_event event;
  while (blis_event_queue_next_us(events->due) <= now_us &&
         blis_event_queue_pop(events->due, &event)) {
    publish_first(events, (uint32_t)event.number);
  }
  return BLIS_OK;
}

int64_t blis_live_kv_events_next_us(const blis_live_kv_events *events) {
  return blis_event_queue_next_us(events->due);
}
