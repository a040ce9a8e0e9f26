#include "live/desk.h"

#include <stdio.h>
#include <string.h>

#include "base/containers/event_queue.h"
#include "base/containers/map.h"
#include "base/hash.h"
#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/external.h"
#include "cluster/pending_events.h"
#include "cluster/rules/pins.h"
#include "cluster/tiers/kv_tiers.h"
#include "live/content.h"

enum { BLOCKS_MAX = 1 << 20 };

typedef struct choice {
  blis_live_choice shown; /* first member, so that the caller's pointer points to this struct */
  struct choice *changed; /* next choice in the list of changed choices */
  uint32_t held_tokens;   /* number of tokens that are computed but not due yet */
  int64_t end_us;
  bool is_changed;
  bool has_ended; /* ended in the cluster; is_over is set when everything is due */
  bool is_closed; /* the caller no longer has a pointer to it */
  blis_pull pull;
  int64_t pulled_tokens; /* KV tokens that were pulled or are being pulled */
} choice;

struct blis_live_desk {
  blis_alloc alloc;
  blis_live_desk_config config;
  uint32_t *lengths;
  blis_intern *strings;
  blis_live_content *content;
  blis_token_sink sink;
  blis_step_sink steps;
  const blis_step_sink *other_steps; /* NULL = none */
  blis_block_sink blocks;
  blis_pulls pulls;
  blis_live_kv_book *book;     /* book of block contents; NULL = no KV events */
  blis_live_kv_events *events; /* by instance */
  blis_cluster *cluster;
  blis_live_caller caller;
  BLIS_ARRAY(blis_request) inbox; /* submitted requests that the cluster has not taken yet */
  size_t inbox_first;
  blis_map choices;        /* choices by request number, until both the caller and the cluster
                              are done with them */
  blis_event_queue *later; /* computed tokens that are not due yet, with the request number */
  choice *changed;
  BLIS_ARRAY(blis_live_meter) meters; /* by instance; grows with the number of instances */
  BLIS_ARRAY(int64_t) loads;          /* likewise */
  BLIS_ARRAY(int) sleep_levels;       /* by instance; 0 = awake */
  blis_live_adapter *adapters;
  int64_t open;
  int64_t now_us;
  int64_t last_departure_us;
  int64_t next_number;
  BLIS_ARRAY(int64_t) pins;
};

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  (void)error;
  blis_live_desk *desk = state;
  *done = desk->inbox_first == desk->inbox.count;
  if (*done) {
    desk->inbox_first = desk->inbox.count = 0;
    return BLIS_OK;
  }
  *request = desk->inbox.items[desk->inbox_first++];
  return BLIS_OK;
}

static void free_segments(const blis_live_desk *desk, const blis_request *request) {
  blis_alloc_free(&desk->alloc, (void *)request->segments,
                  request->segment_count * sizeof *request->segments);
}

static void release(void *state, const blis_request *request) {
  free_segments(state, request);
}

blis_request_source blis_live_desk_source(blis_live_desk *desk) {
  return (blis_request_source){.next = next_request,
                               .release = release,
                               .state = desk,
                               .strings = desk->strings,
                               .count = -1};
}

/* Reports of the cluster. */

static choice *find(const blis_live_desk *desk, int64_t number) {
  uint64_t found;
  return blis_map_get(&desk->choices, (uint64_t)number, &found) ? (choice *)(uintptr_t)found : NULL;
}

static void note_change(blis_live_desk *desk, choice *c) {
  if (!c->is_changed && !c->is_closed) {
    c->is_changed = true;
    c->changed = desk->changed;
    desk->changed = c;
  }
}

static void forget(blis_live_desk *desk, choice *c) {
  blis_map_remove(&desk->choices, (uint64_t)c->shown.number);
  blis_alloc_free(&desk->alloc, c, sizeof *c);
}

/* Counts one more due token of a choice. */
static void token_is_due(blis_live_desk *desk, choice *c, int64_t at_us) {
  blis_live_choice *shown = &c->shown;
  blis_live_meter *meter = &desk->meters.items[shown->instance];
  if (shown->first_us < 0) {
    shown->first_us = at_us;
    blis_live_meter_first_token(meter, at_us, at_us - shown->arrival_us);
  } else {
    blis_live_meter_token(meter, at_us, at_us - shown->last_us);
  }
  shown->last_us = at_us;
  shown->due_tokens += shown->due_tokens < shown->planned_tokens;
  note_change(desk, c);
}

/* Finishes a choice: all its tokens and its end are due. */
static void finish(blis_live_desk *desk, choice *c) {
  c->shown.is_over = true;
  c->shown.last_us = c->end_us;
  desk->open--;
  if (c->shown.instance >= 0) {
    desk->loads.items[c->shown.instance]--;
  }
  note_change(desk, c);
  if (c->is_closed) {
    forget(desk, c);
  }
}

/* Handles an event of a choice that is due at at_us. */
static void happen(blis_live_desk *desk, choice *c, int64_t at_us) {
  if (c->held_tokens > 0) {
    c->held_tokens--;
    token_is_due(desk, c, at_us);
  } else {
    BLIS_ASSERT(c->has_ended && !c->shown.is_over);
    finish(desk, c);
  }
}

/* Schedules an event of a choice for its due time. Events of a choice keep their order. */
static blis_status happen_at(blis_live_desk *desk, choice *c, int64_t at_us, blis_error *error) {
  const blis_event event = {.time_us = at_us, .number = (uint64_t)c->shown.number};
  BLIS_TRY_MEM(blis_event_queue_push(desk->later, &event, NULL), error);
  return BLIS_OK;
}

/* Allocates space for the instance with this number. */
static blis_status make_room(blis_live_desk *desk, size_t instance) {
  BLIS_TRY(blis_array_reserve(&desk->alloc, &desk->meters, instance + 1));
  BLIS_TRY(blis_array_reserve(&desk->alloc, &desk->loads, instance + 1));
  BLIS_TRY(blis_array_reserve(&desk->alloc, &desk->sleep_levels, instance + 1));
  while (desk->meters.count <= instance) {
    desk->meters.items[desk->meters.count++] = (blis_live_meter){.flavor = desk->config.flavor};
    desk->loads.items[desk->loads.count++] = 0;
    desk->sleep_levels.items[desk->sleep_levels.count++] = 0;
  }
  return BLIS_OK;
}

static blis_status join(blis_live_desk *desk, choice *c, int32_t instance, blis_error *error) {
  if (c->shown.instance == instance || instance < 0) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(make_room(desk, (size_t)instance), error);
  if (c->shown.instance >= 0) {
    desk->loads.items[c->shown.instance]--;
  }
  desk->loads.items[instance]++;
  c->shown.instance = instance;
  return BLIS_OK;
}

/* Handles a token. After a preemption, output may restart from the first token; only new tokens
   are passed on. */
static blis_status on_token(void *ud, const blis_token *token, blis_error *error) {
  blis_live_desk *desk = ud;
  choice *c = find(desk, token->request);
  if (c == NULL || token->number <= (int64_t)c->shown.due_tokens + c->held_tokens) {
    return BLIS_OK;
  }
  BLIS_TRY(join(desk, c, (int32_t)token->instance, error));
  c->held_tokens++;
  return happen_at(desk, c, token->at_us, error);
}

static blis_live_finish finish_of(const choice *c, const blis_request_end *end) {
  if (end->state == BLIS_REQUEST_TIMED_OUT) {
    return BLIS_LIVE_ABORT;
  }
  if (!blis_request_is_completed(end->state)) {
    return BLIS_LIVE_ERROR;
  }
  bool is_stopped = end->state == BLIS_REQUEST_COMPLETED &&
                    (c->shown.stop >= 0 || c->shown.planned_tokens < c->shown.max_tokens);
  return is_stopped ? BLIS_LIVE_STOP : BLIS_LIVE_LENGTH;
}

/* Returns a static description of a failure, which outlives the request. */
static const char *failure_of(const blis_request_end *end) {
  switch (end->state) {
  case BLIS_REQUEST_REJECTED:
    return "the request was rejected by admission or routing";
  case BLIS_REQUEST_UNSERVABLE:
    return "the request does not fit into the KV cache of its instance";
  default:
    return "the request was lost with its instance";
  }
}

/* Returns the prompt tokens that were loaded from a KV tier. */
static int64_t external_tokens(const blis_request_end *end) {
  int64_t sum = 0;
  for (uint32_t t = 0; end->hits != NULL && t < end->hits->count; t++) {
    sum += end->hits->tier_tokens[t];
  }
  return blis_min_i64(sum, blis_max_i64(end->cached_tokens, 0));
}

static blis_status on_end(void *ud, const blis_request_end *end, blis_error *error) {
  blis_live_desk *desk = ud;
  choice *c = find(desk, end->request->number);
  if (c == NULL) {
    return BLIS_OK;
  }
  blis_live_choice *shown = &c->shown;
  BLIS_TRY(join(desk, c, end->instance, error));
  shown->finish = finish_of(c, end);
  shown->failure = shown->finish == BLIS_LIVE_ERROR ? failure_of(end) : NULL;
  shown->cached_tokens = end->cached_tokens > 0 ? (uint32_t)end->cached_tokens : 0;
  c->has_ended = true;
  if (desk->book != NULL) {
    blis_live_kv_book_close(desk->book, shown->number);
  }
  c->end_us = blis_max_i64(end->end_us, end->e2e_us < 0 ? 0 : shown->arrival_us + end->e2e_us);
  if (shown->instance >= 0) {
    int64_t external = external_tokens(end) + c->pulled_tokens;
    external = blis_min_i64(external, shown->cached_tokens);
    const blis_live_ending ending = {.finish = shown->finish,
                                     .arrival_us = shown->arrival_us,
                                     .end_us = c->end_us,
                                     .ttft_us = end->ttft_us,
                                     .queued_us = end->scheduling_delay_us,
                                     .prompt_tokens = shown->prompt_tokens,
                                     .cached_tokens = shown->cached_tokens - external,
                                     .external_tokens = external,
                                     .output_tokens = shown->due_tokens + c->held_tokens,
                                     .max_tokens = shown->max_tokens,
                                     .n = shown->n};
    blis_live_meter_end(&desk->meters.items[shown->instance], &ending);
  }
  return happen_at(desk, c, c->end_us, error);
}

const blis_token_sink *blis_live_desk_sink(blis_live_desk *desk) {
  return &desk->sink;
}

static blis_status on_step(void *ud, uint32_t instance, const blis_step_report *report,
                           blis_error *error) {
  blis_live_desk *desk = ud;
  BLIS_TRY_MEM(make_room(desk, instance), error);
  blis_live_meter_step(&desk->meters.items[instance],
                       report->prefill_tokens + report->decode_requests);
  if (desk->events != NULL) {
    BLIS_TRY_MEM(blis_live_kv_events_end_step(desk->events, instance, report->end_us), error);
  }
  const blis_step_sink *other = desk->other_steps;
  return other == NULL ? BLIS_OK : other->step(other->ud, instance, report, error);
}

const blis_step_sink *blis_live_desk_steps(blis_live_desk *desk, const blis_step_sink *other) {
  desk->other_steps = other;
  desk->steps = (blis_step_sink){.ud = desk, .step = on_step};
  return &desk->steps;
}

/* KV from other engines. */

static bool held(void *ud, int64_t request, blis_pull *pull) {
  const choice *c = find(ud, request);
  *pull = c == NULL ? (blis_pull){.holder = -1} : c->pull;
  return pull->tokens > 0;
}

static void pull_began(void *ud, const blis_pull_report *report) {
  blis_live_desk *desk = ud;
  choice *c = find(desk, report->request);
  if (c != NULL && make_room(desk, report->instance) == BLIS_OK) {
    blis_live_meter *meter = &desk->meters.items[report->instance];
    c->pull.tokens = 0;
    c->pulled_tokens = report->tokens;
    blis_live_meter_pull(meter, report->us, report->bytes);
  }
}

const blis_pulls *blis_live_desk_pulls(blis_live_desk *desk) {
  desk->pulls = (blis_pulls){.ud = desk,
                             .bytes_per_us = desk->config.pull_bytes_per_us,
                             .latency_us = desk->config.pull_latency_us,
                             .held = held,
                             .began = pull_began};
  return desk->config.pull_bytes_per_us > 0 ? &desk->pulls : NULL;
}

/* KV events. */

static blis_status on_named(void *ud, const blis_named_blocks *named, blis_error *error) {
  const blis_live_desk *desk = ud;
  BLIS_TRY_MEM(
      blis_live_kv_book_name(desk->book, named->request, named->chain, named->block_tokens), error);
  return BLIS_OK;
}

static void on_stored(void *ud, uint32_t instance, blis_block_id id) {
  const blis_live_desk *desk = ud;
  blis_live_kv_events_stored(desk->events, instance, id);
}

static void on_removed(void *ud, uint32_t instance, blis_block_id id) {
  const blis_live_desk *desk = ud;
  blis_live_kv_events_removed(desk->events, instance, id);
}

const blis_block_sink *blis_live_desk_blocks(blis_live_desk *desk) {
  return desk->book == NULL ? NULL : &desk->blocks;
}

static blis_status open_events(blis_live_desk *desk) {
  if (desk->config.kv_format == BLIS_LIVE_NO_KV_EVENTS) {
    return BLIS_OK;
  }
  desk->blocks =
      (blis_block_sink){.ud = desk, .named = on_named, .stored = on_stored, .removed = on_removed};
  desk->book = blis_live_kv_book_new(&desk->alloc);
  desk->events = desk->book == NULL
                     ? NULL
                     : blis_live_kv_events_new(&desk->alloc, desk->book,
                                               desk->config.kv_format == BLIS_LIVE_KV_MAPS);
  return desk->events == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

/* Adds the prompt of a choice to the book. */
static blis_status enter_prompt(blis_live_desk *desk, const blis_live_ask *ask, int64_t number,
                                const blis_live_prompt *prompt) {
  const blis_live_adapter *adapter = NULL;
  for (size_t i = 0; i < desk->config.adapter_count && ask->adapter != NULL; i++) {
    if (desk->adapters[i].own_name == ask->adapter) {
      adapter = &desk->adapters[i];
    }
  }
  return desk->book == NULL
             ? BLIS_OK
             : blis_live_kv_book_open(desk->book, number, prompt, ask->cache_salt, adapter);
}

/* Construction. */

blis_status blis_live_desk_new(const blis_alloc *alloc, const blis_live_desk_config *config,
                               blis_live_desk **made, blis_error *error) {
  BLIS_ASSERT(config->length_count >= 1 && config->instance_count >= 1);
  blis_live_desk *desk = blis_alloc_zeroed(alloc, 1, sizeof *desk);
  BLIS_TRY_NEW(desk, error);
  desk->alloc = *alloc;
  desk->config = *config;
  desk->sink = (blis_token_sink){.ud = desk, .token = on_token, .ended = on_end};
  blis_map_init(&desk->choices, alloc);
  desk->strings = blis_intern_new(alloc);
  desk->later = blis_event_queue_new(alloc);
  desk->content = blis_live_content_new(alloc, config->block_tokens, BLOCKS_MAX);
  desk->lengths = blis_alloc_zeroed(alloc, config->length_count, sizeof *desk->lengths);
  desk->adapters = blis_alloc_zeroed(alloc, config->adapter_count + 1, sizeof *desk->adapters);
  if (desk->strings == NULL || desk->adapters == NULL || desk->later == NULL ||
      desk->content == NULL || desk->lengths == NULL ||
      make_room(desk, config->instance_count - 1) != BLIS_OK || open_events(desk) != BLIS_OK ||
      blis_map_reserve(&desk->choices, 16) != BLIS_OK) {
    blis_live_desk_free(desk);
    return blis_fail_nomem(error);
  }
  memcpy(desk->lengths, config->lengths, config->length_count * sizeof *desk->lengths);
  for (size_t i = 0; i < config->adapter_count; i++) {
    desk->adapters[i].own_name = config->adapters[i];
    snprintf(desk->adapters[i].name, sizeof desk->adapters[i].name, "%s", config->adapters[i]);
  }
  desk->config.limits.adapters = desk->adapters;
  desk->config.limits.adapter_count = config->adapter_count;
  *made = desk;
  return BLIS_OK;
}

/* Frees choices with pending events; the caller must close all others. */
void blis_live_desk_free(blis_live_desk *desk) {
  if (desk == NULL) {
    return;
  }
  blis_alloc alloc = desk->alloc;
  for (size_t i = desk->inbox_first; i < desk->inbox.count; i++) {
    free_segments(desk, &desk->inbox.items[i]);
  }
  for (int64_t number = 0; number < desk->next_number; number++) {
    choice *c = blis_map_count(&desk->choices) == 0 ? NULL : find(desk, number);
    if (c != NULL) {
      forget(desk, c);
    }
  }
  blis_array_deinit(&alloc, &desk->inbox);
  blis_array_deinit(&alloc, &desk->pins);
  blis_map_deinit(&desk->choices);
  blis_live_content_free(desk->content);
  blis_live_kv_events_free(desk->events);
  blis_live_kv_book_free(desk->book);
  if (desk->later != NULL) {
    blis_event_queue_free(desk->later);
  }
  if (desk->strings != NULL) {
    blis_intern_free(desk->strings);
  }
  blis_alloc_free(&alloc, desk->lengths, desk->config.length_count * sizeof *desk->lengths);
  blis_array_deinit(&alloc, &desk->meters);
  blis_array_deinit(&alloc, &desk->loads);
  blis_array_deinit(&alloc, &desk->sleep_levels);
  blis_alloc_free(&alloc, desk->adapters,
                  (desk->config.adapter_count + 1) * sizeof *desk->adapters);
  blis_alloc_free(&alloc, desk, sizeof *desk);
}

void blis_live_desk_open(blis_live_desk *desk, blis_cluster *cluster,
                         const blis_live_caller *caller) {
  desk->cluster = cluster;
  desk->caller = *caller;
  if (desk->events != NULL) {
    blis_live_kv_events_open(desk->events, &caller->publisher);
  }
  blis_cluster_stay_open(cluster, true);
}

void blis_live_desk_end(blis_live_desk *desk) {
  blis_cluster_stay_open(desk->cluster, false);
}

const blis_live_limits *blis_live_desk_limits(const blis_live_desk *desk) {
  return &desk->config.limits;
}

/* Adapters and sleep. */

static blis_live_adapter *find_adapter(const blis_live_desk *desk, blis_slice name) {
  for (size_t i = 0; i < desk->config.adapter_count; i++) {
    if (blis_slice_equals(name, desk->adapters[i].name)) {
      return &desk->adapters[i];
    }
  }
  return NULL;
}

/* Returns the adapter for a name: the adapter of this name if it is free, otherwise the first
   one that is not served. */
static blis_live_adapter *free_adapter(const blis_live_desk *desk, blis_slice name) {
  blis_live_adapter *found = NULL;
  for (size_t i = desk->config.adapter_count; i-- > 0;) {
    blis_live_adapter *adapter = &desk->adapters[i];
    if (adapter->name[0] == '\0') {
      bool has_name = found != NULL && blis_slice_equals(name, found->own_name);
      found = has_name ? found : adapter;
    }
  }
  return found;
}

bool blis_live_desk_load_adapter(blis_live_desk *desk, blis_slice name,
                                 blis_live_refusal *refusal) {
  int shown = name.length < 100 ? (int)name.length : 100;
  if (name.length == 0 || name.length >= BLIS_LIVE_MODEL_SIZE) {
    return blis_live_refuse(refusal, 400, "InvalidUserInput", "lora_name",
                            "Both 'lora_name' and 'lora_path' must be provided.");
  }
  if (find_adapter(desk, name) != NULL) {
    return blis_live_refuse(refusal, 400, "InvalidUserInput", "lora_name",
                            "The lora adapter '%.*s' has already been loaded.", shown, name.data);
  }
  blis_live_adapter *adapter = free_adapter(desk, name);
  if (adapter == NULL) {
    return blis_live_refuse(refusal, 400, "BadRequestError", "lora_name",
                            "all %zu adapters of the cluster are loaded; unload one, or start "
                            "blis live with more (--lora-adapters)",
                            desk->config.adapter_count);
  }
  memcpy(adapter->name, name.data, name.length);
  adapter->name[name.length] = '\0';
  return true;
}

bool blis_live_desk_unload_adapter(blis_live_desk *desk, blis_slice name,
                                   blis_live_refusal *refusal) {
  blis_live_adapter *adapter = name.length == 0 ? NULL : find_adapter(desk, name);
  int shown = name.length < 100 ? (int)name.length : 100;
  if (adapter == NULL) {
    return blis_live_refuse(refusal, 404, "NotFoundError", "lora_name",
                            "The lora adapter '%.*s' cannot be found.", shown, name.data);
  }
  adapter->name[0] = '\0';
  return true;
}

blis_status blis_live_desk_sleep(blis_live_desk *desk, uint32_t instance, int level,
                                 blis_error *error) {
  BLIS_TRY_MEM(make_room(desk, instance), error);
  int *now = &desk->sleep_levels.items[instance];
  if (*now == 0 && level > 0) {
    const blis_loss loss = {.kind = BLIS_LOSS_FAILED};
    BLIS_TRY(blis_cluster_instance_fail(desk->cluster, instance, loss, error));
  } else if (*now > 0 && level == 0) {
    BLIS_TRY(blis_cluster_instance_restore(desk->cluster, instance, error));
  }
  *now = level;
  return BLIS_OK;
}

int blis_live_desk_sleep_level(const blis_live_desk *desk, uint32_t instance) {
  return instance < desk->sleep_levels.count ? desk->sleep_levels.items[instance] : 0;
}

/* Submission. */

/* Finds the first position in the text of a choice where a stop string of the ask ends. Sets the
   number of tokens up to this position, and the length of the text before the stop string.
   O(tokens * stop strings). */
static void find_stop(const blis_live_ask *ask, blis_live_choice *shown) {
  enum { WINDOW = 512 };
  char window[WINDOW + BLIS_LIVE_WORD_BYTES];
  size_t kept = 0;
  for (uint32_t i = 0; i < shown->planned_tokens && ask->stop_count > 0; i++) {
    blis_live_word(blis_live_reply_token(shown->seed, i), window + kept);
    kept += BLIS_LIVE_WORD_BYTES;
    for (size_t end = kept - BLIS_LIVE_WORD_BYTES + 1; end <= kept; end++) {
      for (size_t k = 0; k < ask->stop_count; k++) {
        size_t length = ask->stops[k].length;
        if (length <= end && memcmp(window + end - length, ask->stops[k].data, length) == 0) {
          uint32_t whole = (i + 1) * BLIS_LIVE_WORD_BYTES;
          shown->planned_tokens = i + 1;
          shown->text_bytes = whole - (uint32_t)(kept - end) - (uint32_t)length;
          shown->stop = (int32_t)k;
          return;
        }
      }
    }
    if (kept >= WINDOW) {
      memmove(window, window + kept - WINDOW / 2, WINDOW / 2);
      kept = WINDOW / 2;
    }
  }
}

static uint32_t length_of(const blis_live_desk *desk, const blis_live_submission *s,
                          uint64_t seed) {
  const blis_live_ask *ask = s->ask;
  if (s->output_tokens > 0) {
    return (uint32_t)blis_min_i64(s->output_tokens, ask->max_tokens);
  }
  if (ask->ignores_eos) {
    return (uint32_t)ask->max_tokens;
  }
  int64_t drawn = desk->lengths[blis_hash64(&seed, sizeof seed, 3) % desk->config.length_count];
  int64_t least = blis_max_i64(ask->min_tokens, 1);
  return (uint32_t)blis_min_i64(blis_max_i64(drawn, least), ask->max_tokens);
}

static blis_status intern(blis_live_desk *desk, blis_slice text, uint32_t *id, blis_error *error) {
  *id = 0;
  if (text.length > 0) {
    BLIS_TRY_MEM(blis_intern_add(desk->strings, text.data, text.length, id), error);
  }
  return BLIS_OK;
}

static blis_status make_request(blis_live_desk *desk, const blis_live_submission *s,
                                const blis_live_choice *shown, const blis_live_prompt *prompt,
                                blis_request *request, blis_error *error) {
  *request = (blis_request){.arrival_us = shown->arrival_us,
                            .number = shown->number,
                            .prompt_tokens = shown->prompt_tokens,
                            .output_tokens = shown->planned_tokens,
                            .max_output_tokens = shown->max_tokens,
                            .shared_tokens = shown->prompt_tokens,
                            .text_tokens = shown->prompt_tokens,
                            .is_streaming = s->ask->streams,
                            .shares_output = true};
  BLIS_TRY(intern(desk, s->tenant, &request->tenant, error));
  BLIS_TRY(intern(desk, s->slo_class, &request->slo_class, error));
  BLIS_TRY(intern(desk, s->session, &request->session, error));
  if (s->ask->adapter != NULL) {
    BLIS_TRY(intern(desk, blis_slice_of(s->ask->adapter), &request->adapter, error));
  }
  BLIS_TRY_MEM(blis_array_reserve(&desk->alloc, &desk->inbox, desk->inbox.count + 1), error);
  BLIS_TRY_MEM(blis_array_reserve(&desk->alloc, &desk->pins, desk->pins.count + 2), error);
  blis_segment *segments = NULL;
  BLIS_TRY_MEM(blis_live_content_place(desk->content, prompt, &segments, &request->segment_count),
               error);
  request->segments = segments;
  return BLIS_OK;
}

/* Submits one choice of an ask: choice k of prompt `which`. */
static blis_status submit_one(blis_live_desk *desk, const blis_live_submission *s, size_t which,
                              int64_t k, blis_live_choice **entered, blis_error *error) {
  const blis_live_ask *ask = s->ask;
  const blis_live_prompt_part *part = &ask->prompts.items[which];
  blis_live_prompt prompt = {
      .tokens = ask->tokens.items + part->first, .count = (uint32_t)part->count, .salt = ask->salt};
  const uint64_t keys[] = {desk->config.seed, ask->seed, (uint64_t)k,
                           blis_live_content_hash(&prompt)};
  choice *c = blis_alloc_zeroed(&desk->alloc, 1, sizeof *c);
  BLIS_TRY_NEW(c, error);
  c->pull = s->pull;
  blis_live_choice *shown = &c->shown;
  *shown = (blis_live_choice){.call = s->call,
                              .number = desk->next_number,
                              .arrival_us = desk->now_us + 1,
                              .first_us = -1,
                              .last_us = desk->now_us + 1,
                              .seed = blis_hash64(keys, sizeof keys, 4),
                              .index = (uint32_t)(which * (size_t)ask->n + (size_t)k),
                              .prompt_tokens = (uint32_t)part->count,
                              .max_tokens = (uint32_t)ask->max_tokens,
                              .n = (uint32_t)ask->n,
                              .instance = -1,
                              .stop = -1};
  shown->planned_tokens = length_of(desk, s, shown->seed);
  shown->text_bytes = shown->planned_tokens * BLIS_LIVE_WORD_BYTES;
  find_stop(ask, shown);
  prompt.reply_seed = shown->seed;
  prompt.reply_tokens = shown->planned_tokens;
  blis_request request;
  blis_status status = make_request(desk, s, shown, &prompt, &request, error);
  if (status == BLIS_OK &&
      blis_map_put(&desk->choices, (uint64_t)shown->number, (uint64_t)(uintptr_t)c) != BLIS_OK) {
    free_segments(desk, &request);
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK && enter_prompt(desk, ask, shown->number, &prompt) != BLIS_OK) {
    blis_map_remove(&desk->choices, (uint64_t)shown->number);
    free_segments(desk, &request);
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK && s->instance >= 0) {
    status = blis_cluster_pin(desk->cluster, shown->number, 0, (uint32_t)s->instance, error);
    desk->pins.items[desk->pins.count++] = shown->number;
    desk->pins.items[desk->pins.count++] = s->instance;
  }
  if (status != BLIS_OK) {
    blis_alloc_free(&desk->alloc, c, sizeof *c);
    return status;
  }
  desk->inbox.items[desk->inbox.count++] = request;
  desk->next_number++;
  desk->open++;
  *entered = shown;
  return BLIS_OK;
}

blis_status blis_live_desk_submit(blis_live_desk *desk, const blis_live_submission *submission,
                                  blis_live_choice **choices, size_t *count, blis_error *error) {
  *count = 0;
  for (size_t which = 0; which < submission->ask->prompts.count; which++) {
    for (int64_t k = 0; k < submission->ask->n; k++) {
      BLIS_TRY(submit_one(desk, submission, which, k, &choices[*count], error));
      (*count)++;
    }
  }
  return blis_cluster_resume_arrivals(desk->cluster, error);
}

blis_status blis_live_desk_close_choice(blis_live_desk *desk, blis_live_choice *shown,
                                        blis_error *error) {
  choice *c = (choice *)shown;
  BLIS_ASSERT(!c->is_closed);
  shown->call = NULL;
  c->is_closed = true;
  if (shown->is_over) {
    if (!c->is_changed) {
      forget(desk, c);
    }
    return BLIS_OK;
  }
  if (c->has_ended) {
    return BLIS_OK;
  }
  /* Clients leave at increasing times, so that a replay of their deadlines has the same order. */
  desk->last_departure_us = blis_max_i64(desk->last_departure_us, desk->now_us) + 1;
  return blis_cluster_leave_at(desk->cluster, shown->number, desk->last_departure_us, error);
}

/* Time */

static void pass_on(blis_live_desk *desk) {
  while (desk->changed != NULL) {
    choice *c = desk->changed;
    desk->changed = c->changed;
    c->is_changed = false;
    if (!c->is_closed) {
      desk->caller.changed(desk->caller.ud, &c->shown);
    } else if (c->shown.is_over) {
      forget(desk, c);
    }
  }
}

blis_status blis_live_desk_advance(blis_live_desk *desk, int64_t now_us, blis_error *error) {
  BLIS_ASSERT(now_us >= desk->now_us);
  BLIS_TRY(blis_cluster_run_until(desk->cluster, now_us, error));
  desk->now_us = now_us;
  blis_event event;
  while (blis_event_queue_next_us(desk->later) <= now_us &&
         blis_event_queue_pop(desk->later, &event)) {
    choice *c = find(desk, (int64_t)event.number);
    BLIS_ASSERT(c != NULL);
    happen(desk, c, event.time_us);
  }
  pass_on(desk);
  if (desk->events != NULL) {
    BLIS_TRY_MEM(blis_live_kv_events_run(desk->events, now_us), error);
  }
  return BLIS_OK;
}

int64_t blis_live_desk_next_us(const blis_live_desk *desk) {
  int64_t next_us =
      blis_min_i64(blis_cluster_next_us(desk->cluster), blis_event_queue_next_us(desk->later));
  return desk->events == NULL ? next_us
                              : blis_min_i64(next_us, blis_live_kv_events_next_us(desk->events));
}

int64_t blis_live_desk_now_us(const blis_live_desk *desk) {
  return desk->now_us;
}

int64_t blis_live_desk_open_choices(const blis_live_desk *desk) {
  return desk->open;
}

int64_t blis_live_desk_load(const blis_live_desk *desk, int64_t instance) {
  bool is_known = instance >= 0 && (size_t)instance < desk->loads.count;
  return instance < 0 ? desk->open : is_known ? desk->loads.items[instance] : 0;
}

blis_cluster *blis_live_desk_cluster(const blis_live_desk *desk) {
  return desk->cluster;
}

const blis_live_meter *blis_live_desk_meter(const blis_live_desk *desk, uint32_t instance) {
  static const blis_live_meter nothing;
  return instance < desk->meters.count ? &desk->meters.items[instance] : &nothing;
}

blis_live_flavor blis_live_desk_flavor(const blis_live_desk *desk) {
  return desk->config.flavor;
}

const int64_t *blis_live_desk_pins(const blis_live_desk *desk, size_t *count) {
  *count = desk->pins.count;
  return desk->pins.items;
}
