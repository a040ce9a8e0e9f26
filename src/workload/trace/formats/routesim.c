/*
 * Compact JSONL, the format of RouteSim: one object per line with ts (ms), prompt_tokens, and
 * gen_tokens. prefix_hash and prefix_len describe the first tokens of the prompt, equal for equal
 * hashes. conversation_id is the session. Lines that start with '#' are comments. priority is
 * checked but not used.
 *
 * Files written by blis may have additional keys, so that no information is lost: the keys in the
 * tables below, arrival_us, and segments (segments.h). arrival_us is written if ts cannot represent
 * the time, since ts is an integer in RouteSim. segments describes all shared content and replaces
 * prefix_hash. Without turns, the rows of a session are its rounds, in order of time.
 */
#include <stdio.h>

#include "base/time.h"
#include "workload/trace/rows/jsonl.h"

/* Separates prefixes from the streams of segments. */
#define PREFIX_STREAM (UINT64_C(1) << 63)

typedef struct reading {
  blis__trace_rows rows;
  blis__segment_list segments; /* of the row */
  bool has_turns;
  int64_t with_priority; /* number of rows with a priority */
  bool is_ours;          /* the file was written by blis, so times count from 0 */
} reading;

static bool recognise(blis_slice head) {
  blis_slice row = blis__trace_first_row(head);
  return row.length > 0 && row.data[0] == '{' && blis__trace_first_line_has(row, "\"ts\"") &&
         blis__trace_first_line_has(row, "\"prompt_tokens\"");
}

/* Reads an optional integer. */
static blis_status read_whole(blis_json_value row, const char *key, int64_t min, int64_t max,
                              int64_t *value, blis_error *error) {
  blis_json_value member = blis_json_member(row, key);
  return blis_json_has(member) ? blis_json_int64(member, min, max, value, error) : BLIS_OK;
}

static blis_status read_labels(const blis__trace_job *job, blis_json_value row,
                               blis_request *request, blis_error *error) {
  const struct {
    const char *key;
    uint32_t *id;
  } labels[] = {
      {"prefix_hash", &request->prefix_group},
      {"conversation_id", &request->session},
      {"lora_adapter", &request->adapter},
      {"model", &request->model},
      {"tenant", &request->tenant},
      {"slo_class", &request->slo_class},
      {"client", &request->client},
      {"cascade", &request->cascade},
      {"mean_logprob", &request->mean_logprob},
  };
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    BLIS_TRY(blis__trace_name(job, row, labels[i].key, labels[i].id, error));
  }
  return BLIS_OK;
}

static blis_status read_lengths(blis_json_value row, blis_request *request, blis_error *error) {
  const struct {
    const char *key;
    uint32_t *tokens;
  } lengths[] = {
      {"max_tokens", &request->max_output_tokens}, {"prefix_len", &request->prefix_tokens},
      {"text_tokens", &request->text_tokens},      {"image_tokens", &request->image_tokens},
      {"audio_tokens", &request->audio_tokens},    {"video_tokens", &request->video_tokens},
  };
  request->max_output_tokens = request->output_tokens;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    int64_t tokens = *lengths[i].tokens;
    BLIS_TRY(read_whole(row, lengths[i].key, 0, BLIS_WORKLOAD_MAX_TOKENS, &tokens, error));
    *lengths[i].tokens = (uint32_t)tokens;
  }
  return BLIS_OK;
}

static blis_status read_rest(reading *r, blis_json_value row, blis_request *request,
                             blis_error *error) {
  int64_t turn = 0;
  int64_t priority = 0;
  BLIS_TRY(read_whole(row, "id", 0, INT64_MAX, &request->number, error));
  BLIS_TRY(read_whole(row, "turn", INT32_MIN, INT32_MAX, &turn, error));
  BLIS_TRY(read_whole(row, "deadline_us", 0, INT64_MAX, &request->deadline_us, error));
  BLIS_TRY(read_whole(row, "slo_target_us", 0, INT64_MAX, &request->slo_target_us, error));
  BLIS_TRY(read_whole(row, "think_us", 0, BLIS_TIME_SPAN_MAX_US, &request->think_us, error));
  BLIS_TRY(read_whole(row, "priority", 0, 255, &priority, error));
  blis_json_value ratio = blis_json_member(row, "reason_ratio");
  if (blis_json_has(ratio)) {
    BLIS_TRY(blis_json_double(ratio, 0, 1, &request->reason_ratio, error));
  }
  blis_json_value streaming = blis_json_member(row, "streaming");
  if (blis_json_has(streaming)) {
    BLIS_TRY(blis_json_bool(streaming, &request->is_streaming, error));
  }
  request->round_index = (int32_t)turn;
  request->has_think_time = blis_json_has(blis_json_member(row, "think_us"));
  r->has_turns = r->has_turns || blis_json_has(blis_json_member(row, "turn"));
  r->with_priority += priority > 0;
  return BLIS_OK;
}

/* Reads a time in milliseconds, or in microseconds if the file has arrival_us. */
static blis_status read_time(reading *r, blis_json_value row, blis_request *request,
                             blis_error *error) {
  BLIS_TRY(blis__trace_time(row, "ts", r->rows.clock.unit_us, &request->arrival_us, error));
  if (!r->is_ours) {
    blis__trace_note_start(&r->rows, request->arrival_us);
  }
  blis_json_value exact = blis_json_member(row, "arrival_us");
  if (!blis_json_has(exact)) {
    return BLIS_OK;
  }
  r->is_ours = true;
  r->rows.start = INT64_MAX; /* times are unchanged */
  int64_t arrival_us;
  BLIS_TRY(blis_json_int64(exact, 0, INT64_MAX, &arrival_us, error));
  if (arrival_us / 1000 != request->arrival_us / 1000) {
    return blis_json_fail(exact, "is another time than ts", error);
  }
  request->arrival_us = arrival_us;
  return BLIS_OK;
}

static blis_status read_segments(reading *r, blis_json_value segments, blis_request *request,
                                 blis_error *error) {
  blis_slice text;
  char fault[BLIS__SEGMENTS_FAULT_SIZE];
  BLIS_TRY(blis_json_text(segments, &text, error));
  blis_status status =
      blis__trace_parse_segments(r->rows.job->alloc, text, &r->segments, request, fault);
  if (status == BLIS_ERR_NOMEM) {
    return blis_fail_nomem(error);
  }
  return status == BLIS_OK ? BLIS_OK : blis_json_fail(segments, fault, error);
}

/* Sets the prefix. As in RouteSim, a prefix is not longer than its prompt. */
static blis_status set_prefix(reading *r, blis_request *request, blis_error *error) {
  if (request->prefix_group == 0 || request->prefix_tokens == 0) {
    return BLIS_OK;
  }
  if (request->prefix_tokens > request->prompt_tokens) {
    request->prefix_tokens = request->prompt_tokens;
  }
  blis_segment prefix = {.stream = PREFIX_STREAM | request->prefix_group,
                         .length_tokens = request->prefix_tokens};
  BLIS_TRY_MEM(blis_array_push(r->rows.job->alloc, &r->segments, prefix), error);
  request->shared_tokens = request->prefix_tokens;
  return BLIS_OK;
}

static blis_status read_row(reading *r, const blis__trace_line *line, blis_request *request,
                            blis_error *error) {
  blis_json_value row = line->row;
  *request = (blis_request){.number = line->number};
  BLIS_TRY(read_time(r, row, request, error));
  BLIS_TRY(blis__trace_tokens(row, "prompt_tokens", &request->prompt_tokens, error));
  BLIS_TRY(blis__trace_tokens(row, "gen_tokens", &request->output_tokens, error));
  BLIS_TRY(read_lengths(row, request, error));
  BLIS_TRY(read_labels(r->rows.job, row, request, error));
  BLIS_TRY(read_rest(r, row, request, error));
  r->segments.count = 0;
  blis_json_value segments = blis_json_member(row, "segments");
  if (blis_json_has(segments)) {
    BLIS_TRY(read_segments(r, segments, request, error));
  } else {
    BLIS_TRY(set_prefix(r, request, error));
  }
  request->segments = r->segments.items;
  request->segment_count = (uint32_t)r->segments.count;
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  blis__trace_line line;
  BLIS_TRY(blis__trace_next_json(&r->rows, &line, has_row, error));
  return *has_row ? read_row(r, &line, row, error) : BLIS_OK;
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  return blis__trace_note(&r->rows, "rows with a priority, which is not simulated",
                          r->with_priority, "", error);
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  blis_slice head;
  BLIS_TRY(blis__trace_head(r->rows.job, &head, error));
  bool is_ours = blis__trace_head_has(head, "\"arrival_us\"");
  BLIS_TRY(blis__trace_json_clock(&r->rows, "ts", 1000, is_ours ? 1000 : 0, error));
  return blis__trace_open_text(reader, error);
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return !r->has_turns;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_array_deinit(r->rows.job->alloc, &r->segments);
}

static const char *const fields[] = {"id",
                                     "ts",
                                     "arrival_us",
                                     "prompt_tokens",
                                     "gen_tokens",
                                     "max_tokens",
                                     "prefix_hash",
                                     "prefix_len",
                                     "segments",
                                     "conversation_id",
                                     "turn",
                                     "model",
                                     "tenant",
                                     "slo_class",
                                     "client",
                                     "lora_adapter",
                                     "cascade",
                                     "mean_logprob",
                                     "deadline_us",
                                     "slo_target_us",
                                     "text_tokens",
                                     "image_tokens",
                                     "audio_tokens",
                                     "video_tokens",
                                     "think_us",
                                     "reason_ratio",
                                     "streaming",
                                     "priority",
                                     NULL};

const blis__trace_format blis__trace_routesim = {
    .name = "routesim",
    .text = "JSONL with ts, prompt_tokens, gen_tokens, prefix_hash, prefix_len",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"ts\"", "\"prompt_tokens\""},
    .fields = fields,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = blis__trace_settle_us,
    .numbers_rounds = numbers_rounds,
    .close = close_reading,
};
