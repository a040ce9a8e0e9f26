#include "workload/trace/open.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "workload/trace/rows.h"

static const blis__trace_format *const formats[] = {
#define XX(name) &blis__trace_##name,
    BLIS__TRACE_FORMAT_MAP(XX)
#undef XX
};

enum { FORMATS = sizeof formats / sizeof *formats, NAMES_SIZE = 256 };

size_t blis_trace_format_count(void) {
  return FORMATS;
}

const char *blis_trace_format_name(size_t index) {
  return formats[index]->name;
}

const char *blis_trace_format_text(size_t index) {
  return formats[index]->text;
}

/* The names of all formats, "a, b, c". */
static const char *list_names(char names[NAMES_SIZE]) {
  names[0] = '\0';
  for (size_t i = 0; i < FORMATS; i++) {
    size_t used = strlen(names);
    snprintf(names + used, NAMES_SIZE - used, "%s%s", i > 0 ? ", " : "", formats[i]->name);
  }
  return names;
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

static blis_slice skip_blank_start(blis_slice head) {
  if (head.length >= 3 && memcmp(head.data, "\xEF\xBB\xBF", 3) == 0) {
    head.data += 3; /* byte order mark */
    head.length -= 3;
  }
  while (head.length > 0 && strchr(" \t\r\n", *head.data) != NULL) {
    head.data++;
    head.length--;
  }
  return head;
}

static bool is_of(const blis__trace_format *format, blis_slice head) {
  return format->recognise != NULL ? format->recognise(head)
                                   : blis__trace_first_line_has(head, format->marks[0]) &&
                                         blis__trace_first_line_has(head, format->marks[1]);
}

/* The format of which the first line has most fields, two at least, or NULL. */
static const blis__trace_format *most_like(blis_slice head) {
  const blis__trace_format *best = NULL;
  size_t most = 1;
  for (size_t i = 0; i < FORMATS; i++) {
    size_t found = 0;
    for (const char *const *f = formats[i]->fields; f != NULL && *f != NULL; f++) {
      found += blis__trace_first_line_has(head, *f);
    }
    if (found > most) {
      best = formats[i];
      most = found;
    }
  }
  return best;
}

static blis_status fail_unknown(const blis_input *input, blis_slice head, blis_error *error) {
  char names[NAMES_SIZE];
  const char *what = head.length == 0 ? "the file is empty" : "not recognised as a trace";
  const blis__trace_format *near = most_like(head);
  if (near == NULL) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: %s; known formats are %s", blis_input_name(input),
                     what, list_names(names));
  }
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s: %s; its first line is most like %s: name that format "
                   "to see what it lacks; known formats are %s",
                   blis_input_name(input), what, near->name, list_names(names));
}

static blis_status recognise(blis_input *input, const blis__trace_format **format,
                             blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis_input_peek(input, &head, error));
  head = skip_blank_start(head);
  for (size_t i = 0; i < FORMATS; i++) {
    if (is_of(formats[i], head)) {
      *format = formats[i];
      return BLIS_OK;
    }
  }
  return fail_unknown(input, head, error);
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
  return BLIS_OK;
}

/* A pair of files may be named without an ending, which is no file. */
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
    BLIS_TRY(recognise(job->input, &file->format, error));
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
  blis_json_allow_non_finite(&rows->json);
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

/* What the file has and nobody reads. */
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
