/* rows.c - shared parts of the readers of graph files; see format.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "base/time.h"
#include "workload/graph/format.h"
#include "workload/trace/formats/timestamp.h"
#include "workload/trace/rows/rows.h"
#include "workload/workload.h"

enum { MAX_SIZE = 1 << 30 };

static blis_status check_size(const blis__graph_rows *rows, const blis_buffer *buffer,
                              blis_error *error) {
  return buffer->length <= MAX_SIZE
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "%s: a JSON text is longer than %d bytes, the limit here", rows->path,
                         MAX_SIZE);
}

/* Reads the rest of the file. */
static blis_status read_rest(blis__graph_rows *rows, blis_buffer *buffer, blis_error *error) {
  blis_text_line line;
  bool has_line = true;
  while (has_line) {
    BLIS_TRY(blis_text_next(rows->text, &line, &has_line, error));
    if (has_line) {
      blis_buffer_bytes(buffer, line.content.data, line.content.length);
      blis_buffer_char(buffer, '\n');
    }
    BLIS_TRY(check_size(rows, buffer, error));
  }
  BLIS_TRY_MEM(blis_buffer_status(buffer), error);
  return BLIS_OK;
}

blis_status blis__graph_open_input(const blis_alloc *alloc, const char *path, blis_input **input,
                                   blis_error *error) {
  BLIS_TRY(blis_input_open(alloc, path, input, error));
  if (blis_input_file_size(*input) >= 0) {
    return BLIS_OK;
  }
  blis_input_close(*input);
  return blis_fail(error, BLIS_ERR_INVALID, "%s: graphs are read twice, so they must be in a file",
                   path);
}

/* Counts a file that has ended without content. */
static void note_empty(blis__graph_rows *rows) {
  rows->known->empty_files += rows->folder != NULL && !rows->has_content && rows->known->is_first;
  rows->has_content = true; /* counted only once */
}

/* Opens the next file of the folder, if any. */
static blis_status open_next(blis__graph_rows *rows, bool *has_file, blis_error *error) {
  const char *path = NULL;
  blis_input *input;
  if (rows->folder != NULL) {
    BLIS_TRY_MEM(blis__graph_folder_next(rows->folder, &path, &rows->is_whole), error);
  }
  *has_file = path != NULL;
  if (!*has_file) {
    return BLIS_OK;
  }
  rows->path = path;
  rows->has_content = false;
  BLIS_TRY(blis__graph_open_input(rows->alloc, path, &input, error));
  blis_text_close(rows->text);
  rows->text = NULL;
  return blis_text_open_input(rows->alloc, input, &rows->text, error);
}

/* Parses a line and the rest of the file as one JSON text. */
static blis_status read_whole(blis__graph_rows *rows, blis_text_line first, blis_error *error) {
  blis_buffer buffer;
  blis_buffer_init(&buffer, rows->alloc);
  blis_buffer_bytes(&buffer, first.content.data, first.content.length);
  blis_buffer_char(&buffer, '\n');
  blis_status status = read_rest(rows, &buffer, error);
  if (status == BLIS_OK) {
    status =
        blis_json_parse(&rows->json, rows->path, first.number, blis_buffer_slice(&buffer), error);
  }
  blis_buffer_deinit(&buffer);
  return status;
}

/* Reads the next nonblank line, which may be in the next file of a folder. */
static blis_status next_line(blis__graph_rows *rows, blis_text_line *line, bool *has_line,
                             blis_error *error) {
  bool is_blank = true;
  while (is_blank) {
    BLIS_TRY(blis_text_next(rows->text, line, has_line, error));
    bool has_more = *has_line;
    if (!has_more) {
      note_empty(rows);
      BLIS_TRY(open_next(rows, &has_more, error));
    }
    if (!has_more) {
      return BLIS_OK;
    }
    is_blank = !*has_line || blis_slice_trim(line->content).length == 0;
  }
  return BLIS_OK;
}

blis_status blis__graph_next_object(blis__graph_rows *rows, blis_json_value *object,
                                    int64_t *number, bool *has_line, blis_error *error) {
  blis_text_line line;
  BLIS_TRY(next_line(rows, &line, has_line, error));
  if (!*has_line) {
    return BLIS_OK;
  }
  rows->has_content = true;
  *number = line.number;
  BLIS_TRY(rows->is_whole
               ? read_whole(rows, line, error)
               : blis_json_parse(&rows->json, rows->path, line.number, line.content, error));
  *object = blis_json_root(&rows->json);
  return blis_json_need_object(*object, error);
}

/* The brackets that a text has opened, and whether it is inside a string. */
typedef struct nesting {
  int64_t depth;
  bool is_in_string;
} nesting;

static void nest(nesting *self, blis_slice text) {
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    if (self->is_in_string) {
      i += c == '\\';
      self->is_in_string = c != '"';
    } else if (c == '"') {
      self->is_in_string = true;
    } else {
      self->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
  }
}

/* Reads on from an open text to the line that closes its brackets, or to the end of the file. */
static blis_status read_spread(blis__graph_rows *rows, blis_text_line line, nesting open,
                               blis_buffer *buffer, blis_error *error) {
  bool has_line = true;
  while (has_line) {
    blis_buffer_bytes(buffer, line.content.data, line.content.length);
    blis_buffer_char(buffer, '\n');
    if (open.depth <= 0) {
      break;
    }
    BLIS_TRY(check_size(rows, buffer, error));
    BLIS_TRY(blis_text_next(rows->text, &line, &has_line, error));
    if (has_line) {
      open.is_in_string = false; /* a string has no line end in it */
      nest(&open, line.content);
    }
  }
  BLIS_TRY_MEM(blis_buffer_status(buffer), error);
  return BLIS_OK;
}

static blis_status parse_spread(blis__graph_rows *rows, blis_text_line line, nesting open,
                                blis_error *error) {
  blis_buffer buffer;
  int64_t first = line.number;
  blis_buffer_init(&buffer, rows->alloc);
  blis_status status = read_spread(rows, line, open, &buffer, error);
  if (status == BLIS_OK) {
    status = blis_json_parse(&rows->json, rows->path, first, blis_buffer_slice(&buffer), error);
  }
  blis_buffer_deinit(&buffer);
  return status;
}

blis_status blis__graph_next_text(blis__graph_rows *rows, blis_json_value *root, int64_t *number,
                                  bool *has_text, blis_error *error) {
  blis_text_line line;
  BLIS_TRY(next_line(rows, &line, has_text, error));
  if (!*has_text) {
    return BLIS_OK;
  }
  nesting open = {0};
  if (!rows->has_content || rows->is_spread) {
    nest(&open, line.content);
    rows->is_spread = rows->is_spread || open.depth > 0;
  }
  rows->has_content = true;
  *number = line.number;
  BLIS_TRY(rows->is_spread
               ? parse_spread(rows, line, open, error)
               : blis_json_parse(&rows->json, rows->path, line.number, line.content, error));
  *root = blis_json_root(&rows->json);
  return BLIS_OK;
}

blis_json_value blis__graph_first(blis_json_value object, const char *const *names) {
  blis_json_value value = blis_json_member(object, names[0]);
  for (size_t i = 1; !blis_json_has(value) && names[i] != NULL; i++) {
    value = blis_json_member(object, names[i]);
  }
  return value;
}

static blis_status add_string(blis_json_value value, size_t *bytes, blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_json_text(value, &text, error));
  *bytes += text.length;
  return BLIS_OK;
}

/* A part, or a message whose content is a string or a list of parts. */
static blis_status add_part(blis_json_value part, size_t *bytes, blis_error *error) {
  static const char *const members[] = {"text", "content", NULL};
  if (blis_json_type_of(part) != BLIS_JSON_OBJECT) {
    return add_string(part, bytes, error);
  }
  blis_json_value inner = blis__graph_first(part, members);
  if (blis_json_type_of(inner) != BLIS_JSON_ARRAY) {
    return blis_json_has(inner) ? add_string(inner, bytes, error) : BLIS_OK;
  }
  for (size_t i = 0; i < blis_json_count(inner); i++) {
    blis_json_value text = blis_json_member(blis_json_item(inner, i), "text");
    BLIS_TRY(blis_json_has(text) ? add_string(text, bytes, error) : BLIS_OK);
  }
  return BLIS_OK;
}

blis_status blis__graph_text_bytes(blis_json_value content, size_t *bytes, blis_error *error) {
  if (blis_json_type_of(content) != BLIS_JSON_ARRAY) {
    return add_string(content, bytes, error);
  }
  for (size_t i = 0; i < blis_json_count(content); i++) {
    BLIS_TRY(add_part(blis_json_item(content, i), bytes, error));
  }
  return BLIS_OK;
}

blis_status blis__graph_clock(blis_json_value value, int64_t *time_us, blis_error *error) {
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

blis_status blis__graph_time(blis_json_value object, const char *key, double unit_us,
                             int64_t *time_us, blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  double time;
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_double(value, 0, (double)BLIS_TIME_SPAN_MAX_US / unit_us, &time, error));
  *time_us = llround(time * unit_us);
  return BLIS_OK;
}

blis_status blis__graph_either_time(blis_json_value object, const char *key, const char *other,
                                    double unit_us, int64_t *time_us, blis_error *error) {
  blis_json_value second = blis_json_member(object, other);
  int64_t first_us = *time_us;
  BLIS_TRY(blis__graph_time(object, key, unit_us, &first_us, error));
  *time_us = first_us;
  BLIS_TRY(blis__graph_time(object, other, unit_us, time_us, error));
  if (blis_json_has(blis_json_member(object, key)) && blis_json_has(second) &&
      first_us != *time_us) {
    char what[128];
    (void)snprintf(what, sizeof what,
                   "is not what '%s' says, expected one of them, or the same "
                   "in both",
                   key);
    return blis_json_fail(second, what, error);
  }
  return BLIS_OK;
}

blis_status blis__graph_tokens(blis_json_value object, const char *key, uint32_t *tokens,
                               blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  int64_t read;
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_int64(value, 0, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

uint32_t blis__graph_tokens_of_bytes(const blis__graph_rows *rows, size_t bytes) {
  double each = rows->options->bytes_per_token;
  double tokens = ceil((double)bytes / (each > 0 ? each : 4));
  return tokens < BLIS_WORKLOAD_MAX_TOKENS ? (uint32_t)tokens : BLIS_WORKLOAD_MAX_TOKENS;
}

blis_status blis__graph_name(blis__graph_rows *rows, blis_json_value object, const char *key,
                             uint32_t *id, blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  char digits[BLIS_INT64_TEXT_SIZE];
  blis_slice name = {0};
  if (blis_json_type_of(value) == BLIS_JSON_INTEGER) {
    int64_t number;
    BLIS_TRY(blis_json_int64(value, INT64_MIN, INT64_MAX, &number, error));
    name = (blis_slice){digits, blis_format_int64(number, digits)};
  } else if (blis_json_has(value)) {
    BLIS_TRY(blis_json_text(value, &name, error));
  }
  if (name.length > 0) {
    BLIS_TRY_MEM(blis_intern_add(rows->strings, name.data, name.length, id), error);
  }
  return BLIS_OK;
}

blis_status blis__graph_text(blis__graph_rows *rows, uint32_t *id, const char *format, ...) {
  char text[BLIS_REQUEST_ID_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t used = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
  return blis_intern_add(rows->strings, text, used, id);
}

blis_status blis__graph_need(blis_json_value object, const char *key, blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  return blis_json_has(value) ? BLIS_OK : blis_json_invalid(value, "a value", error);
}

blis_status blis__graph_add(blis__graph_rows *rows, int64_t line, const blis_graph_node *node,
                            bool chains, const uint32_t *waits, uint32_t wait_count,
                            blis_error *error) {
  blis_error own = {0};
  blis_status status =
      blis_graph_builder_add(&rows->builder, node, chains, waits, wait_count, &own);
  return status == BLIS_OK || status == BLIS_ERR_NOMEM
             ? status
             : blis_fail(error, status, "%s:%lld: %s", rows->path, (long long)line, own.message);
}

int64_t blis__graph_capped(const blis__graph_rows *rows, int64_t delay_us) {
  int64_t cap_us = rows->options->delay_cap_us;
  return cap_us > 0 && delay_us > cap_us ? cap_us : delay_us;
}

void blis__graph_see(blis__graph_rows *rows, blis_json_value object, const char *const *known) {
  if (rows->known->is_first) {
    blis__unread_see_members(&rows->known->unread, object, known);
  }
}

bool blis__graph_head_has(blis_slice head, const char *const *words) {
  for (; *words != NULL; words++) {
    if (!blis__trace_head_has(head, *words)) {
      return false;
    }
  }
  return head.length > 0;
}
