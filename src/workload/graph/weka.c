/* weka.c - reads Weka corpora, with one conversation per line or per file. */
#include "workload/graph/weka.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"

enum { USUAL_BLOCK_TOKENS = 64, MAX_DEPTH = 16 };

typedef struct reading {
  blis__graph_rows rows;
  blis__weka w;
  blis_map ids;    /* ids of conversations; used only by the first reader */
  blis_map agents; /* number of agents in the conversation, by agent_id */
} reading;

static bool recognise(blis_slice head) {
  static const char *const words[] = {"\"requests\"", "\"block_size\"", NULL};
  return blis__graph_head_has(head, words);
}

static const char *const top_fields[] = {
    "id",       "models", "block_size", "hash_id_scope", "tool_tokens", "system_tokens",
    "requests", "totals", NULL};
static const char *const call_fields[] = {"t",
                                          "type",
                                          "model",
                                          "in",
                                          "out",
                                          "hash_ids",
                                          "input_types",
                                          "output_types",
                                          "stop",
                                          "api_time",
                                          "ttft",
                                          "think_time",
                                          "input_length",
                                          "output_length",
                                          NULL};
static const char *const marker_fields[] = {
    "t",           "type",     "agent_id",     "subagent_type",
    "duration_ms", "models",   "total_tokens", "tool_use_count",
    "status",      "requests", "tool_tokens",  "system_tokens",
    NULL};

/* One entry of a list of requests, to be sorted by time. */
typedef struct entry {
  int64_t time_us;
  size_t place;
  blis_json_value value;
  bool is_marker;
} entry;

/* Calls. */

/* Reads a length. Lengths have two spellings, of which exactly one must be present. */
static blis_status read_length(blis_json_value call, const char *key, const char *other,
                               uint32_t *tokens, blis_error *error) {
  blis_json_value value = blis_json_member(call, key);
  blis_json_value alias = blis_json_member(call, other);
  if (blis_json_has(value) && blis_json_has(alias)) {
    return blis_json_fail(alias, "is another spelling of a key that is also set", error);
  }
  if (blis_json_has(alias)) {
    return blis__graph_tokens(call, other, tokens, error);
  }
  BLIS_TRY(blis__graph_need(call, key, error));
  return blis__graph_tokens(call, key, tokens, error);
}

static blis_status read_type(blis_json_value call, blis_slice *type, blis_error *error) {
  blis_json_value value = blis_json_member(call, "type");
  *type = blis_slice_of("n");
  if (blis_json_has(value)) {
    BLIS_TRY(blis_json_text(value, type, error));
  }
  if (!blis_slice_equals(*type, "n") && !blis_slice_equals(*type, "s") &&
      !blis_slice_equals(*type, "subagent")) {
    return blis_json_invalid(value, "n, s, or subagent", error);
  }
  return BLIS_OK;
}

/* Drops ids of blocks that the prompt does not fill. */
static void drop_excess(blis__weka *w, blis__graph_rows *rows, blis__weka_call *call) {
  uint32_t full = call->prompt_tokens / w->block_tokens;
  if (call->id_count > full) {
    call->id_count = full;
    rows->known->excess_ids += rows->known->is_first;
  }
}

static blis_status read_call(reading *r, uint32_t agent, blis_json_value value, int64_t start_us,
                             blis_error *error) {
  blis__weka *w = &r->w;
  blis__graph_see(&r->rows, value, call_fields);
  blis__weka_call call = {.start_us = start_us, .think_us = -1};
  int64_t took_us = 0;
  BLIS_TRY(read_length(value, "in", "input_length", &call.prompt_tokens, error));
  BLIS_TRY(read_length(value, "out", "output_length", &call.output_tokens, error));
  BLIS_TRY(blis__graph_time(value, "api_time", 1e6, &took_us, error));
  BLIS_TRY(blis__graph_time(value, "think_time", 1e6, &call.think_us, error));
  BLIS_TRY(blis__graph_name(&r->rows, value, "model", &call.model, error));
  BLIS_TRY(blis__graph_names_find(r->rows.models, blis_json_member(value, "model"), &call.served,
                                  error));
  BLIS_TRY(blis__blocks_read(&w->blocks, blis_json_member(value, "hash_ids"), &call.first_id,
                             &call.id_count, error));
  call.end_us = blis_time_after_us(start_us, took_us);
  drop_excess(w, &r->rows, &call);
  blis_slice type;
  BLIS_TRY(read_type(value, &type, error));
  call.is_streamed = blis_slice_equals(type, "s");
  if (call.is_streamed && agent != 0 && r->rows.options->reading == BLIS_GRAPH_INFERENCE_PERF) {
    return blis_json_invalid(blis_json_member(value, "type"),
                             "n inside a subagent with reading inference-perf", error);
  }
  blis_json_value stop = blis_json_member(value, "stop");
  blis_slice text = {0};
  if (blis_json_has(stop)) {
    BLIS_TRY(blis_json_text(stop, &text, error));
  }
  call.calls_tool = blis_slice_equals(text, "tool_use");
  BLIS_TRY_MEM(blis_array_push(&w->alloc, &w->agents.items[agent].calls, (uint32_t)w->calls.count),
               error);
  BLIS_TRY_MEM(blis_array_push(&w->alloc, &w->calls, call), error);
  return BLIS_OK;
}

/* Lists of requests. */

static int compare_entries(const void *a, const void *b) {
  const entry *left = a;
  const entry *right = b;
  if (left->time_us != right->time_us) {
    return left->time_us < right->time_us ? -1 : 1;
  }
  return (left->place > right->place) - (left->place < right->place);
}

static blis_status read_entries(reading *r, blis_json_value list, int64_t basis_us, entry *entries,
                                blis_error *error) {
  size_t count = blis_json_count(list);
  for (size_t i = 0; i < count; i++) {
    blis_json_value value = blis_json_item(list, i);
    int64_t time_us = 0;
    blis_slice type;
    BLIS_TRY(blis_json_need_object(value, error));
    BLIS_TRY(blis__graph_need(value, "t", error));
    BLIS_TRY(blis__graph_time(value, "t", 1e6, &time_us, error));
    BLIS_TRY(read_type(value, &type, error));
    entries[i] = (entry){.time_us = blis_time_after_us(time_us, basis_us),
                         .place = i,
                         .value = value,
                         .is_marker = blis_slice_equals(type, "subagent")};
  }
  if (r->rows.options->reading != BLIS_GRAPH_GUIDELLM && count > 1) {
    qsort(entries, count, sizeof *entries, compare_entries);
  }
  return BLIS_OK;
}

/* Determines whether any nested time is before that of its marker. */
static blis_status has_earlier(blis_json_value list, int64_t marker_us, bool *is_earlier,
                               blis_error *error) {
  for (size_t i = 0; i < blis_json_count(list) && !*is_earlier; i++) {
    int64_t time_us = marker_us;
    BLIS_TRY(blis__graph_time(blis_json_item(list, i), "t", 1e6, &time_us, error));
    *is_earlier = time_us < marker_us - 1000; /* tolerates rounding */
  }
  return BLIS_OK;
}

/*
 * Finds the offset of nested times. The first reader determines one offset for the
 * whole corpus; GuideLLM uses the first call of each marker.
 */
static blis_status find_basis(reading *r, blis_json_value list, int64_t marker_us,
                              int64_t *basis_us, blis_error *error) {
  blis__graph_known *known = r->rows.known;
  const blis_graph_file_options *options = r->rows.options;
  bool is_relative = options->nested == BLIS_GRAPH_NESTED_RELATIVE;
  if (options->nested == BLIS_GRAPH_NESTED_AUTO) {
    bool is_earlier = false;
    if (options->reading == BLIS_GRAPH_GUIDELLM) {
      int64_t first_us = marker_us;
      BLIS_TRY(blis__graph_time(blis_json_item(list, 0), "t", 1e6, &first_us, error));
      is_relative = first_us < marker_us;
    } else if (known->is_first) {
      BLIS_TRY(has_earlier(list, marker_us, &is_earlier, error));
      known->nested_is_relative = known->nested_is_relative || is_earlier;
      is_relative = known->nested_is_relative;
    } else {
      is_relative = known->nested_is_relative;
    }
  }
  *basis_us = is_relative ? marker_us : 0;
  return BLIS_OK;
}

static blis_status read_list(reading *r, uint32_t agent, blis_json_value list, int64_t basis_us,
                             int depth, blis_error *error);

/* Reads an id that becomes part of session names; 0 = none. */
static blis_status read_id(reading *r, blis_json_value object, const char *key, uint32_t *id,
                           blis_error *error) {
  *id = 0;
  BLIS_TRY(blis__graph_name(&r->rows, object, key, id, error));
  return strchr(blis_intern_text(r->rows.strings, *id), ':') == NULL
             ? BLIS_OK
             : blis_json_invalid(blis_json_member(object, key), "a name without ':'", error);
}

/* Names the session of a subagent. Subagents with the same agent_id are separate sessions. */
static blis_status name_session(reading *r, blis_json_value marker, uint32_t *session,
                                blis_error *error) {
  const blis_intern *strings = r->rows.strings;
  uint32_t name;
  uint64_t *count;
  bool is_new;
  BLIS_TRY(read_id(r, marker, "agent_id", &name, error));
  BLIS_TRY_MEM(blis_map_add(&r->agents, name, 0, &count, &is_new), error);
  const char *conversation = blis_intern_text(strings, r->w.id);
  const char *agent = name != 0 ? blis_intern_text(strings, name) : "unnamed";
  ++*count;
  if (is_new) {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, session, "%.120s::sa:%.100s", conversation, agent),
                 error);
    return BLIS_OK;
  }
  r->rows.known->same_agents += r->rows.known->is_first;
  BLIS_TRY_MEM(blis__graph_text(&r->rows, session, "%.120s::sa:%.100s:%llu", conversation, agent,
                                (unsigned long long)*count),
               error);
  return BLIS_OK;
}

static blis_status read_marker(reading *r, uint32_t parent, const entry *marker, int depth,
                               blis_error *error) {
  blis__weka *w = &r->w;
  blis__graph_see(&r->rows, marker->value, marker_fields);
  uint32_t count = (uint32_t)w->agents.items[parent].calls.count;
  blis__weka_agent agent = {.parent = parent, .spawned = count, .joined = count};
  BLIS_TRY(name_session(r, marker->value, &agent.session, error));
  blis_json_value list = blis_json_member(marker->value, "requests");
  if (!blis_json_has(list)) {
    return BLIS_OK;
  }
  int64_t basis_us;
  BLIS_TRY(blis_json_need_array(list, error));
  BLIS_TRY(find_basis(r, list, marker->time_us, &basis_us, error));
  BLIS_TRY_MEM(blis__weka_add_agent(w, &agent), error);
  return read_list(r, (uint32_t)w->agent_count - 1, list, basis_us, depth + 1, error);
}

static blis_status read_sorted(reading *r, uint32_t agent, const entry *entries, size_t count,
                               int depth, blis_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (entries[i].is_marker) {
      BLIS_TRY(read_marker(r, agent, &entries[i], depth, error));
    } else {
      BLIS_TRY(read_call(r, agent, entries[i].value, entries[i].time_us, error));
    }
  }
  return BLIS_OK;
}

static blis_status read_list(reading *r, uint32_t agent, blis_json_value list, int64_t basis_us,
                             int depth, blis_error *error) {
  BLIS_TRY(blis_json_need_array(list, error));
  size_t count = blis_json_count(list);
  if (depth > MAX_DEPTH) {
    return blis_json_fail(list, "is nested too deeply", error);
  }
  if (count == 0) {
    return BLIS_OK;
  }
  entry *entries = blis_alloc_zeroed(r->rows.alloc, count, sizeof *entries);
  BLIS_TRY_NEW(entries, error);
  blis_status status = read_entries(r, list, basis_us, entries, error);
  if (status == BLIS_OK) {
    status = read_sorted(r, agent, entries, count, depth, error);
  }
  blis_alloc_free(r->rows.alloc, entries, count * sizeof *entries);
  return status;
}

/* Conversations. */

static blis_status read_scope(blis__weka *w, blis_json_value top, blis_error *error) {
  blis_json_value value = blis_json_member(top, "hash_id_scope");
  blis_slice scope = blis_slice_of("global");
  if (blis_json_has(value)) {
    BLIS_TRY(blis_json_text(value, &scope, error));
  }
  w->is_global = blis_slice_equals(scope, "global");
  return w->is_global || blis_slice_equals(scope, "local")
             ? BLIS_OK
             : blis_json_invalid(value, "local or global", error);
}

static blis_status note_same_id(reading *r, blis_error *error) {
  blis__graph_known *known = r->rows.known;
  uint64_t *count;
  bool is_new;
  if (known->is_first) {
    BLIS_TRY_MEM(blis_map_add(&r->ids, r->w.id, 0, &count, &is_new), error);
    known->same_ids += !is_new;
  }
  return BLIS_OK;
}

/* Registers the models of a conversation's own calls before those of its subagents, regardless
   of their order in the list. */
static blis_status see_models(reading *r, blis_json_value list, blis_error *error) {
  size_t count = r->rows.models->given.count > 0 ? blis_json_count(list) : 0;
  for (size_t i = 0; i < count; i++) {
    blis_json_value value = blis_json_item(list, i);
    uint32_t served;
    BLIS_TRY(
        blis__graph_names_find(r->rows.models, blis_json_member(value, "model"), &served, error));
  }
  return BLIS_OK;
}

static blis_status read_conversation(reading *r, blis_json_value top, blis_error *error) {
  blis__weka *w = &r->w;
  const blis_graph_file_options *options = r->rows.options;
  blis__graph_see(&r->rows, top, top_fields);
  BLIS_TRY(blis__graph_need(top, "id", error));
  BLIS_TRY(read_id(r, top, "id", &w->id, error));
  if (w->id == 0) {
    return blis_json_invalid(blis_json_member(top, "id"), "a name", error);
  }
  BLIS_TRY(note_same_id(r, error));
  w->block_tokens = USUAL_BLOCK_TOKENS;
  BLIS_TRY(blis__graph_tokens(top, "block_size", &w->block_tokens, error));
  if (options->hash_block_tokens > 0) {
    w->block_tokens = options->hash_block_tokens;
  }
  if (w->block_tokens == 0) {
    return blis_json_invalid(blis_json_member(top, "block_size"), "at least 1", error);
  }
  BLIS_TRY(read_scope(w, top, error));
  blis__blocks_clear(&w->blocks, !w->is_global);
  blis_map_clear(&r->agents);
  w->calls.count = 0;
  w->agent_count = 0;
  const blis__weka_agent root = {.session = w->id, .parent = BLIS__WEKA_NONE};
  BLIS_TRY_MEM(blis__weka_add_agent(w, &root), error);
  blis_json_value list = blis_json_member(top, "requests");
  BLIS_TRY(blis__graph_need(top, "requests", error));
  BLIS_TRY(see_models(r, list, error));
  return read_list(r, 0, list, 0, 0, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  bool is_empty = true;
  while (is_empty) {
    blis_json_value top;
    bool has_line;
    BLIS_TRY(blis__graph_next_object(&r->rows, &top, &r->w.line, &has_line, error));
    *done = !has_line;
    if (*done) {
      return BLIS_OK;
    }
    BLIS_TRY(read_conversation(r, top, error));
    BLIS_TRY(blis__weka_build(&r->w, &r->rows, graph, &is_empty, error));
    r->rows.known->rootless += is_empty && r->rows.known->is_first;
  }
  return BLIS_OK;
}

static blis_status open_reading(void *reader, blis_error *error) {
  (void)error;
  reading *r = reader;
  r->w.alloc = *r->rows.alloc;
  blis__blocks_init(&r->w.blocks, r->rows.alloc);
  blis_map_init(&r->ids, r->rows.alloc);
  blis_map_init(&r->agents, r->rows.alloc);
  return BLIS_OK;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis__weka *w = &r->w;
  for (size_t i = 0; i < w->agents.count; i++) {
    blis_array_deinit(&w->alloc, &w->agents.items[i].calls);
  }
  blis_array_deinit(&w->alloc, &w->agents);
  blis_array_deinit(&w->alloc, &w->calls);
  blis__blocks_deinit(&w->blocks);
  blis_map_deinit(&r->ids);
  blis_map_deinit(&r->agents);
}

const blis__graph_format blis__graph_weka = {
    .name = "weka",
    .text = "JSONL of conversations of coding agents: requests with t, in, "
            "out, hash_ids; or a folder of them",
    .reads_folders = true,
    .needs = "\"requests\" and \"block_size\"",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
