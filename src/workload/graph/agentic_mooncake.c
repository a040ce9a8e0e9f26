/*
 * The interchange rows of Dynamo and AISimulate: one request per line. A request waits for the
 * request_ids in wait_for, and then for delay (ms) and tool_wait_ms. Rows without wait_for arrive
 * at timestamp (ms). Each hash id represents 512 tokens and is shared by the whole file. Without
 * hash ids, a prompt is unique.
 *
 * Rows that are connected by waits form a graph. Unknown names, rows that wait for themselves, and
 * cycles are errors.
 */
#include <stdlib.h>
#include <string.h>

#include "workload/graph/blocks.h"
#include "workload/graph/format.h"

enum { HASH_BLOCK_TOKENS = 512 };

typedef struct row {
  uint32_t id; /* number in strings */
  uint32_t session;
  int64_t line;
  int64_t time_us; /* -1 = none */
  int64_t delay_us;
  int64_t tool_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t first_id;
  uint32_t id_count;
  uint32_t first_wait;
  uint32_t wait_count;
  uint32_t waits_left;
  uint32_t graph; /* one row of the graph */
  uint32_t node;  /* in it */
} row;

/* A row with its sort keys. */
typedef struct place {
  int64_t start_us; /* start of its graph */
  uint32_t graph;
  uint32_t order; /* position after all rows that it waits for */
  uint32_t row;
} place;

typedef struct reading {
  blis__graph_rows rows;
  blis__blocks blocks;
  uint32_t block_tokens;
  blis_map by_id; /* rows, by the string number of their request_id */
  BLIS_ARRAY(row) items;
  BLIS_ARRAY(uint32_t) waits; /* string numbers, later row numbers */
  BLIS_ARRAY(place) places;
  size_t next;
  blis_map rounds; /* by session */
} reading;

static bool recognise(blis_slice head) {
  static const char *const words[] = {"\"request_id\"", "\"session_id\"", NULL};
  static const char *const waits[] = {"\"request_id\"", "\"wait_for\"", NULL};
  return blis__graph_head_has(head, waits) || blis__graph_head_has(head, words);
}

static const char *const fields[] = {"request_id",
                                     "session_id",
                                     "input_length",
                                     "input_tokens",
                                     "output_length",
                                     "output_tokens",
                                     "output_token_ids",
                                     "hash_ids",
                                     "timestamp",
                                     "created_time",
                                     "wait_for",
                                     "delay",
                                     "delay_ms",
                                     "tool_wait_ms",
                                     "branches",
                                     "prefix_reset",
                                     "tool_events",
                                     "request_kind",
                                     "source_play_ordinal",
                                     NULL};

/* Reads a length, or counts tokens that are listed. */
static blis_status read_length(blis_json_value object, const char *length, const char *tokens,
                               uint32_t *count, blis_error *error) {
  blis_json_value list = blis_json_member(object, tokens);
  if (blis_json_has(list)) {
    BLIS_TRY(blis_json_need_array(list, error));
    if (!blis_json_has(blis_json_member(object, length))) {
      *count = (uint32_t)blis_json_count(list);
      return BLIS_OK;
    }
  }
  BLIS_TRY(blis__graph_need(object, length, error));
  return blis__graph_tokens(object, length, count, error);
}

static blis_status read_waits(reading *r, blis_json_value object, row *made, blis_error *error) {
  blis_json_value list = blis_json_member(object, "wait_for");
  made->first_wait = (uint32_t)r->waits.count;
  if (!blis_json_has(list)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(list, error));
  made->wait_count = (uint32_t)blis_json_count(list);
  for (size_t i = 0; i < made->wait_count; i++) {
    blis_slice text;
    uint32_t id;
    BLIS_TRY(blis_json_text(blis_json_item(list, i), &text, error));
    BLIS_TRY_MEM(blis_intern_add(r->rows.strings, text.data, text.length, &id), error);
    BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->waits, id), error);
  }
  return BLIS_OK;
}

static blis_status read_times(blis_json_value object, row *made, blis_error *error) {
  made->time_us = -1;
  BLIS_TRY(
      blis__graph_either_time(object, "timestamp", "created_time", 1e3, &made->time_us, error));
  BLIS_TRY(blis__graph_either_time(object, "delay", "delay_ms", 1e3, &made->delay_us, error));
  return blis__graph_time(object, "tool_wait_ms", 1e3, &made->tool_us, error);
}

static blis_status read_row(reading *r, blis_json_value object, int64_t line, blis_error *error) {
  row made = {.line = line, .graph = (uint32_t)r->items.count};
  blis__graph_see(&r->rows, object, fields);
  BLIS_TRY(blis__graph_need(object, "request_id", error));
  BLIS_TRY(blis__graph_name(&r->rows, object, "request_id", &made.id, error));
  BLIS_TRY(blis__graph_name(&r->rows, object, "session_id", &made.session, error));
  BLIS_TRY(read_length(object, "input_length", "input_tokens", &made.prompt_tokens, error));
  BLIS_TRY(read_length(object, "output_length",
                       blis_json_has(blis_json_member(object, "output_tokens"))
                           ? "output_tokens"
                           : "output_token_ids",
                       &made.output_tokens, error));
  BLIS_TRY(read_times(object, &made, error));
  BLIS_TRY(read_waits(r, object, &made, error));
  BLIS_TRY(blis__blocks_read(&r->blocks, blis_json_member(object, "hash_ids"), &made.first_id,
                             &made.id_count, error));
  uint32_t full = made.prompt_tokens / r->block_tokens;
  if (made.id_count > full + 1) {
    r->rows.known->excess_ids += r->rows.known->is_first;
  }
  made.id_count = made.id_count > full ? full : made.id_count;
  bool is_new;
  uint64_t *other;
  BLIS_TRY_MEM(blis_map_add(&r->by_id, made.id, r->items.count, &other, &is_new), error);
  if (!is_new) {
    return blis_json_fail(blis_json_member(object, "request_id"), "is given twice", error);
  }
  BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->items, made), error);
  return BLIS_OK;
}

/* Graphs. */

/* Returns the representative row of the graph that contains a row. */
static uint32_t root_of(reading *r, uint32_t index) {
  row *items = r->items.items;
  while (items[index].graph != index) {
    items[index].graph = items[items[index].graph].graph;
    index = items[index].graph;
  }
  return index;
}

static blis_status resolve(reading *r, uint32_t index, blis_error *error) {
  row *one = &r->items.items[index];
  for (uint32_t i = 0; i < one->wait_count; i++) {
    uint32_t *wait = &r->waits.items[one->first_wait + i];
    uint64_t other = index;
    bool is_known = blis_map_get(&r->by_id, *wait, &other);
    if (!is_known || other == index) {
      return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: key 'wait_for': '%.100s' is %s",
                       r->rows.path, (long long)one->line, blis_intern_text(r->rows.strings, *wait),
                       is_known ? "the row itself" : "no row of the file");
    }
    *wait = (uint32_t)other;
    uint32_t a = root_of(r, index);
    uint32_t b = root_of(r, *wait);
    r->items.items[a > b ? a : b].graph = a > b ? b : a;
  }
  one->waits_left = one->wait_count;
  return BLIS_OK;
}

/* Lists the dependents: the rows that wait for row i are lists[first[i + 1]] to lists[first[i +
   2] - 1]. */
static void list_dependants(const reading *r, uint32_t *first, uint32_t *lists) {
  size_t count = r->items.count;
  for (size_t i = 0; i < r->waits.count; i++) {
    first[r->waits.items[i] + 1]++;
  }
  for (size_t i = 0; i < count; i++) {
    first[i + 1] += first[i];
  }
  for (size_t i = count; i-- > 0;) {
    const row *one = &r->items.items[i];
    for (uint32_t w = 0; w < one->wait_count; w++) {
      uint32_t other = r->waits.items[one->first_wait + w];
      lists[--first[other + 1]] = (uint32_t)i;
    }
  }
}

/* Orders the rows so that each one follows the rows that it waits for. */
static blis_status order_rows(reading *r, const uint32_t *first, const uint32_t *lists,
                              uint32_t *queue, blis_error *error) {
  uint32_t count = (uint32_t)r->items.count;
  uint32_t taken = 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (r->items.items[i].waits_left == 0) {
      queue[found++] = i;
    }
  }
  while (taken < found) {
    uint32_t index = queue[taken];
    const place one = {.graph = root_of(r, index), .order = taken++, .row = index};
    BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->places, one), error);
    uint32_t end = index + 2 <= count ? first[index + 2] : (uint32_t)r->waits.count;
    for (uint32_t i = first[index + 1]; i < end; i++) {
      if (--r->items.items[lists[i]].waits_left == 0) {
        queue[found++] = lists[i];
      }
    }
  }
  for (uint32_t i = 0; i < count && found < count; i++) {
    if (r->items.items[i].waits_left > 0) {
      return blis_fail(error, BLIS_ERR_PARSE,
                       "%s:%lld: key 'wait_for': request '%.100s' waits for "
                       "itself in a circle",
                       r->rows.path, (long long)r->items.items[i].line,
                       blis_intern_text(r->rows.strings, r->items.items[i].id));
    }
  }
  return BLIS_OK;
}

static int compare_places(const void *a, const void *b) {
  const place *left = a;
  const place *right = b;
  if (left->start_us != right->start_us) {
    return left->start_us < right->start_us ? -1 : 1;
  }
  if (left->graph != right->graph) {
    return left->graph < right->graph ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

/* Sorts graphs by their earliest root. A root without a time starts with its graph. */
static void sort_places(reading *r, int64_t *starts) {
  for (size_t i = 0; i < r->items.count; i++) {
    starts[i] = INT64_MAX;
  }
  for (size_t i = 0; i < r->places.count; i++) {
    const row *one = &r->items.items[r->places.items[i].row];
    int64_t *start_us = &starts[r->places.items[i].graph];
    if (one->wait_count == 0 && one->time_us >= 0 && one->time_us < *start_us) {
      *start_us = one->time_us;
    }
  }
  for (size_t i = 0; i < r->places.count; i++) {
    int64_t start_us = starts[r->places.items[i].graph];
    r->places.items[i].start_us = start_us == INT64_MAX ? -1 : start_us;
  }
  qsort(r->places.items, r->places.count, sizeof *r->places.items, compare_places);
}

static blis_status find_graphs(reading *r, blis_error *error) {
  size_t count = r->items.count;
  size_t size = (2 * count + 3 + r->waits.count) * sizeof(uint32_t) + count * sizeof(int64_t);
  for (uint32_t i = 0; i < count; i++) {
    BLIS_TRY(resolve(r, i, error));
  }
  if (count == 0) {
    return BLIS_OK;
  }
  int64_t *starts = blis_alloc_zeroed(r->rows.alloc, 1, size);
  BLIS_TRY_NEW(starts, error);
  uint32_t *first = (uint32_t *)(void *)(starts + count);
  uint32_t *queue = first + count + 3;
  uint32_t *lists = queue + count;
  list_dependants(r, first, lists);
  blis_status status = order_rows(r, first, lists, queue, error);
  if (status == BLIS_OK) {
    sort_places(r, starts);
  }
  blis_alloc_free(r->rows.alloc, starts, size);
  return status;
}

static blis_status set_session(reading *r, const row *one, blis_graph_node *node, uint32_t name) {
  uint64_t *round;
  node->request.session = one->session != 0 ? one->session : name;
  BLIS_TRY(blis_map_add(&r->rounds, node->request.session, 0, &round, NULL));
  node->request.round_index = (int32_t)(*round)++;
  return BLIS_OK;
}

static blis_status add_row(reading *r, const place *p, uint32_t name, blis_error *error) {
  row *one = &r->items.items[p->row];
  bool is_root = one->wait_count == 0;
  int64_t late_us = is_root && one->time_us > p->start_us ? one->time_us - p->start_us : 0;
  int64_t delay_us = is_root ? late_us : blis__graph_capped(&r->rows, one->delay_us + one->tool_us);
  int64_t tool_us = is_root ? 0 : one->tool_us;
  blis_graph_node node = {.request = {.prompt_tokens = one->prompt_tokens,
                                      .output_tokens = one->output_tokens,
                                      .max_output_tokens = one->output_tokens},
                          .delay_us = delay_us,
                          .tool_us = tool_us < delay_us ? tool_us : delay_us,
                          .extends = BLIS_GRAPH_NO_NODE};
  BLIS_TRY_MEM(set_session(r, one, &node, name), error);
  BLIS_TRY(blis__blocks_segments(&r->blocks, one->first_id, one->id_count, BLIS__BLOCKS_GLOBAL,
                                 r->block_tokens, &node.request, error));
  uint32_t *waits = one->wait_count > 0 ? &r->waits.items[one->first_wait] : NULL;
  one->node = (uint32_t)r->rows.builder.nodes.count;
  for (uint32_t i = 0; i < one->wait_count; i++) {
    waits[i] = r->items.items[waits[i]].node; /* overwritten because it is no longer needed */
  }
  return blis__graph_add(&r->rows, one->line, &node, false, waits, one->wait_count, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  *done = r->next == r->places.count;
  if (*done) {
    return BLIS_OK;
  }
  const place *first = &r->places.items[r->next];
  const row *root = &r->items.items[first->row];
  uint32_t name = root->session != 0 ? root->session : root->id;
  blis_graph_builder_clear(&r->rows.builder);
  while (r->next < r->places.count && r->places.items[r->next].graph == first->graph) {
    BLIS_TRY(add_row(r, &r->places.items[r->next++], name, error));
  }
  *graph = blis_graph_builder_get(&r->rows.builder, name, first->start_us);
  return BLIS_OK;
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  uint32_t given = r->rows.options->hash_block_tokens;
  r->block_tokens = given != 0 ? given : HASH_BLOCK_TOKENS;
  blis__blocks_init(&r->blocks, r->rows.alloc);
  blis_map_init(&r->by_id, r->rows.alloc);
  blis_map_init(&r->rounds, r->rows.alloc);
  BLIS_TRY_MEM(blis_map_reserve(&r->by_id, 16), error);
  bool has_line = true;
  while (has_line) {
    blis_json_value object;
    int64_t line;
    BLIS_TRY(blis__graph_next_object(&r->rows, &object, &line, &has_line, error));
    if (has_line) {
      BLIS_TRY(read_row(r, object, line, error));
    }
  }
  return find_graphs(r, error);
}

static void close_reading(void *reader) {
  reading *r = reader;
  const blis_alloc *alloc = r->rows.alloc;
  blis__blocks_deinit(&r->blocks);
  blis_map_deinit(&r->by_id);
  blis_map_deinit(&r->rounds);
  blis_array_deinit(alloc, &r->items);
  blis_array_deinit(alloc, &r->waits);
  blis_array_deinit(alloc, &r->places);
}

const blis__graph_format blis__graph_agentic_mooncake = {
    .name = "agentic-mooncake",
    .text = "JSONL of requests with request_id, wait_for, delay, tool_wait_ms",
    .needs = "\"request_id\" with \"session_id\" or \"wait_for\"",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
