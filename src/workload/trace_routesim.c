/*
 * Compact JSONL, the format of RouteSim: one object per line with ts (ms),
 * prompt_tokens and gen_tokens; prefix_hash and prefix_len are the first tokens
 * of the prompt, equal for equal hashes; conversation_id is the session. Lines
 * that start with '#' are comments. lora_adapter and priority are checked and
 * have no effect yet.
 *
 * Files that are written here may have keys of their own beside these, so that
 * nothing is lost: id, turn, max_tokens, deadline_us, model, tenant, slo_class,
 * client, and segments (trace_segments.h), which then tells all shared content
 * in place of prefix_hash. Without any turn, the rows of a session are its
 * rounds in order of time.
 */
#include <stdio.h>

#include "workload/trace_jsonl.h"
#include "workload/trace_rows.h"
#include "workload/trace_segments.h"

/* Keeps prefixes apart from the streams that segments name. */
#define PREFIX_STREAM (UINT64_C(1) << 63)

typedef struct reading {
  const blis__trace_job *job;
  blis__trace_rows rows;
  blis__segment_list segments; /* of all rows */
  bool has_turns;
  int64_t with_adapter; /* rows */
  int64_t with_priority;
} reading;

static bool recognise(blis_slice head) {
  blis_slice row = blis__trace_first_row(head);
  return row.length > 0 && row.data[0] == '{' &&
         blis__trace_first_line_has(row, "\"ts\"") &&
         blis__trace_first_line_has(row, "\"prompt_tokens\"");
}

/* A whole number that may be left out. */
static blis_status read_whole(blis_json_value row, const char *key, int64_t max,
                              int64_t *value, blis_error *error) {
  blis_json_value member = blis_json_member(row, key);
  return blis_json_has(member) ? blis_json_int64(member, 0, max, value, error)
                               : BLIS_OK;
}

static blis_status read_labels(const blis__trace_job *job, blis_json_value row,
                               blis_request *request, blis_error *error) {
  const struct {
    const char *key;
    uint32_t *id;
  } labels[] = {
      {"prefix_hash", &request->prefix_group},
      {"conversation_id", &request->session},
      {"model", &request->model},
      {"tenant", &request->tenant},
      {"slo_class", &request->slo_class},
      {"client", &request->client},
  };
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    BLIS_TRY(blis__trace_name(job, row, labels[i].key, labels[i].id, error));
  }
  return BLIS_OK;
}

static blis_status read_numbers(blis_json_value row, blis_request *request,
                                blis_error *error) {
  int64_t turn = 0;
  int64_t max_tokens = request->output_tokens;
  int64_t prefix_tokens = 0;
  BLIS_TRY(read_whole(row, "id", INT64_MAX, &request->number, error));
  BLIS_TRY(read_whole(row, "turn", INT32_MAX, &turn, error));
  BLIS_TRY(read_whole(row, "max_tokens", BLIS_WORKLOAD_MAX_TOKENS, &max_tokens,
                      error));
  BLIS_TRY(read_whole(row, "prefix_len", BLIS_WORKLOAD_MAX_TOKENS,
                      &prefix_tokens, error));
  BLIS_TRY(
      read_whole(row, "deadline_us", INT64_MAX, &request->deadline_us, error));
  request->round_index = (int32_t)turn;
  request->max_output_tokens = (uint32_t)max_tokens;
  request->prefix_tokens = (uint32_t)prefix_tokens;
  return BLIS_OK;
}

static blis_status count_unused(reading *r, blis_json_value row,
                                blis_error *error) {
  blis_json_value adapter = blis_json_member(row, "lora_adapter");
  blis_slice name;
  int64_t priority = 0;
  if (blis_json_has(adapter)) {
    BLIS_TRY(blis_json_text(adapter, &name, error));
    r->with_adapter++;
  }
  BLIS_TRY(read_whole(row, "priority", 255, &priority, error));
  r->with_priority += priority > 0;
  return BLIS_OK;
}

static blis_status read_segments(reading *r, blis_json_value segments,
                                 blis_request *request, blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_json_text(segments, &text, error));
  blis_status status = blis__trace_parse_segments(
      r->job->alloc, text, &r->segments, &request->shared_tokens);
  if (status == BLIS_ERR_NOMEM) {
    return blis_fail_nomem(error);
  }
  if (status != BLIS_OK) {
    return blis_json_fail(segments, BLIS__SEGMENTS_FAULT, error);
  }
  if (request->shared_tokens > request->prompt_tokens) {
    char what[100];
    snprintf(what, sizeof what, "has %u tokens; the prompt has %u",
             request->shared_tokens, request->prompt_tokens);
    return blis_json_fail(segments, what, error);
  }
  return BLIS_OK;
}

/* RouteSim's: a prefix cannot be longer than its prompt. */
static blis_status set_prefix(reading *r, blis_request *request,
                              blis_error *error) {
  if (request->prefix_tokens > request->prompt_tokens) {
    request->prefix_tokens = request->prompt_tokens;
  }
  if (request->prefix_group == 0 || request->prefix_tokens == 0) {
    return BLIS_OK;
  }
  blis_segment prefix = {.stream = PREFIX_STREAM | request->prefix_group,
                         .length_tokens = request->prefix_tokens};
  if (blis_array_push(r->job->alloc, &r->segments, prefix) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  request->shared_tokens = request->prefix_tokens;
  return BLIS_OK;
}

static blis_status read_row(void *state, const blis__trace_line *line,
                            blis_error *error) {
  reading *r = state;
  blis_json_value row = line->row;
  blis_request request = {.number = line->number};
  BLIS_TRY(blis__trace_time(row, "ts", 1000, &request.arrival_us, error));
  BLIS_TRY(
      blis__trace_tokens(row, "prompt_tokens", &request.prompt_tokens, error));
  BLIS_TRY(
      blis__trace_tokens(row, "gen_tokens", &request.output_tokens, error));
  BLIS_TRY(read_numbers(row, &request, error));
  BLIS_TRY(read_labels(r->job, row, &request, error));
  BLIS_TRY(count_unused(r, row, error));
  r->has_turns = r->has_turns || blis_json_has(blis_json_member(row, "turn"));
  size_t first = r->segments.count;
  blis_json_value segments = blis_json_member(row, "segments");
  if (blis_json_has(segments)) {
    BLIS_TRY(read_segments(r, segments, &request, error));
  } else {
    BLIS_TRY(set_prefix(r, &request, error));
  }
  request.segment_count = (uint32_t)(r->segments.count - first);
  return blis_array_push(r->job->alloc, &r->rows, request) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static blis_status note_unused(const reading *r, const char *key, int64_t rows,
                               blis_error *error) {
  if (rows > 0 &&
      blis_workload_note(r->job->workload,
                         "%s: rows with %s, which is not simulated: %lld",
                         r->job->path, key, (long long)rows) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status read_rows(reading *r, blis_error *error) {
  BLIS_TRY(blis__trace_each_line(r->job, read_row, r, error));
  if (!r->has_turns) {
    BLIS_TRY(blis__trace_number_rounds(r->job->alloc, &r->rows, error));
  }
  BLIS_TRY(note_unused(r, "lora_adapter", r->with_adapter, error));
  BLIS_TRY(note_unused(r, "priority", r->with_priority, error));
  return blis__trace_add_rows(r->job, &r->rows, r->segments.items, error);
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  reading r = {.job = job};
  blis_status status = read_rows(&r, error);
  blis_array_deinit(job->alloc, &r.rows);
  blis_array_deinit(job->alloc, &r.segments);
  return status;
}

const blis__trace_format blis__trace_routesim = {
    .name = "routesim",
    .text = "JSONL with ts, prompt_tokens, gen_tokens, prefix_hash, prefix_len",
    .recognise = recognise,
    .read = read,
};
