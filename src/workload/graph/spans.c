/*
 * Spans of OpenTelemetry with gen-ai attributes. Layouts:
 *
 *   {"trace_id": ..., "spans": [span, ...]}    a session
 *   {"trace_id": ..., "start_time": ..., ...}  a span; consecutive spans of a trace form a session
 *   {"resourceSpans": [...]}                   OTLP JSON, or with names such as resource_spans; the
 *                                              spans of a traceId in the whole file form a session.
 *                                              Older files have "batches" and
 *                                              "instrumentationLibrarySpans".
 *   {"data": [{"traceID": ..., "spans": []}]}  Jaeger JSON
 *
 * A file contains one of these per line, or is a single one, or a list of them, with arbitrary line
 * breaks.
 *
 * A span is a request if it has a token count or a text, except failed spans, tools, and agents.
 * The input is the whole prompt. Without counts, tokens are estimated from the bytes of the texts
 * (4 per token by default). A request waits for the span that was the last to end before the
 * request began. Its prompt extends the context of that span if it is at least as long. The file
 * does not contain the content, so the assumed reuse is the upper bound of a conversation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "workload/graph/format.h"
#include "workload/workload.h"

typedef struct span {
  int64_t start_us;
  int64_t end_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t trace; /* number in strings */
  uint32_t model; /* served model; number in strings; 0 = any */
  uint32_t order;
  int64_t line;
} span;

typedef struct reading {
  blis__graph_rows rows;
  blis_json text;         /* document of an attribute that contains JSON in a string */
  blis_json_value list;   /* the file, if it is a list */
  size_t item;            /* index of the next item of the list */
  bool has_text;          /* a JSON text was read */
  BLIS_ARRAY(span) spans; /* spans of the session or of the line */
  size_t next;            /* next span of a line, sorted by session */
  span held;              /* first span of the next session */
  bool has_held;
  int64_t line; /* current line */
} reading;

static bool recognise(blis_slice head) {
  static const char *const layouts[][3] = {{"\"resourceSpans\"", NULL},
                                           {"\"resource_spans\"", NULL},
                                           {"\"batches\"", "Spans\"", NULL},
                                           {"\"trace_id\"", "\"attributes\"", NULL},
                                           {"\"traceId\"", "\"attributes\"", NULL},
                                           {"\"traceID\"", "\"tags\"", NULL},
                                           {"\"traceId\"", "\"tags\"", NULL}};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    if (blis__graph_head_has(head, layouts[i])) {
      return true;
    }
  }
  return false;
}

/* Attributes: an object, or a list of {key, value: {stringValue = ...}} or of {key, value}. */

static blis_json_value attribute(blis_json_value object, const char *name) {
  static const char *const lists[] = {"attributes", "tags", NULL};
  static const char *const kinds[] = {"intValue",     "stringValue",  "doubleValue", "int_value",
                                      "string_value", "double_value", NULL};
  blis_json_value attributes = blis__graph_first(object, lists);
  if (blis_json_type_of(attributes) != BLIS_JSON_ARRAY) {
    return blis_json_member(attributes, name);
  }
  for (size_t i = 0; i < blis_json_count(attributes); i++) {
    blis_json_value one = blis_json_item(attributes, i);
    blis_slice key = {0};
    if (blis_json_text(blis_json_member(one, "key"), &key, NULL) == BLIS_OK &&
        blis_slice_equals(key, name)) {
      blis_json_value value = blis_json_member(one, "value");
      return blis_json_type_of(value) == BLIS_JSON_OBJECT ? blis__graph_first(value, kinds) : value;
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

/* Reads an integer. In OTLP, 64-bit integers are strings. */
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

/* Returns whether the span can be a successful model call. */
static bool is_call(blis_json_value object) {
  static const char *const others[] = {"execute_tool", "invoke_agent", "create_agent",
                                       "embeddings"};
  blis_slice operation = {0};
  blis_json_value value = attribute(object, "gen_ai.operation.name");
  if (blis_json_has(value) && blis_json_text(value, &operation, NULL) != BLIS_OK) {
    return false;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (blis_slice_equals(operation, others[i])) {
      return false;
    }
  }
  return !has_failed(object);
}

/* Texts. */

/* Adds the bytes of the messages in a JSON value: all strings except roles, types, and names. */
static void add_message(blis_json_value value, const char *key, size_t *bytes) {
  static const char *const labels[] = {"role", "type", "id", "name", "finish_reason"};
  blis_slice text;
  const char *inner = NULL;
  blis_json_value member;
  if (blis_json_text(value, &text, NULL) == BLIS_OK) {
    bool is_label = false;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
      is_label = is_label || (key != NULL && strcmp(key, labels[i]) == 0);
    }
    *bytes += is_label ? 0 : text.length;
  } else if (blis_json_type_of(value) == BLIS_JSON_ARRAY) {
    for (size_t i = 0; i < blis_json_count(value); i++) {
      add_message(blis_json_item(value, i), NULL, bytes);
    }
  } else {
    while (blis_json_next(value, &inner, &member)) {
      add_message(member, inner, bytes);
    }
  }
}

/* Adds the bytes of an attribute. If it is JSON, possibly inside a string, counts its messages. */
static void add_text(reading *r, blis_json_value value, size_t *bytes) {
  blis_slice text;
  if (blis_json_text(value, &text, NULL) != BLIS_OK) {
    add_message(value, NULL, bytes);
    return;
  }
  bool may_be_json = text.length > 0 && (text.data[0] == '[' || text.data[0] == '{');
  if (may_be_json && blis_json_parse(&r->text, r->rows.path, 1, text, NULL) == BLIS_OK) {
    add_message(blis_json_root(&r->text), NULL, bytes);
  } else {
    *bytes += text.length;
  }
}

/* Returns the bytes of PREFIX.0.SUFFIX, PREFIX.1.SUFFIX, ... */
static size_t bytes_of_list(reading *r, blis_json_value object, const char *prefix,
                            const char *suffix) {
  size_t bytes = 0;
  char name[80];
  for (int i = 0;; i++) {
    snprintf(name, sizeof name, "%s.%d.%s", prefix, i, suffix);
    blis_json_value value = attribute(object, name);
    if (!blis_json_has(value)) {
      return bytes;
    }
    add_text(r, value, &bytes);
  }
}

/* Returns the bytes of the events of a span that have texts: prompts, or responses. */
static size_t bytes_of_events(reading *r, blis_json_value object, bool of_response) {
  static const char *const texts[] = {"content", "message", "gen_ai.event.content", "gen_ai.prompt",
                                      "gen_ai.completion"};
  blis_json_value events = blis_json_member(object, "events");
  size_t bytes = 0;
  for (size_t i = 0; i < blis_json_count(events); i++) {
    blis_json_value event = blis_json_item(events, i);
    blis_slice name = {0};
    bool has_name = blis_json_text(blis_json_member(event, "name"), &name, NULL) == BLIS_OK;
    bool is_response = blis_slice_equals(name, "gen_ai.choice") ||
                       blis_slice_equals(name, "gen_ai.content.completion");
    bool is_genai = has_name && name.length > 7 && memcmp(name.data, "gen_ai.", 7) == 0;
    for (size_t t = 0; is_genai && is_response == of_response && t < sizeof texts / sizeof *texts;
         t++) {
      blis_json_value value = attribute(event, texts[t]);
      if (blis_json_has(value)) {
        add_text(r, value, &bytes);
      }
    }
  }
  return bytes;
}

/* Returns the bytes of the named attributes, or else of lists of messages, or else of events. */
static size_t bytes_of(reading *r, blis_json_value object, const char *const *names,
                       bool of_response) {
  size_t bytes = 0;
  for (; *names != NULL; names++) {
    blis_json_value value = attribute(object, *names);
    if (blis_json_has(value)) {
      add_text(r, value, &bytes);
    }
  }
  const char *list = of_response ? "gen_ai.completion" : "gen_ai.prompt";
  const char *other = of_response ? "llm.output_messages" : "llm.input_messages";
  bytes += bytes_of_list(r, object, list, "content");
  bytes += bytes > 0 ? 0 : bytes_of_list(r, object, other, "message.content");
  return bytes > 0 ? bytes : bytes_of_events(r, object, of_response);
}

static blis_status read_tokens(blis_json_value value, uint32_t *tokens, blis_error *error) {
  int64_t read = 0;
  if (blis_json_has(value)) {
    BLIS_TRY(read_whole(value, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  }
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

/* Determines the tokens of a call from counts or texts; *has_tokens is false if there are
   neither. */
static blis_status count_tokens(reading *r, blis_json_value object, span *made, bool *has_tokens,
                                blis_error *error) {
  static const char *const inputs[] = {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
                                       "llm.usage.prompt_tokens", "llm.token_count.prompt", NULL};
  static const char *const outputs[] = {
      "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens",
      "llm.token_count.completion", NULL};
  static const char *const prompts[] = {"gen_ai.system_instructions",
                                        "gen_ai.input.messages",
                                        "gen_ai.input.text",
                                        "gen_ai.prompt",
                                        "llm.prompts",
                                        "input.value",
                                        NULL};
  static const char *const answers[] = {"gen_ai.output.messages", "gen_ai.output.text",
                                        "gen_ai.completion",      "llm.completions",
                                        "output.value",           NULL};
  blis_json_value input = first_of(object, inputs);
  blis_json_value output = first_of(object, outputs);
  size_t prompt = blis_json_has(input) ? 0 : bytes_of(r, object, prompts, false);
  size_t answer = blis_json_has(output) ? 0 : bytes_of(r, object, answers, true);
  *has_tokens = blis_json_has(input) || prompt > 0;
  BLIS_TRY(read_tokens(input, &made->prompt_tokens, error));
  BLIS_TRY(read_tokens(output, &made->output_tokens, error));
  if (prompt > 0) {
    made->prompt_tokens = blis__graph_tokens_of_bytes(&r->rows, prompt);
  }
  if (answer > 0) {
    made->output_tokens = blis__graph_tokens_of_bytes(&r->rows, answer);
  }
  r->rows.known->estimated += r->rows.known->is_first && *has_tokens && prompt + answer > 0;
  return BLIS_OK;
}

static blis_status read_times(blis_json_value object, span *made, blis_error *error) {
  static const char *const starts[] = {"start_time", "startTimeUnixNano", "start_time_unix_nano",
                                       "startTime",  "timestamp",         NULL};
  static const char *const ends[] = {"end_time", "endTimeUnixNano", "end_time_unix_nano", "endTime",
                                     NULL};
  int64_t duration_us = 0; /* of Jaeger */
  blis_json_value end = blis__graph_first(object, ends);
  BLIS_TRY(blis__graph_clock(blis__graph_first(object, starts), &made->start_us, error));
  if (blis_json_has(end)) {
    return blis__graph_clock(end, &made->end_us, error);
  }
  BLIS_TRY(blis__graph_time(object, "duration", 1, &duration_us, error));
  made->end_us = made->start_us + duration_us;
  return BLIS_OK;
}

static blis_status read_trace_name(reading *r, blis_json_value object, uint32_t *id,
                                   blis_error *error) {
  static const char *const names[] = {"trace_id", "traceId", "traceID"};
  for (size_t i = 0; *id == 0 && i < sizeof names / sizeof *names; i++) {
    BLIS_TRY(blis__graph_name(&r->rows, object, names[i], id, error));
  }
  return BLIS_OK;
}

static blis_status read_span(reading *r, blis_json_value object, uint32_t trace,
                             blis_error *error) {
  static const char *const models[] = {"gen_ai.request.model", "gen_ai.response.model", NULL};
  BLIS_TRY(blis_json_need_object(object, error));
  span made = {.trace = trace, .order = (uint32_t)r->spans.count, .line = r->line};
  bool has_tokens = false;
  bool is_request = is_call(object);
  if (is_request) {
    BLIS_TRY(count_tokens(r, object, &made, &has_tokens, error));
  }
  if (!has_tokens) {
    bool is_named = is_request && blis_json_has(attribute(object, "gen_ai.operation.name"));
    *(is_named ? &r->rows.known->uncounted : &r->rows.known->left_out) += r->rows.known->is_first;
    return BLIS_OK;
  }
  BLIS_TRY(read_trace_name(r, object, &made.trace, error));
  BLIS_TRY(read_times(object, &made, error));
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
  static const char *const lists[] = {"scopeSpans", "scope_spans", "instrumentationLibrarySpans",
                                      NULL};
  BLIS_TRY(blis_json_need_array(resources, error));
  for (size_t i = 0; i < blis_json_count(resources); i++) {
    blis_json_value scopes = blis__graph_first(blis_json_item(resources, i), lists);
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

/* Orders spans by trace, in order of their first spans; then by time. */
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

/* Returns the span of the session that was the last to end before this one began. */
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

/* Starts are used if they are in the order of the sessions in the file. */
static int64_t start_of(reading *r, int64_t start_us) {
  blis__graph_known *known = r->rows.known;
  if (known->is_first) {
    known->is_unordered = known->is_unordered || start_us < known->last_start_us;
    known->last_start_us = start_us;
  }
  return known->is_unordered ? -1 : start_us;
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
  *graph = blis_graph_builder_get(&r->rows.builder, name, start_of(r, spans[0].start_us));
  return BLIS_OK;
}

/* Returns the next object: the next item of the list, or the next JSON text of the file. Only
   the first JSON text can be a list. */
static blis_status next_object(reading *r, blis_json_value *object, bool *has_object,
                               blis_error *error) {
  if (r->item == blis_json_count(r->list)) {
    bool is_first = !r->has_text;
    r->has_text = true;
    BLIS_TRY(blis__graph_next_text(&r->rows, object, &r->line, has_object, error));
    if (!*has_object) {
      return BLIS_OK;
    }
    bool is_list = is_first && blis_json_type_of(*object) == BLIS_JSON_ARRAY;
    if (!is_list) {
      return blis_json_need_object(*object, error);
    }
    r->list = *object;
  }
  *has_object = r->item < blis_json_count(r->list);
  if (!*has_object) {
    return BLIS_OK;
  }
  *object = blis_json_item(r->list, r->item++);
  return blis_json_need_object(*object, error);
}

static blis_status read_session_object(reading *r, blis_json_value object, blis_json_value list,
                                       blis_error *error) {
  uint32_t trace = 0;
  BLIS_TRY(read_trace_name(r, object, &trace, error));
  return read_spans(r, list, trace, error);
}

static blis_status read_jaeger(reading *r, blis_json_value traces, blis_error *error) {
  BLIS_TRY(blis_json_need_array(traces, error));
  for (size_t i = 0; i < blis_json_count(traces); i++) {
    blis_json_value one = blis_json_item(traces, i);
    BLIS_TRY(read_session_object(r, one, blis_json_member(one, "spans"), error));
  }
  return BLIS_OK;
}

/* A span, all spans of a session, or spans of any sessions. */
typedef enum layout { SPAN, SESSION, BATCH } layout;

/* Reads the spans of an object. */
static blis_status read_object(reading *r, blis_json_value object, layout *found,
                               blis_error *error) {
  static const char *const otlp[] = {"resourceSpans", "resource_spans", "batches", NULL};
  blis_json_value resources = blis__graph_first(object, otlp);
  blis_json_value list = blis_json_member(object, "spans");
  blis_json_value traces = blis_json_member(object, "data");
  *found = BATCH;
  if (blis_json_has(resources)) {
    return read_otlp(r, resources, error);
  }
  if (blis_json_has(list)) {
    *found = SESSION;
    return read_session_object(r, object, list, error);
  }
  if (blis_json_has(traces)) {
    return read_jaeger(r, traces, error);
  }
  *found = SPAN;
  return read_span(r, object, 0, error);
}

/* Reads objects until a session is complete; stores the first span of the next session. A file
   with batches is read to its end. */
static blis_status read_session(reading *r, blis_error *error) {
  r->spans.count = 0;
  r->next = 0;
  if (r->has_held) {
    BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->spans, r->held), error);
    r->has_held = false;
  }
  bool has_batches = false;
  for (;;) {
    blis_json_value object;
    bool has_object;
    layout found;
    size_t had = r->spans.count;
    BLIS_TRY(next_object(r, &object, &has_object, error));
    if (!has_object) {
      return BLIS_OK;
    }
    BLIS_TRY(read_object(r, object, &found, error));
    has_batches = has_batches || found == BATCH;
    if (found == SESSION && !has_batches && r->spans.count > 0) {
      return BLIS_OK;
    }
    bool is_other = !has_batches && had > 0 && r->spans.count > had &&
                    r->spans.items[had].trace != r->spans.items[0].trace;
    if (is_other) {
      r->held = r->spans.items[--r->spans.count];
      r->has_held = true;
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
  blis_json_deinit(&r->text);
}

static blis_status open_reading(void *reader, blis_error *error) {
  (void)error;
  reading *r = reader;
  blis_json_init(&r->text, r->rows.alloc);
  return BLIS_OK;
}

const blis__graph_format blis__graph_spans = {
    .name = "spans",
    .text =
        "spans of OpenTelemetry with gen-ai attributes: sessions, single spans, OTLP, or Jaeger "
        "JSON; with token counts or texts",
    .needs = "\"resourceSpans\", or \"trace_id\" with \"attributes\"",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
