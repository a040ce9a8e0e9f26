#include "workload/graph/file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"
#include "workload/graph/format.h"
#include "workload/trace/rows.h"

static const blis__graph_format *const formats[] = {
#define XX(name) &blis__graph_##name,
    BLIS__GRAPH_FORMAT_MAP(XX)
#undef XX
};

enum {
  FORMATS = sizeof formats / sizeof *formats,
  NOTES = 8,
  NOTE_SIZE = BLIS__UNREAD_TEXT_SIZE + 256,
  MAX_SIZE = 1 << 30,
  LONG_DIGITS = 19 /* that a whole number of 64 bits may not have */
};

struct blis_graph_file {
  blis_alloc alloc;
  char *path;
  size_t path_size;
  blis_graph_file_options options;
  blis_intern *strings;
  const blis__graph_format *format;
  blis__graph_known known;
  void *reader; /* NULL = none is open */
  int64_t count;
  int64_t taken;
  char *notes[NOTES];
  size_t note_count;
};

/* Formats. */

size_t blis_graph_format_count(void) {
  return FORMATS;
}

const char *blis_graph_format_name(size_t index) {
  return formats[index]->name;
}

const char *blis_graph_format_text(size_t index) {
  return formats[index]->text;
}

static blis_status find_format(blis_graph_file *file, const char *name,
                               blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i]->name, name) == 0) {
      file->format = formats[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, formats[i]->name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "unknown format of graphs '%s'%s",
                   name, blis_nearest_suggest(&nearest).text);
}

static blis_status recognise(blis_graph_file *file, blis_input *input,
                             blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis_input_peek(input, &head, error));
  head = blis_slice_trim(head);
  for (size_t i = 0; i < FORMATS; i++) {
    if (formats[i]->recognise(head)) {
      file->format = formats[i];
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s: %s; known formats of graphs are weka, "
                   "agentic-mooncake, applied-compute, sharegpt and spans "
                   "(traces of single requests: { trace = path })",
                   file->path,
                   head.length == 0 ? "the file is empty"
                                    : "not recognised as session graphs");
}

/* Readers. */

static void close_reader(blis_graph_file *file) {
  blis__graph_rows *rows = file->reader;
  if (rows == NULL) {
    return;
  }
  if (file->format->close != NULL) {
    file->format->close(file->reader);
  }
  blis_json_deinit(&rows->json);
  blis_text_close(rows->text);
  blis_graph_builder_deinit(&rows->builder);
  blis_alloc_free(&file->alloc, file->reader, file->format->reader_size);
  file->reader = NULL;
}

static blis_status open_reader(blis_graph_file *file, blis_error *error) {
  blis_input *input;
  close_reader(file);
  BLIS_TRY(blis_input_open(&file->alloc, file->path, &input, error));
  if (blis_input_file_size(input) < 0) {
    blis_input_close(input);
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: graphs are read twice, so they must be in a file",
                     file->path);
  }
  blis_status status =
      file->format == NULL ? recognise(file, input, error) : BLIS_OK;
  if (status != BLIS_OK) {
    blis_input_close(input);
    return status;
  }
  blis_text *text;
  BLIS_TRY(blis_text_open_input(&file->alloc, input, &text, error));
  file->reader = blis_alloc_zeroed(&file->alloc, 1, file->format->reader_size);
  if (file->reader == NULL) {
    blis_text_close(text);
    return blis_fail_nomem(error);
  }
  blis__graph_rows *rows = file->reader;
  rows->alloc = &file->alloc;
  rows->path = file->path;
  rows->options = &file->options;
  rows->strings = file->strings;
  rows->known = &file->known;
  rows->text = text;
  blis_json_init(&rows->json, &file->alloc);
  blis_graph_builder_init(&rows->builder, &file->alloc);
  file->taken = 0;
  return file->format->open != NULL ? file->format->open(file->reader, error)
                                    : BLIS_OK;
}

static blis_status next_graph(void *state, blis_graph *graph, bool *done,
                              blis_error *error) {
  blis_graph_file *file = state;
  if (file->reader == NULL) {
    BLIS_TRY(open_reader(file, error));
  }
  *done = file->options.limit > 0 && file->taken == file->options.limit;
  if (!*done) {
    BLIS_TRY(file->format->next(file->reader, graph, done, error));
  }
  file->taken += !*done;
  return BLIS_OK;
}

static blis_status rewind_file(void *state, blis_error *error) {
  return open_reader(state, error);
}

/* Notes. */

BLIS_PRINTF(2, 3)
static blis_status note(blis_graph_file *file, const char *format, ...) {
  char text[NOTE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t size = (size_t)length < sizeof text ? (size_t)length + 1 : sizeof text;
  char *kept = blis_alloc_new(&file->alloc, size);
  if (kept == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(kept, text, size);
  file->notes[file->note_count++] = kept;
  return BLIS_OK;
}

static blis_status note_count(blis_graph_file *file, int64_t count,
                              const char *what) {
  return count == 0
             ? BLIS_OK
             : note(file, "%s: %s: %lld", file->path, what, (long long)count);
}

static blis_status make_notes(blis_graph_file *file) {
  const blis__graph_known *known = &file->known;
  BLIS_TRY(note_count(file, known->dropped_agents,
                      "subagents in front of every request of their "
                      "conversation, left out"));
  BLIS_TRY(note_count(file, known->excess_ids,
                      "requests with more hash ids than tokens, of which the "
                      "last ones are left out"));
  BLIS_TRY(note_count(file, known->left_out, "entries that are no requests"));
  BLIS_TRY(note_count(file, known->not_monotone,
                      "prompts that are shorter than their context, which "
                      "begin a new one"));
  BLIS_TRY(note_count(file, known->estimated,
                      "requests whose tokens were worked out of bytes"));
  if (known->unread.count > 0) {
    char names[BLIS__UNREAD_TEXT_SIZE];
    blis__unread_list(&known->unread, names);
    BLIS_TRY(note(file, "%s: fields that are not read: %s", file->path, names));
  }
  return BLIS_OK;
}

/* Files. */

static blis_status read_through(blis_graph_file *file, blis_error *error) {
  bool done = false;
  file->known.is_first = true;
  while (!done) {
    blis_graph graph;
    BLIS_TRY(next_graph(file, &graph, &done, error));
    if (!done) {
      file->known.requests += graph.node_count;
      file->known.has_starts = file->known.has_starts || graph.start_us >= 0;
    }
  }
  file->count = file->taken;
  file->known.is_first = false;
  close_reader(file);
  if (file->count == 0) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: there are no graphs",
                     file->path);
  }
  BLIS_TRY_MEM(make_notes(file), error);
  return BLIS_OK;
}

static blis_status keep_path(blis_graph_file *file, const char *path) {
  file->path_size = strlen(path) + 1;
  file->path = blis_alloc_new(&file->alloc, file->path_size);
  if (file->path == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(file->path, path, file->path_size);
  return BLIS_OK;
}

static blis_status fill(blis_graph_file *file, const char *path,
                        const blis_graph_file_options *options,
                        blis_error *error) {
  BLIS_TRY_MEM(keep_path(file, path), error);
  file->options.format = NULL; /* is not kept */
  if (options->format != NULL) {
    BLIS_TRY(find_format(file, options->format, error));
  }
  return read_through(file, error);
}

blis_status blis_graph_file_open(const blis_alloc *alloc, const char *path,
                                 const blis_graph_file_options *options,
                                 blis_intern *strings, blis_graph_file **file,
                                 blis_error *error) {
  blis_graph_file *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->strings = strings;
  made->options = *options;
  blis_status status = fill(made, path, options, error);
  if (status != BLIS_OK) {
    blis_graph_file_close(made);
    return status;
  }
  *file = made;
  return BLIS_OK;
}

blis_status blis_graph_file_open_again(const blis_graph_file *known,
                                       const blis_alloc *alloc,
                                       blis_intern *strings,
                                       blis_graph_file **file,
                                       blis_error *error) {
  blis_graph_file *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->strings = strings;
  made->options = known->options;
  made->format = known->format;
  made->known = known->known;
  made->count = known->count;
  if (keep_path(made, known->path) != BLIS_OK) {
    blis_graph_file_close(made);
    return blis_fail_nomem(error);
  }
  *file = made;
  return BLIS_OK;
}

void blis_graph_file_close(blis_graph_file *file) {
  if (file == NULL) {
    return;
  }
  blis_alloc alloc = file->alloc;
  close_reader(file);
  for (size_t i = 0; i < file->note_count; i++) {
    blis_alloc_free(&alloc, file->notes[i], strlen(file->notes[i]) + 1);
  }
  blis_alloc_free(&alloc, file->path, file->path_size);
  blis_alloc_free(&alloc, file, sizeof *file);
}

blis_graph_feed blis_graph_file_feed(blis_graph_file *file) {
  return (blis_graph_feed){.next = next_graph,
                           .rewind = rewind_file,
                           .state = file,
                           .strings = file->strings};
}

const char *blis_graph_file_format(const blis_graph_file *file) {
  return file->format->name;
}

int64_t blis_graph_file_count(const blis_graph_file *file) {
  return file->count;
}

int64_t blis_graph_file_requests(const blis_graph_file *file) {
  return file->known.requests;
}

bool blis_graph_file_has_starts(const blis_graph_file *file) {
  return file->known.has_starts;
}

const char *blis_graph_file_note(const blis_graph_file *file, size_t index) {
  return index < file->note_count ? file->notes[index] : NULL;
}

/* Shared parts of readers. */

/* A copy of a text in which long whole numbers are in quotes. */
static void quote_long_numbers(blis_slice text, blis_buffer *quoted) {
  bool in_text = false;
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    bool is_digit = c >= '0' && c <= '9';
    size_t length = 0;
    while (!in_text && is_digit && i + length < text.length &&
           text.data[i + length] >= '0' && text.data[i + length] <= '9') {
      length++;
    }
    if (length >= LONG_DIGITS && (i == 0 || text.data[i - 1] != '.')) {
      blis_buffer_char(quoted, '"');
      blis_buffer_bytes(quoted, text.data + i, length);
      blis_buffer_char(quoted, '"');
      i += length - 1;
      continue;
    }
    if (length > 0) {
      blis_buffer_bytes(quoted, text.data + i, length);
      i += length - 1;
      continue;
    }
    blis_buffer_char(quoted, c);
    if (in_text && c == '\\' && i + 1 < text.length) {
      blis_buffer_char(quoted, text.data[++i]);
    } else if (c == '"') {
      in_text = !in_text;
    }
  }
}

static blis_status parse_quoted(blis__graph_rows *rows, blis_text_line line) {
  blis_buffer quoted;
  blis_buffer_init(&quoted, rows->alloc);
  quote_long_numbers(line.content, &quoted);
  blis_status status = blis_buffer_status(&quoted);
  if (status == BLIS_OK) {
    status = blis_json_parse(&rows->json, rows->path, line.number,
                             blis_buffer_slice(&quoted), NULL);
  }
  blis_buffer_deinit(&quoted);
  return status;
}

blis_status blis__graph_next_object(blis__graph_rows *rows,
                                    blis_json_value *object, int64_t *number,
                                    bool *has_line, blis_error *error) {
  blis_text_line line;
  do {
    BLIS_TRY(blis_text_next(rows->text, &line, has_line, error));
    if (!*has_line) {
      return BLIS_OK;
    }
  } while (blis_slice_trim(line.content).length == 0);
  blis_error own;
  blis_status status =
      blis_json_parse(&rows->json, rows->path, line.number, line.content, &own);
  if (status != BLIS_OK && parse_quoted(rows, line) != BLIS_OK) {
    return blis_fail(error, status, "%s", own.message);
  }
  *number = line.number;
  *object = blis_json_root(&rows->json);
  return blis_json_need_object(*object, error);
}

blis_status blis__graph_read_all(blis__graph_rows *rows, blis_json_value *root,
                                 blis_error *error) {
  blis_buffer buffer;
  blis_buffer_init(&buffer, rows->alloc);
  blis_text_line line;
  bool has_line = true;
  blis_status status = BLIS_OK;
  while (status == BLIS_OK && has_line) {
    status = blis_text_next(rows->text, &line, &has_line, error);
    if (status == BLIS_OK && has_line) {
      blis_buffer_bytes(&buffer, line.content.data, line.content.length);
      blis_buffer_char(&buffer, '\n');
      if (buffer.length > MAX_SIZE) {
        status = blis_fail(error, BLIS_ERR_INVALID,
                           "%s: a JSON text is longer than %d bytes, the limit "
                           "here",
                           rows->path, MAX_SIZE);
      }
    }
  }
  if (status == BLIS_OK && blis_buffer_status(&buffer) != BLIS_OK) {
    status = blis_fail_nomem(error);
  }
  if (status == BLIS_OK) {
    status = blis_json_parse(&rows->json, rows->path, 1,
                             blis_buffer_slice(&buffer), error);
  }
  blis_buffer_deinit(&buffer);
  *root = blis_json_root(&rows->json);
  return status;
}

blis_status blis__graph_time(blis_json_value object, const char *key,
                             double unit_us, int64_t *time_us,
                             blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  double time;
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_double(value, 0, (double)BLIS_TIME_SPAN_MAX_US / unit_us,
                            &time, error));
  *time_us = llround(time * unit_us);
  return BLIS_OK;
}

blis_status blis__graph_tokens(blis_json_value object, const char *key,
                               uint32_t *tokens, blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  int64_t read;
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_int64(value, 0, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

blis_status blis__graph_name(blis__graph_rows *rows, blis_json_value object,
                             const char *key, uint32_t *id, blis_error *error) {
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
    BLIS_TRY_MEM(blis_intern_add(rows->strings, name.data, name.length, id),
                 error);
  }
  return BLIS_OK;
}

blis_status blis__graph_text(blis__graph_rows *rows, uint32_t *id,
                             const char *format, ...) {
  char text[BLIS_REQUEST_ID_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t used = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
  return blis_intern_add(rows->strings, text, used, id);
}

blis_status blis__graph_need(blis_json_value object, const char *key,
                             blis_error *error) {
  blis_json_value value = blis_json_member(object, key);
  return blis_json_has(value) ? BLIS_OK
                              : blis_json_fail(value, "is missing", error);
}

int64_t blis__graph_capped(const blis__graph_rows *rows, int64_t delay_us) {
  int64_t cap_us = rows->options->delay_cap_us;
  return cap_us > 0 && delay_us > cap_us ? cap_us : delay_us;
}

void blis__graph_see(blis__graph_rows *rows, blis_json_value object,
                     const char *const *known) {
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
