#include "workload/trace/write/writer.h"

#include "workload/trace/read/stream.h"
#include "workload/trace/rows/id_set.h"

enum { FLUSH_SIZE = 64 * 1024 };

/* All requests. */

typedef blis_status request_fn(void *state, size_t index, const blis_request *request,
                               blis_error *error);

static blis_status each_of_stream(const blis__trace_writing *w, request_fn *fn, void *state,
                                  blis_error *error) {
  blis_trace_cursor *cursor;
  BLIS_TRY(blis_trace_cursor_open(w->alloc, w->stream, &cursor, error));
  blis_status status = BLIS_OK;
  bool done = false;
  for (size_t i = 0; status == BLIS_OK; i++) {
    blis_request request;
    status = blis_trace_cursor_next(cursor, &request, &done, error);
    if (done) {
      break;
    }
    if (status == BLIS_OK) {
      status = fn(state, i, &request, error);
    }
  }
  blis_trace_cursor_close(cursor);
  return status;
}

static blis_status each_request(const blis__trace_writing *w, request_fn *fn, void *state,
                                blis_error *error) {
  if (w->list == NULL) {
    return each_of_stream(w, fn, state, error);
  }
  for (size_t i = 0; i < blis_workload_count(w->list); i++) {
    BLIS_TRY(fn(state, i, blis_workload_request(w->list, i), error));
  }
  return BLIS_OK;
}

/* Needs of the requests. */

/* The prefix of a group, as known so far. */
typedef struct group_prefix {
  bool is_known;
  uint32_t length_tokens; /* 0 = none */
  uint64_t stream;
} group_prefix;

/* Survey of all requests, before the first is written. */
typedef struct survey {
  blis__trace_writing *w;
  blis__id_set ids;
  int64_t count;
  bool needs_even;
  group_prefix *prefixes; /* by group */
  blis_map groups;        /* groups by the stream of their prefix */
} survey;

static blis_status check_id(survey *s, const blis_request *request, blis_error *error) {
  if (s->w->options->renumber) {
    return BLIS_OK;
  }
  bool is_new;
  BLIS_TRY_MEM(blis__id_set_add(&s->ids, request->number, &is_new), error);
  if (!is_new || request->number < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the number %lld of a request %s; ids in a trace must "
                     "be distinct and at least 0 (or let them be renumbered)",
                     s->w->path, (long long)request->number,
                     is_new ? "is negative" : "is given twice");
  }
  return BLIS_OK;
}

/* Returns whether a request is consistent with the previous requests of its group. */
static bool fits_group(const blis_request *request, bool needs_even, group_prefix *prefix) {
  const blis_segment *segment = request->segments;
  bool has_prefix = request->segment_count == 1 && segment->offset_tokens == 0;
  if (request->prefix_tokens != request->shared_tokens ||
      (request->segment_count > 0 && !has_prefix) || request->shares_output) {
    return false;
  }
  bool is_first = !prefix->is_known;
  if (is_first || (prefix->length_tokens == 0 && has_prefix && !needs_even)) {
    *prefix = (group_prefix){.is_known = true,
                             .length_tokens = request->shared_tokens,
                             .stream = has_prefix ? segment->stream : 0};
    return true;
  }
  return (!has_prefix || prefix->stream == segment->stream) &&
         (!needs_even || prefix->length_tokens == request->shared_tokens);
}

/* Clears is_by_group if groups do not determine the content, or if two groups have the same
   content. */
static blis_status compare_group(survey *s, const blis_request *request) {
  bool *is_by_group = &s->w->is_by_group;
  uint32_t text = request->prefix_group;
  if (!*is_by_group || text == 0) {
    *is_by_group = *is_by_group && request->segment_count == 0;
    return BLIS_OK;
  }
  *is_by_group = fits_group(request, s->needs_even, &s->prefixes[text]);
  if (*is_by_group && request->segment_count > 0) {
    uint64_t *group;
    BLIS_TRY(blis_map_add(&s->groups, request->segments[0].stream, text, &group, NULL));
    *is_by_group = *group == text;
  }
  return BLIS_OK;
}

static blis_status look_at(void *state, size_t index, const blis_request *request,
                           blis_error *error) {
  survey *s = state;
  blis__trace_writing *w = s->w;
  s->count++;
  BLIS_TRY(check_id(s, request, error));
  BLIS_TRY_MEM(compare_group(s, request), error);
  w->has_limits = w->has_limits || request->max_output_tokens != request->output_tokens;
  w->has_slo_targets = w->has_slo_targets || request->slo_target_us != 0;
  w->has_adapters = w->has_adapters || request->adapter != 0;
  w->has_cascades = w->has_cascades || request->cascade != 0;
  w->has_logprobs = w->has_logprobs || request->mean_logprob != 0;
  w->has_think_times = w->has_think_times || request->has_think_time;
  w->has_numbers =
      w->has_numbers || (w->options->outcomes != NULL && request->number != (int64_t)index);
  return BLIS_OK;
}

blis_status blis__trace_look_at_all(blis__trace_writing *w, bool needs_even, blis_error *error) {
  size_t texts = blis_intern_count(w->strings);
  survey s = {.w = w, .needs_even = needs_even};
  s.prefixes = blis_alloc_zeroed(w->alloc, texts, sizeof *s.prefixes);
  BLIS_TRY_NEW(s.prefixes, error);
  blis__id_set_init(&s.ids, w->alloc);
  blis_map_init(&s.groups, w->alloc);
  w->is_by_group = true;
  blis_status status = each_request(w, look_at, &s, error);
  if (status == BLIS_OK && s.count == 0 && w->options->needs_requests) {
    status = blis_fail(error, BLIS_ERR_INVALID,
                       "%s: no requests to write; an empty trace could not be read", w->path);
  }
  blis_map_deinit(&s.groups);
  blis__id_set_deinit(&s.ids);
  blis_alloc_free(w->alloc, s.prefixes, texts * sizeof *s.prefixes);
  return status;
}

/* Rows. */

int64_t blis__trace_row_id(const blis__trace_writing *w, size_t index,
                           const blis_request *request) {
  return w->options->renumber ? (int64_t)index : request->number;
}

typedef struct row_writing {
  blis__trace_writing *w;
  blis__trace_row_fn *row;
  blis_buffer buffer;
  blis_output *output;
} row_writing;

static blis_status write_row(void *state, size_t index, const blis_request *request,
                             blis_error *error) {
  row_writing *r = state;
  BLIS_TRY_MEM(r->row(r->w, index, request, &r->buffer), error);
  BLIS_TRY_MEM(blis_buffer_status(&r->buffer), error);
  if (r->buffer.length >= FLUSH_SIZE) {
    BLIS_TRY(blis_output_write(r->output, blis_buffer_slice(&r->buffer), error));
    blis_buffer_clear(&r->buffer);
  }
  return BLIS_OK;
}

static blis_status write_rows(row_writing *r, const char *head, blis_error *error) {
  blis_buffer_string(&r->buffer, head);
  BLIS_TRY(each_request(r->w, write_row, r, error));
  BLIS_TRY_MEM(blis_buffer_status(&r->buffer), error);
  return blis_output_write(r->output, blis_buffer_slice(&r->buffer), error);
}

blis_status blis__trace_write_rows(blis__trace_writing *w, const char *path, const char *head,
                                   blis__trace_row_fn *row, blis_output **output,
                                   blis_error *error) {
  BLIS_TRY(blis_output_open(w->alloc, path, output, error));
  row_writing r = {.w = w, .row = row, .output = *output};
  blis_buffer_init(&r.buffer, w->alloc);
  blis_status status = write_rows(&r, head, error);
  blis_buffer_deinit(&r.buffer);
  if (status != BLIS_OK) {
    blis_output_discard(*output);
  }
  return status;
}
