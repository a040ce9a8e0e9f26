#include "workload/trace/read/open.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/format/file_kind.h"
#include "base/nearest.h"
#include "workload/trace/formats/generic.h"
#include "workload/trace/read/trace.h"
#include "workload/trace/rows/rows.h"

static const blis__trace_format *const formats[] = {
#define XX(name) &blis__trace_##name,
    BLIS__TRACE_FORMAT_MAP(XX)
#undef XX
};

enum { FORMATS = sizeof formats / sizeof *formats };

size_t blis_trace_format_count(void) {
  return FORMATS;
}

const char *blis_trace_format_name(size_t index) {
  return formats[index]->name;
}

const char *blis_trace_format_text(size_t index) {
  return formats[index]->text;
}

static blis_status find_format(const char *name, const blis__trace_format **format,
                               blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i]->name, name) == 0) {
      *format = formats[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, formats[i]->name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "unknown trace format '%s'%s", name,
                   blis_nearest_suggest(&nearest).text);
}

static bool is_of(const blis__trace_format *format, blis_slice head) {
  return format->recognise != NULL ? format->recognise(head)
                                   : blis__trace_first_line_has(head, ",") &&
                                         blis__trace_first_line_has(head, format->marks[0]) &&
                                         blis__trace_first_line_has(head, format->marks[1]);
}

static bool has_conversations(blis_slice head) {
  return head.length > 0 && head.data[0] == '[' && blis__trace_head_has(head, "\"conversations\"");
}

/* Fails for an unknown format; why is the reason of the generic formats. */
static blis_status fail_unknown(const blis_input *input, blis_slice head, const blis_error *why,
                                blis_error *error) {
  const char *name = blis_input_name(input);
  if (head.length == 0) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: the file is empty", name);
  }
  if (has_conversations(head)) {
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s: conversations (ShareGPT) have no arrival times, so they cannot be "
                     "replayed; 'blis run --graphs FILE --concurrency N' plays them",
                     name);
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s: not recognized as a trace; as a table: %s", name,
                   why->message);
}

static blis_status recognise(const blis__trace_job *job, const blis__trace_format **format,
                             blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis__trace_head(job, &head, error));
  const char *kind = blis_file_kind(head);
  if (kind != NULL) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: %s", blis_input_name(job->input), kind);
  }
  for (size_t i = 0; job->options->columns == NULL && i < FORMATS; i++) {
    if (is_of(formats[i], head)) {
      *format = formats[i];
      return BLIS_OK;
    }
  }
  blis_error why = {0};
  bool may_be_any = head.length > 0 && head.data[0] != '[';
  blis_status status = BLIS_ERR_PARSE;
  if (may_be_any) {
    status = blis__trace_find_generic(job, head, format, &why);
  } else {
    blis_fail(
        &why, BLIS_ERR_PARSE,
        "a list in JSON is not one, put an object on each line, as jq -c '.[]' FILE prints them");
  }
  if (status == BLIS_OK || status == BLIS_ERR_NOMEM || status == BLIS_ERR_INVALID) {
    return status == BLIS_OK ? BLIS_OK : blis_fail(error, status, "%s", why.message);
  }
  return fail_unknown(job->input, head, &why, error);
}

/* Explains why a file does not have a format that is detected by its start. */
static blis_status explain_one(const blis__trace_format *format, blis_slice head,
                               blis_buffer *text) {
  char first = head.length > 0 ? head.data[0] : '\0';
  bool is_text = first != '{' && first != '[';
  blis_buffer_format(text, "  %s: ", format->name);
  if (format->start != '\0' && first != format->start) {
    blis_buffer_format(text, "the file does not start with '%c'\n", format->start);
    return blis_buffer_status(text);
  }
  if (format->start == '\0' && !is_text) {
    blis_buffer_format(text, "the file is JSON, expected a header row\n");
    return blis_buffer_status(text);
  }
  const char *const *needs = format->needs[0] != NULL ? format->needs : format->marks;
  for (size_t i = 0; i < 2 && needs[i] != NULL; i++) {
    if (!blis__trace_head_has(head, needs[i])) {
      blis_buffer_format(text, "%s is missing\n", needs[i]);
      return blis_buffer_status(text);
    }
  }
  blis_buffer_format(text, "%s are not in one line\n", format->text);
  return blis_buffer_status(text);
}

static blis_status explain_input(blis__trace_job *job, blis_buffer *text, blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis__trace_change_input(job, job->path, error));
  BLIS_TRY(blis__trace_head(job, &head, error));
  for (size_t i = 0; i < FORMATS; i++) {
    bool is_generic = formats[i] == &blis__trace_csv || formats[i] == &blis__trace_jsonl;
    if (!is_generic) {
      BLIS_TRY_MEM(explain_one(formats[i], head, text), error);
    }
  }
  return BLIS_OK;
}

blis_status blis_trace_explain(const blis_alloc *alloc, const char *path,
                               const blis_trace_options *options, blis_buffer *text,
                               blis_error *error) {
  blis__trace_job job = {.alloc = alloc, .path = path, .name = path, .options = options};
  blis_status status = explain_input(&job, text, error);
  blis__trace_drop_input(&job);
  return status;
}

static blis_status check_options(const blis_trace_options *options, blis_error *error) {
  if (options->limit < 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "limit is %lld; it must be at least 0 (0 = all rows)",
                     (long long)options->limit);
  }
  if (options->hash_block_tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the block size of hash ids is %u; it must be at most %d",
                     options->hash_block_tokens, BLIS_WORKLOAD_MAX_TOKENS);
  }
  bool is_known_unit = options->time_unit == NULL || blis__clock_unit(options->time_unit) > 0;
  if (!is_known_unit) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "unknown unit of time '%s'; expected s, ms, us, or ns", options->time_unit);
  }
  bool is_generic = options->format == NULL || strcmp(options->format, "csv") == 0 ||
                    strcmp(options->format, "jsonl") == 0;
  if (options->columns != NULL && !is_generic) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "columns apply to the formats csv and jsonl, not to %s", options->format);
  }
  return BLIS_OK;
}

/* Opens the input. A pair of files may be specified without an extension, so the path itself
   need not exist. */
static blis_status open_input(blis__trace_file *file, blis_error *error) {
  blis__trace_job *job = &file->job;
  blis_status status = blis__trace_change_input(job, job->path, error);
  bool may_be_stem = file->format == NULL || file->format == &blis__trace_v2;
  if (status != BLIS_ERR_IO || !may_be_stem) {
    return status;
  }
  bool is_stem;
  blis_error other = {0};
  BLIS_TRY(blis__trace_v2_find_stem(job->alloc, job->path, &is_stem, &other));
  if (!is_stem) {
    return status;
  }
  file->format = &blis__trace_v2;
  return BLIS_OK;
}

/* known = NULL for the first reader of the file. */
static blis_status open_reader(blis__trace_file *file, const void *known, blis_error *error) {
  blis__trace_job *job = &file->job;
  BLIS_TRY(open_input(file, error));
  if (file->format == NULL) {
    BLIS_TRY(recognise(job, &file->format, error));
  }
  file->reader = blis_alloc_zeroed(job->alloc, 1, file->format->reader_size);
  BLIS_TRY_NEW(file->reader, error);
  blis__trace_rows *rows = file->reader;
  rows->job = job;
  rows->rule = file->format->rule;
  rows->fields = file->format->fields;
  rows->known = known != NULL ? known : rows;
  rows->start = INT64_MAX;
  blis_json_init(&rows->json, job->alloc);
  blis_json_allow_any_number(&rows->json);
  blis_status status = file->format->open(file->reader, error);
  if (status != BLIS_OK) {
    blis__trace_close(file);
  }
  return status;
}

blis_status blis__trace_open(const blis_alloc *alloc, const char *path,
                             const blis_trace_options *options, blis_workload *workload,
                             blis__trace_file *file, blis_error *error) {
  *file = (blis__trace_file){.job = {.alloc = alloc,
                                     .path = path,
                                     .name = strcmp(path, "-") == 0 ? "stdin" : path,
                                     .options = options,
                                     .limit = options->limit > 0 ? options->limit : INT64_MAX,
                                     .workload = workload}};
  BLIS_TRY(check_options(options, error));
  if (options->format != NULL) {
    BLIS_TRY(find_format(options->format, &file->format, error));
  }
  blis_status status = open_reader(file, NULL, error);
  blis__trace_drop_input(&file->job);
  return status;
}

blis_status blis__trace_open_again(const blis__trace_file *known, const blis_alloc *alloc,
                                   blis__trace_file *file, blis_error *error) {
  *file = (blis__trace_file){.format = known->format, .job = known->job};
  file->job.alloc = alloc;
  blis_status status = open_reader(file, known->reader, error);
  blis__trace_drop_input(&file->job);
  return status;
}

/* Adds notes about the fields of the file that the reader does not use. */
static blis_status note_unread(const blis__trace_rows *rows, blis_error *error) {
  if (rows->unread.count == 0) {
    return BLIS_OK;
  }
  char names[BLIS__UNREAD_TEXT_SIZE];
  blis__unread_list(&rows->unread, names);
  BLIS_TRY_MEM(blis_workload_note(rows->job->workload, "%s: fields that are not read: %s",
                                  rows->job->name, names),
               error);
  return BLIS_OK;
}

blis_status blis__trace_finish(const blis__trace_file *file, blis_error *error) {
  blis__trace_rows *rows = file->reader;
  blis__trace_close_rows(rows);
  BLIS_TRY(blis__trace_note(rows, "failed requests skipped, since their output is unknown",
                            rows->failed, "", error));
  BLIS_TRY(note_unread(rows, error));
  BLIS_TRY(blis__trace_note_clock(rows, error));
  return file->format->finish != NULL ? file->format->finish(file->reader, error) : BLIS_OK;
}

blis_status blis__trace_fail_empty(const blis__trace_file *file, blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s: the trace has no rows", file->job.name);
}

void blis__trace_close(blis__trace_file *file) {
  if (file->reader == NULL) {
    return;
  }
  if (file->format->close != NULL) {
    file->format->close(file->reader);
  }
  blis__trace_close_rows(file->reader);
  blis_alloc_free(file->job.alloc, file->reader, file->format->reader_size);
  file->reader = NULL;
}
