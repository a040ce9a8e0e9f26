#include "base/array.h"
#include "base/buffer.h"
#include "base/containers/map.h"
#include "workload/trace/tools/tools.h"

/* Maps string numbers of one input to numbers in the merged workload; 0 = not mapped yet. */
typedef struct text_map {
  uint32_t *ids;
  size_t count;
} text_map;

/* One input workload. */
typedef struct input {
  const blis_workload *workload;
  size_t next; /* index of the next request */
  text_map labels;
  text_map sessions;
  text_map groups;
  blis_map streams; /* stream numbers in the merged workload */
} input;

/* The first input that uses a string as the name of a session or group. */
typedef BLIS_ARRAY(const input *) owner_list;

typedef struct merging {
  const blis_alloc *alloc;
  blis_workload *merged;
  bool same_content;
  owner_list session_owners; /* by text */
  owner_list group_owners;
  uint64_t stream_count;
  BLIS_ARRAY(blis_segment) segments; /* segments of one request */
} merging;

/* Strings. */

static blis_status add_text(merging *m, const input *in, uint32_t id, uint32_t *new_id) {
  const blis_intern *strings = blis_workload_strings(in->workload);
  return blis_workload_text(m->merged, blis_intern_text(strings, id),
                            blis_intern_length(strings, id), new_id);
}

static blis_status map_label(merging *m, input *in, uint32_t *id) {
  uint32_t *new_id = &in->labels.ids[*id];
  if (*id != 0 && *new_id == 0) {
    BLIS_TRY(add_text(m, in, *id, new_id));
  }
  *id = *new_id;
  return BLIS_OK;
}

/* Assigns a string to an input, unless another input owns it. */
static blis_status take(merging *m, const input *in, owner_list *owners, uint32_t text,
                        bool *is_taken) {
  while (owners->count <= text) {
    BLIS_TRY(blis_array_push(m->alloc, owners, NULL));
  }
  *is_taken = owners->items[text] == NULL;
  if (*is_taken) {
    owners->items[text] = in;
  }
  return BLIS_OK;
}

/* Finds the first free name among "name", "name#2", "name#3", ... */
static blis_status find_free_name(merging *m, const input *in, owner_list *owners, uint32_t id,
                                  uint32_t *new_id) {
  const blis_intern *strings = blis_workload_strings(in->workload);
  bool is_taken;
  BLIS_TRY(add_text(m, in, id, new_id));
  BLIS_TRY(take(m, in, owners, *new_id, &is_taken));
  blis_buffer name;
  blis_buffer_init(&name, m->alloc);
  blis_status status = BLIS_OK;
  for (int64_t n = 2; !is_taken && status == BLIS_OK; n++) {
    blis_buffer_clear(&name);
    blis_buffer_bytes(&name, blis_intern_text(strings, id), blis_intern_length(strings, id));
    blis_buffer_char(&name, '#');
    blis_buffer_int64(&name, n);
    status = blis_buffer_status(&name);
    if (status == BLIS_OK) {
      status = blis_workload_text(m->merged, name.data, name.length, new_id);
    }
    if (status == BLIS_OK) {
      status = take(m, in, owners, *new_id, &is_taken);
    }
  }
  blis_buffer_deinit(&name);
  return status;
}

/* Maps a string that is local to one workload. */
static blis_status map_name(merging *m, input *in, const text_map *names, owner_list *owners,
                            uint32_t *id) {
  if (m->same_content) {
    return map_label(m, in, id);
  }
  uint32_t *new_id = &names->ids[*id];
  if (*id != 0 && *new_id == 0) {
    BLIS_TRY(find_free_name(m, in, owners, *id, new_id));
  }
  *id = *new_id;
  return BLIS_OK;
}

static blis_status map_texts(merging *m, input *in, blis_request *request) {
  uint32_t *const labels[] = {&request->tenant,      &request->slo_class, &request->model,
                              &request->client,      &request->adapter,   &request->cascade,
                              &request->mean_logprob};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    BLIS_TRY(map_label(m, in, labels[i]));
  }
  BLIS_TRY(map_name(m, in, &in->sessions, &m->session_owners, &request->session));
  return map_name(m, in, &in->groups, &m->group_owners, &request->prefix_group);
}

/* Content. */

static blis_status map_segments(merging *m, input *in, blis_request *request) {
  if (m->same_content || request->segment_count == 0) {
    return BLIS_OK;
  }
  m->segments.count = 0;
  BLIS_TRY(blis_array_reserve(m->alloc, &m->segments, request->segment_count));
  for (uint32_t i = 0; i < request->segment_count; i++) {
    blis_segment segment = request->segments[i];
    uint64_t *stream;
    bool is_new;
    BLIS_TRY(blis_map_add(&in->streams, segment.stream, m->stream_count + 1, &stream, &is_new));
    m->stream_count += is_new;
    segment.stream = *stream;
    m->segments.items[m->segments.count++] = segment;
  }
  request->segments = m->segments.items;
  return BLIS_OK;
}

/* Requests. */

/* Returns the input whose next request arrives first; NULL if all inputs are at the end. */
static input *find_next(input *inputs, size_t count) {
  input *best = NULL;
  int64_t best_us = 0;
  for (size_t i = 0; i < count; i++) {
    if (inputs[i].next == blis_workload_count(inputs[i].workload)) {
      continue;
    }
    int64_t arrival_us = blis_workload_request(inputs[i].workload, inputs[i].next)->arrival_us;
    if (best == NULL || arrival_us < best_us) {
      best = &inputs[i];
      best_us = arrival_us;
    }
  }
  return best;
}

/* Copies notes and targets; for several targets of a class, the first input takes precedence. */
static blis_status copy_notes(const input *inputs, size_t count, blis_workload *merged) {
  for (size_t i = 0; i < count; i++) {
    const blis_workload *workload = inputs[i].workload;
    for (size_t k = 0; k < blis_workload_note_count(workload); k++) {
      BLIS_TRY(blis_workload_note(merged, "%s", blis_workload_note_text(workload, k)));
    }
    const blis_goodput_target *targets = blis_workload_targets(workload);
    for (size_t k = 0; k < blis_workload_target_count(workload); k++) {
      BLIS_TRY(blis_workload_add_target(merged, &targets[k]));
    }
  }
  return BLIS_OK;
}

static blis_status merge(merging *m, input *inputs, size_t count) {
  int64_t number = 0;
  for (input *in; (in = find_next(inputs, count)) != NULL; in->next++) {
    blis_request request = *blis_workload_request(in->workload, in->next);
    request.number = number++;
    BLIS_TRY(map_texts(m, in, &request));
    BLIS_TRY(map_segments(m, in, &request));
    BLIS_TRY(blis_workload_add(m->merged, &request));
  }
  BLIS_TRY(copy_notes(inputs, count, m->merged));
  BLIS_TRY(blis_workload_describe(m->merged, "%zu workloads merged", count));
  return blis_workload_seal(m->merged);
}

/* Memory. */

static blis_status init_text_map(const blis_alloc *alloc, size_t count, text_map *map) {
  map->ids = blis_alloc_zeroed(alloc, count, sizeof *map->ids);
  map->count = map->ids != NULL ? count : 0;
  return map->ids != NULL ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* NULL = out of memory. */
static input *new_inputs(const blis_alloc *alloc, size_t count) {
  input *inputs = blis_alloc_zeroed(alloc, count, sizeof *inputs);
  for (size_t i = 0; inputs != NULL && i < count; i++) {
    blis_map_init(&inputs[i].streams, alloc);
  }
  return inputs;
}

static blis_status init_input(const blis_alloc *alloc, const blis_workload *workload, input *in) {
  size_t texts = blis_intern_count(blis_workload_strings(workload));
  in->workload = workload;
  BLIS_TRY(init_text_map(alloc, texts, &in->labels));
  BLIS_TRY(init_text_map(alloc, texts, &in->sessions));
  return init_text_map(alloc, texts, &in->groups);
}

static void deinit_text_map(const blis_alloc *alloc, text_map *map) {
  blis_alloc_free(alloc, map->ids, map->count * sizeof *map->ids);
}

static void free_inputs(const blis_alloc *alloc, input *inputs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    deinit_text_map(alloc, &inputs[i].labels);
    deinit_text_map(alloc, &inputs[i].sessions);
    deinit_text_map(alloc, &inputs[i].groups);
    blis_map_deinit(&inputs[i].streams);
  }
  blis_alloc_free(alloc, inputs, count * sizeof *inputs);
}

static blis_status merge_inputs(const blis_alloc *alloc, const blis_workload *const *workloads,
                                input *inputs, size_t count, bool same_content,
                                blis_workload *merged) {
  merging m = {.alloc = alloc, .merged = merged, .same_content = same_content};
  blis_status status = BLIS_OK;
  for (size_t i = 0; i < count && status == BLIS_OK; i++) {
    status = init_input(alloc, workloads[i], &inputs[i]);
  }
  if (status == BLIS_OK) {
    status = merge(&m, inputs, count);
  }
  blis_array_deinit(alloc, &m.session_owners);
  blis_array_deinit(alloc, &m.group_owners);
  blis_array_deinit(alloc, &m.segments);
  return status;
}

blis_status blis_trace_merge(const blis_alloc *alloc, const blis_workload *const *workloads,
                             size_t count, bool same_content, blis_workload **merged,
                             blis_error *error) {
  if (count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "no workloads to merge");
  }
  input *inputs = new_inputs(alloc, count);
  BLIS_TRY_NEW(inputs, error);
  blis_workload *made = blis_workload_new(alloc);
  blis_status status = BLIS_ERR_NOMEM;
  if (made != NULL) {
    status = merge_inputs(alloc, workloads, inputs, count, same_content, made);
  }
  free_inputs(alloc, inputs, count);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return blis_fail_nomem(error);
  }
  *merged = made;
  return BLIS_OK;
}
