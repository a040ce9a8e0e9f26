/*
 * Spans of OpenTelemetry with gen-ai attributes, in three layouts:
 *
 *   {"trace_id": ..., "spans": [span, ...]}   a session per line
 *   {"trace_id": ..., "start_time": ..., ...} a span per line; lines of one
 *                                             trace that follow each other are
 *                                             a session
 *   {"resourceSpans": [...]}                  OTLP JSON, one per line; spans of
 *                                             one traceId in it are a session
 *
 * A span is a request if its operation is chat, generate, or text_completion, or if
 * it has token counts. Failed spans, execute_tool, and invoke_agent are not
 * requests. Its count of input tokens is the whole prompt. It waits for the span
 * that had ended last when it began. If its prompt is at least as long as that
 * span's context, it extends this context, because its content is not recorded: the
 * reuse is the maximum of a conversation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "workload/graph/format.h"
#include "workload/trace/formats/timestamp.h"
#include "workload/workload.h"

typedef struct span {
  int64_t start_us;
  int64_t end_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t trace; /* a number of strings */
  uint32_t model; /* what serves it, a number of strings; 0 = any */
  uint32_t order;
  int64_t line;
} span;

typedef struct reading {
  blis__graph_rows rows;
  BLIS_ARRAY(span) spans; /* of the session, or of the line */
  size_t next;            /* of the spans of a line, sorted by session */
  span held;              /* begins the next session */
  bool has_held;
  int64_t line; /* that is being read */
} reading;

static bool recognise(blis_slice head) {
  static const char *const otlp[] = {"\"resourceSpans\"", NULL};
  static const char *const lines[] = {"\"trace_id\"", "\"attributes\"", NULL};
  return blis__graph_head_has(head, otlp) || blis__graph_head_has(head, lines);
}

/* Attributes: an object, or a list of {key, value: {stringValue = ...}}. */

static blis_json_value attribute(blis_json_value object, const char *name) {
  blis_json_value attributes = blis_json_member(object, "attributes");
  if (blis_json_type_of(attributes) != BLIS_JSON_ARRAY) {
    return blis_json_member(attributes, name);
  }
  for (size_t i = 0; i < blis_json_count(attributes); i++) {
    blis_json_value one = blis_json_item(attributes, i);
    blis_slice key = {0};
    if (blis_json_text(blis_json_member(one, "key"), &key, NULL) == BLIS_OK &&
        blis_slice_equals(key, name)) {
      blis_json_value value = blis_json_member(one, "value");
      blis_json_value whole = blis_json_member(value, "intValue");
      return blis_json_has(whole) ? whole : blis_json_member(value, "stringValue");
    }
  }
  return blis_json_item(attributes, SIZE_MAX); /* missing */
}

static blis_json_value first_of(blis_json_value object, const char *const *names) {
  blis_json_value value = attribute(object, names[0]);
  for (size_t i = 1; !blis_json_has(value) && names[i] != NULL; i++) {
    value = attribute(object, names[i]);
  }
  return value;
}

/* Whole numbers of 64 bits are strings in OTLP. */
static blis_status read_whole(blis_json_value value, int64_t max, int64_t *result,
                              blis_error *error) {
  blis_slice text;
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    return blis_json_int64(value, 0, max, result, error);
  }
  BLIS_TRY(blis_json_text(value, &text, error));
  if (blis_parse_int64(text, result) != BLIS_NUMBER_OK || *result < 0 || *result > max) {
    return blis_json_fail(value, "is no number that is allowed here", error);
  }
  return BLIS_OK;
}

/* A time as text, or as a number since 1970 in s, ms, us or ns, by its size. */
static blis_status read_time(blis_json_value value, int64_t *time_us, blis_error *error) {
  blis_slice text = {0};
  double number;
  int64_t time_ns;
  if (blis_json_type_of(value) == BLIS_JSON_TEXT) {
    BLIS_TRY(blis_json_text(value, &text, error));
    if (blis__trace_parse_timestamp(text, &time_ns)) {
      *time_us = time_ns / 1000;
      return BLIS_OK;
    }
    if (blis_parse_int64(text, &time_ns) != BLIS_NUMBER_OK || time_ns < 0) {
      return blis_json_fail(value, "is no time", error);
    }
    number = (double)time_ns;
  } else {
    BLIS_TRY(blis_json_double(value, 0, 9e18, &number, error));
  }
  double unit_us = number < 1e11 ? 1e6 : number < 1e14 ? 1e3 : number < 1e17 ? 1 : 1e-3;
  *time_us = (int64_t)(number * unit_us);
  return BLIS_OK;
}

/* Spans. */

static bool has_failed(blis_json_value object) {
  blis_json_value code = blis_json_member(blis_json_member(object, "status"), "code");
  blis_slice text = {0};
  int64_t number = 0;
  if (blis_json_type_of(code) == BLIS_JSON_TEXT) {
    return blis_json_text(code, &text, NULL) == BLIS_OK &&
           (blis_slice_equals(text, "ERROR") || blis_slice_equals(text, "STATUS_CODE_ERROR"));
  }
  return blis_json_has(code) && blis_json_int64(code, 0, 100, &number, NULL) == BLIS_OK &&
         number == 2;
}

/* Is it a call of a model that was answered? */
static bool is_request(blis_json_value object, blis_json_value input) {
  blis_slice operation = {0};
  blis_json_value value = attribute(object, "gen_ai.operation.name");
  if (blis_json_has(value) && blis_json_text(value, &operation, NULL) != BLIS_OK) {
    return false;
  }
  bool is_other = blis_slice_equals(operation, "execute_tool") ||
                  blis_slice_equals(operation, "invoke_agent") ||
                  blis_slice_equals(operation, "embeddings");
  return !is_other && blis_json_has(input) && !has_failed(object);
}

static blis_status read_tokens(blis_json_value value, uint32_t *tokens, blis_error *error) {
  int64_t read = 0;
  if (blis_json_has(value)) {
    BLIS_TRY(read_whole(value, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  }
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

static blis_status read_name(reading *r, blis_json_value object, const char *key, const char *other,
                             uint32_t *id, blis_error *error) {
  BLIS_TRY(blis__graph_name(&r->rows, object, key, id, error));
  return *id != 0 ? BLIS_OK : blis__graph_name(&r->rows, object, other, id, error);
}

static blis_status read_span(reading *r, blis_json_value object, uint32_t trace,
                             blis_error *error) {
  static const char *const inputs[] = {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
                                       NULL};
  static const char *const outputs[] = {"gen_ai.usage.output_tokens",
                                        "gen_ai.usage.completion_tokens", NULL};
  static const char *const models[] = {"gen_ai.request.model", "gen_ai.response.model", NULL};
  BLIS_TRY(blis_json_need_object(object, error));
  blis_json_value input = first_of(object, inputs);
  if (!is_request(object, input)) {
    r->rows.known->left_out += r->rows.known->is_first;
    return BLIS_OK;
  }
  span made = {.trace = trace, .order = (uint32_t)r->spans.count, .line = r->line};
  if (trace == 0) {
    BLIS_TRY(read_name(r, object, "trace_id", "traceId", &made.trace, error));
  }
  blis_json_value start = blis_json_member(object, "start_time");
  blis_json_value end = blis_json_member(object, "end_time");
  if (!blis_json_has(start)) {
    start = blis_json_member(object, "startTimeUnixNano");
    end = blis_json_member(object, "endTimeUnixNano");
  }
  BLIS_TRY(read_time(start, &made.start_us, error));
  made.end_us = made.start_us;
  if (blis_json_has(end)) {
    BLIS_TRY(read_time(end, &made.end_us, error));
  }
  BLIS_TRY(read_tokens(input, &made.prompt_tokens, error));
  BLIS_TRY(read_tokens(first_of(object, outputs), &made.output_tokens, error));
  BLIS_TRY(blis__graph_names_find(r->rows.models, first_of(object, models), &made.model, error));
  BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->spans, made), error);
  return BLIS_OK;
}

static blis_status read_spans(reading *r, blis_json_value list, uint32_t trace, blis_error *error) {
  BLIS_TRY(blis_json_need_array(list, error));
  for (size_t i = 0; i < blis_json_count(list); i++) {
    BLIS_TRY(read_span(r, blis_json_item(list, i), trace, error));
  }
  return BLIS_OK;
}

static blis_status read_otlp(reading *r, blis_json_value resources, blis_error *error) {
  BLIS_TRY(blis_json_need_array(resources, error));
  for (size_t i = 0; i < blis_json_count(resources); i++) {
    blis_json_value scopes = blis_json_member(blis_json_item(resources, i), "scopeSpans");
    for (size_t s = 0; s < blis_json_count(scopes); s++) {
      blis_json_value spans = blis_json_member(blis_json_item(scopes, s), "spans");
      if (blis_json_has(spans)) {
        BLIS_TRY(read_spans(r, spans, 0, error));
      }
    }
  }
  return BLIS_OK;
}

/* Sessions. */

/* By trace, in the order of their first spans; then by time. */
static int compare_spans(const void *a, const void *b) {
  const span *left = a;
  const span *right = b;
  if (left->trace != right->trace) {
    return left->trace < right->trace ? -1 : 1;
  }
  if (left->start_us != right->start_us) {
    return left->start_us < right->start_us ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

/* The span of the session that had ended last when one began. */
static uint32_t before(const span *spans, uint32_t index) {
  uint32_t found = BLIS_GRAPH_NO_NODE;
  for (uint32_t i = 0; i < index; i++) {
    bool may_be = spans[i].end_us <= spans[index].start_us;
    if (may_be && (found == BLIS_GRAPH_NO_NODE || spans[i].end_us >= spans[found].end_us)) {
      found = i;
    }
  }
  return found;
}

static blis_status add_span(reading *r, const span *spans, uint32_t index, uint32_t name,
                            blis_error *error) {
  const span *one = &spans[index];
  uint32_t wait = before(spans, index);
  blis_graph_node node = {.request = {.prompt_tokens = one->prompt_tokens,
                                      .output_tokens = one->output_tokens,
                                      .max_output_tokens = one->output_tokens,
                                      .session = name,
                                      .model = one->model,
                                      .round_index = (int32_t)index},
                          .extends = BLIS_GRAPH_NO_NODE};
  bool waits = wait != BLIS_GRAPH_NO_NODE;
  int64_t from_us = waits ? spans[wait].end_us : spans[0].start_us;
  node.delay_us = one->start_us - from_us;
  if (waits) {
    node.delay_us = blis__graph_capped(&r->rows, node.delay_us);
    uint64_t context = (uint64_t)spans[wait].prompt_tokens + spans[wait].output_tokens;
    if (one->prompt_tokens > context) {
      node.extends = wait;
      node.request.prompt_tokens -= (uint32_t)context;
    } else {
      r->rows.known->not_monotone += r->rows.known->is_first;
    }
  }
  return blis__graph_add(&r->rows, one->line, &node, true, &wait, waits, error);
}

static blis_status build(reading *r, size_t first, size_t count, blis_graph *graph,
                         blis_error *error) {
  span *spans = r->spans.items + first;
  uint32_t name = spans[0].trace;
  if (name == 0) {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, &name, "unnamed"), error);
  }
  blis_graph_builder_clear(&r->rows.builder);
  for (uint32_t i = 0; i < count; i++) {
    BLIS_TRY(add_span(r, spans, i, name, error));
  }
  *graph = blis_graph_builder_get(&r->rows.builder, name, -1);
  return BLIS_OK;
}

/* Reads lines until there is a session; the span that begins the next one is
   kept. */
static blis_status read_session(reading *r, blis_error *error) {
  r->spans.count = 0;
  r->next = 0;
  if (r->has_held) {
    BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->spans, r->held), error);
    r->has_held = false;
  }
  for (;;) {
    blis_json_value top;
    bool has_line;
    size_t had = r->spans.count;
    BLIS_TRY(blis__graph_next_object(&r->rows, &top, &r->line, &has_line, error));
    if (!has_line) {
      return BLIS_OK;
    }
    blis_json_value resources = blis_json_member(top, "resourceSpans");
    blis_json_value list = blis_json_member(top, "spans");
    if (blis_json_has(resources)) {
      BLIS_TRY(read_otlp(r, resources, error));
    } else if (blis_json_has(list)) {
      uint32_t trace = 0;
      BLIS_TRY(read_name(r, top, "trace_id", "traceId", &trace, error));
      BLIS_TRY(read_spans(r, list, trace, error));
    } else {
      BLIS_TRY(read_span(r, top, 0, error));
      bool is_other =
          had > 0 && r->spans.count > had && r->spans.items[had].trace != r->spans.items[0].trace;
      if (is_other) {
        r->held = r->spans.items[--r->spans.count];
        r->has_held = true;
        return BLIS_OK;
      }
      continue;
    }
    if (r->spans.count > 0) {
      return BLIS_OK;
    }
  }
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  if (r->next == r->spans.count) {
    BLIS_TRY(read_session(r, error));
    if (r->spans.count > 1) {
      qsort(r->spans.items, r->spans.count, sizeof *r->spans.items, compare_spans);
    }
  }
  *done = r->spans.count == 0;
  if (*done) {
    return BLIS_OK;
  }
  size_t first = r->next;
  while (r->next < r->spans.count && r->spans.items[r->next].trace == r->spans.items[first].trace) {
    r->next++;
  }
  return build(r, first, r->next - first, graph, error);
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_array_deinit(r->rows.alloc, &r->spans);
}

const blis__graph_format blis__graph_spans = {
    .name = "spans",
    .text = "spans of OpenTelemetry with gen-ai attributes, by session, one by "
            "one or as OTLP",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .next = next,
    .close = close_reading,
};
