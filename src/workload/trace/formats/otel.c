/*
 * OpenTelemetry spans in OTLP JSON, in the form that RouteSim reads: resourceSpans, scopeSpans,
 * spans. The file is one JSON text, or has one JSON text per line, like the output of the
 * collector's file exporter.
 *
 * A span is a request if it contains its number of prompt tokens; other spans are skipped, with a
 * note. Each attribute has several names; the first existing name is used. Without a number of
 * completion tokens, a request has 64. Arrivals are relative to the earliest request. The hash of
 * the system prompt is the prefix group; since its length is not recorded, prompts share nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/number.h"
#include "workload/trace/rows/jsonl.h"

enum { DEFAULT_OUTPUT_TOKENS = 64, MAX_SIZE = 1 << 30, WHAT_SIZE = 160 };

typedef struct reading {
  blis__trace_rows rows; /* contains the current text */
  bool has_text;
  blis_json_value resources; /* resources of the text, and the positions in them */
  size_t resource;
  size_t scope;
  size_t span;
  int64_t others; /* number of spans that are not requests */
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' && blis__trace_head_has(head, "\"resourceSpans\"");
}

/* Documents. */

static blis_status take_json(reading *r, blis_error *error) {
  r->has_text = true;
  r->resource = 0;
  r->scope = 0;
  r->span = 0;
  BLIS_TRY(blis_json_need_object(blis_json_root(&r->rows.json), error));
  r->resources = blis_json_member(blis_json_root(&r->rows.json), "resourceSpans");
  return blis_json_need_array(r->resources, error);
}

/* Joins the lines of a document. */
static blis_status join_lines(reading *r, blis_text_line line, blis_buffer *buffer,
                              blis_error *error) {
  int64_t first = line.number;
  bool has_line = true;
  while (has_line) {
    blis_buffer_bytes(buffer, line.content.data, line.content.length);
    blis_buffer_char(buffer, '\n');
    if (buffer->length > MAX_SIZE) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: a JSON text is longer than %d bytes, the limit "
                       "here; put one text on each line",
                       r->rows.job->name, MAX_SIZE);
    }
    BLIS_TRY(blis_text_next(r->rows.text, &line, &has_line, error));
  }
  BLIS_TRY_MEM(blis_buffer_status(buffer), error);
  return blis_json_parse(&r->rows.json, r->rows.job->name, first, blis_buffer_slice(buffer), error);
}

/* Reads the first JSON text: the first line, or the whole file if the line is not a complete
   JSON text. */
static blis_status read_first(reading *r, blis_error *error) {
  blis__trace_job *job = r->rows.job;
  blis_text_line line;
  bool has_line;
  BLIS_TRY(blis__trace_next_line(&r->rows, &line, &has_line, error));
  if (!has_line) {
    return BLIS_OK;
  }
  blis_error other = {0};
  blis_status status = blis_json_parse(&r->rows.json, job->name, line.number, line.content, &other);
  if (status == BLIS_OK) {
    return take_json(r, error);
  }
  if (status == BLIS_ERR_NOMEM) {
    return blis_fail_nomem(error);
  }
  job->is_whole = true;
  blis_buffer buffer;
  blis_buffer_init(&buffer, job->alloc);
  status = join_lines(r, line, &buffer, error);
  blis_buffer_deinit(&buffer);
  return status == BLIS_OK ? take_json(r, error) : status;
}

static blis_status read_next(reading *r, blis_error *error) {
  blis_text_line line;
  bool has_line;
  r->has_text = false;
  BLIS_TRY(blis__trace_next_line(&r->rows, &line, &has_line, error));
  if (!has_line) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_parse(&r->rows.json, r->rows.job->name, line.number, line.content, error));
  return take_json(r, error);
}

/* Returns an optional list, which is missing if it is empty. */
static blis_status list_of(blis_json_value value, const char *key, blis_json_value *list,
                           blis_error *error) {
  BLIS_TRY(blis_json_need_object(value, error));
  *list = blis_json_member(value, key);
  return blis_json_has(*list) ? blis_json_need_array(*list, error) : BLIS_OK;
}

/* Moves to the next span of the text; *has_span is false after the last. */
static blis_status next_span(reading *r, blis_json_value *span, bool *has_span, blis_error *error) {
  *has_span = false;
  for (; r->resource < blis_json_count(r->resources); r->resource++, r->scope = 0) {
    blis_json_value scopes;
    BLIS_TRY(list_of(blis_json_item(r->resources, r->resource), "scopeSpans", &scopes, error));
    for (; r->scope < blis_json_count(scopes); r->scope++, r->span = 0) {
      blis_json_value spans;
      BLIS_TRY(list_of(blis_json_item(scopes, r->scope), "spans", &spans, error));
      if (r->span < blis_json_count(spans)) {
        *span = blis_json_item(spans, r->span++);
        *has_span = true;
        return blis_json_need_object(*span, error);
      }
    }
  }
  return BLIS_OK;
}

/* Attributes. */

/* Returns the value of the first name that exists; names ends with NULL. */
static blis_status find_attribute(blis_json_value span, const char *const *names,
                                  blis_json_value *value, blis_error *error) {
  blis_json_value attributes;
  BLIS_TRY(list_of(span, "attributes", &attributes, error));
  *value = blis_json_member(span, names[0]); /* missing */
  for (; *names != NULL; names++) {
    for (size_t i = 0; i < blis_json_count(attributes); i++) {
      blis_json_value one = blis_json_item(attributes, i);
      blis_slice key;
      BLIS_TRY(blis_json_need_object(one, error));
      BLIS_TRY(blis_json_text(blis_json_member(one, "key"), &key, error));
      if (blis_slice_equals(key, *names)) {
        *value = blis_json_member(one, "value");
        return blis_json_need_object(*value, error);
      }
    }
  }
  return BLIS_OK;
}

/* Reads an integer. In OTLP JSON, 64-bit integers are usually strings. */
static blis_status read_whole(blis_json_value value, int64_t min, int64_t max, int64_t *result,
                              blis_error *error) {
  blis_slice text;
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    return blis_json_int64(value, min, max, result, error);
  }
  BLIS_TRY(blis_json_text(value, &text, error));
  int64_t parsed;
  blis_number_fault fault = blis_parse_int64(text, &parsed);
  char what[WHAT_SIZE];
  if (fault != BLIS_NUMBER_OK) {
    snprintf(what, sizeof what, "%s", blis_number_fault_text(fault));
  } else if (parsed < min || parsed > max) {
    return blis_json_invalid(value, blis_range_of_int64(min, max).text, error);
  } else {
    *result = parsed;
    return BLIS_OK;
  }
  return blis_json_fail(value, what, error);
}

/* Leaves *tokens unchanged if the attribute is missing. */
static blis_status read_tokens(blis_json_value span, const char *const *names, uint32_t *tokens,
                               bool *has_tokens, blis_error *error) {
  blis_json_value value;
  BLIS_TRY(find_attribute(span, names, &value, error));
  *has_tokens = blis_json_has(value);
  if (!*has_tokens) {
    return BLIS_OK;
  }
  int64_t read = 0;
  BLIS_TRY(
      read_whole(blis_json_member(value, "intValue"), 0, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

static blis_status read_label(const reading *r, blis_json_value span, const char *const *names,
                              uint32_t *id, blis_error *error) {
  blis_json_value value;
  BLIS_TRY(find_attribute(span, names, &value, error));
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  bool is_whole = blis_json_has(blis_json_member(value, "intValue"));
  if (!is_whole && !blis_json_has(blis_json_member(value, "stringValue"))) {
    return blis_json_fail(value, "has neither stringValue nor intValue", error);
  }
  return blis__trace_name(r->rows.job, value, is_whole ? "intValue" : "stringValue", id, error);
}

/* Requests. */

static blis_status read_span(reading *r, blis_json_value span, blis_request *row, bool *is_request,
                             blis_error *error) {
  static const char *const prompt[] = {"llm.prompt_tokens", "gen_ai.prompt.tokens",
                                       "gen_ai.usage.input_tokens", NULL};
  static const char *const completion[] = {"llm.completion_tokens", "gen_ai.completion.tokens",
                                           "gen_ai.usage.output_tokens", NULL};
  static const char *const system_hash[] = {"llm.system_prompt_hash", NULL};
  static const char *const conversation[] = {"llm.conversation_id", "gen_ai.conversation.id", NULL};
  static const char *const model[] = {"llm.model", "gen_ai.request.model", NULL};
  *row = (blis_request){.output_tokens = DEFAULT_OUTPUT_TOKENS};
  bool has_output;
  BLIS_TRY(read_tokens(span, prompt, &row->prompt_tokens, is_request, error));
  if (!*is_request) {
    return BLIS_OK;
  }
  BLIS_TRY(read_tokens(span, completion, &row->output_tokens, &has_output, error));
  row->max_output_tokens = row->output_tokens;
  BLIS_TRY(read_whole(blis_json_member(span, "startTimeUnixNano"), 0, INT64_MAX, &row->arrival_us,
                      error));
  BLIS_TRY(read_label(r, span, system_hash, &row->prefix_group, error));
  BLIS_TRY(read_label(r, span, conversation, &row->session, error));
  return read_label(r, span, model, &row->model, error);
}

/* Reads the next request. Until a row is settled, its arrival is in nanoseconds. */
static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  *has_row = false;
  while (r->has_text && r->rows.taken < r->rows.job->limit) {
    blis_json_value span;
    bool has_span;
    BLIS_TRY(next_span(r, &span, &has_span, error));
    if (!has_span) {
      BLIS_TRY(read_next(r, error));
      continue;
    }
    BLIS_TRY(read_span(r, span, row, has_row, error));
    if (*has_row) {
      row->number = r->rows.taken++;
      blis__trace_note_start(&r->rows, row->arrival_us);
      return BLIS_OK;
    }
    r->others++;
  }
  return BLIS_OK;
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  return blis__trace_note(&r->rows, "spans without a number of prompt tokens skipped", r->others,
                          "", error);
}

/* In this format, conversations have no turns. */
static bool numbers_rounds(const void *reader) {
  (void)reader;
  return true;
}

static blis_status open_reading(void *reader, blis_error *error) {
  BLIS_TRY(blis__trace_open_text(reader, error));
  return read_first(reader, error);
}

const blis__trace_format blis__trace_otel = {
    .name = "otel",
    .text = "OTLP JSON: spans with llm.prompt_tokens or gen_ai.prompt.tokens",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"resourceSpans\""},
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = blis__trace_settle_ns,
    .numbers_rounds = numbers_rounds,
};
