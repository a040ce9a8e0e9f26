#include "workload/trace/open.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

/* Recognised in this order. */
static const blis__trace_format *const formats[] = {
    &blis__trace_mooncake,  &blis__trace_azure,         &blis__trace_v2,
    &blis__trace_burstgpt,  &blis__trace_bailian,       &blis__trace_routesim,
    &blis__trace_vllm,      &blis__trace_llmservingsim, &blis__trace_vidur,
    &blis__trace_splitwise, &blis__trace_otel,
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

bool blis__trace_head_has(blis_slice head, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i + length <= head.length; i++) {
    if (memcmp(head.data + i, text, length) == 0) {
      return true;
    }
  }
  return false;
}

bool blis__trace_first_line_has(blis_slice head, const char *text) {
  const char *end =
      head.length > 0 ? memchr(head.data, '\n', head.length) : NULL;
  head.length = end != NULL ? (size_t)(end - head.data) : head.length;
  return blis__trace_head_has(head, text);
}

const char *blis__trace_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* The names of all formats, "a, b, c". */
static const char *list_names(char names[NAMES_SIZE]) {
  names[0] = '\0';
  for (size_t i = 0; i < FORMATS; i++) {
    size_t used = strlen(names);
    snprintf(names + used, NAMES_SIZE - used, "%s%s", i > 0 ? ", " : "",
             formats[i]->name);
  }
  return names;
}

static blis_status find_format(const char *name,
                               const blis__trace_format **format,
                               blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i]->name, name) == 0) {
      *format = formats[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, formats[i]->name);
  }
  char names[NAMES_SIZE];
  bool has_word = nearest.word != NULL;
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown trace format \"%s\"%s%s%s; allowed are %s", name,
                   has_word ? " (did you mean \"" : "",
                   has_word ? nearest.word : "", has_word ? "\"?)" : "",
                   list_names(names));
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

static blis_status recognise(blis_input *input,
                             const blis__trace_format **format,
                             blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis_input_peek(input, &head, error));
  head = skip_blank_start(head);
  for (size_t i = 0; i < FORMATS; i++) {
    if (formats[i]->recognise(head)) {
      *format = formats[i];
      return BLIS_OK;
    }
  }
  char names[NAMES_SIZE];
  return blis_fail(error, BLIS_ERR_PARSE, "%s: %s; known formats are %s",
                   blis_input_name(input),
                   head.length == 0 ? "the file is empty"
                                    : "not recognised as a trace",
                   list_names(names));
}

static blis_status check_options(const blis_trace_options *options,
                                 blis_error *error) {
  if (options->limit < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "limit is %lld; it must be at least 0 (0 = all rows)",
                     (long long)options->limit);
  }
  if (options->hash_block_tokens > BLIS_WORKLOAD_MAX_TOKENS) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the block size of hash ids is %u; it must be at most %d",
                     options->hash_block_tokens, BLIS_WORKLOAD_MAX_TOKENS);
  }
  return BLIS_OK;
}

blis_input *blis__trace_take_input(blis__trace_job *job) {
  blis_input *input = job->input;
  job->input = NULL;
  return input;
}

blis_status blis__trace_change_input(blis__trace_job *job, const char *path,
                                     blis_error *error) {
  blis_input_close(blis__trace_take_input(job));
  BLIS_TRY(blis_input_open(job->alloc, path, &job->input, error));
  job->size_bytes = blis_input_file_size(job->input);
  job->is_packed = blis_input_is_packed(job->input);
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

static blis_status open_reader(blis__trace_file *file, blis_error *error) {
  blis__trace_job *job = &file->job;
  BLIS_TRY(open_input(file, error));
  if (file->format == NULL) {
    BLIS_TRY(recognise(job->input, &file->format, error));
  }
  file->reader = blis_alloc_zeroed(job->alloc, 1, file->format->reader_size);
  BLIS_TRY_NEW(file->reader, error);
  blis_status status = file->format->open(job, file->reader, error);
  if (status != BLIS_OK) {
    blis__trace_close(file);
  }
  return status;
}

blis_status blis__trace_open(const blis_alloc *alloc, const char *path,
                             const blis_trace_options *options,
                             blis_workload *workload, blis__trace_file *file,
                             blis_error *error) {
  *file = (blis__trace_file){
      .job = {.alloc = alloc,
              .path = path,
              .name = strcmp(path, "-") == 0 ? "stdin" : path,
              .options = options,
              .limit = options->limit > 0 ? options->limit : INT64_MAX,
              .workload = workload}};
  BLIS_TRY(check_options(options, error));
  if (options->format != NULL) {
    BLIS_TRY(find_format(options->format, &file->format, error));
  }
  blis_status status = open_reader(file, error);
  blis_input_close(blis__trace_take_input(&file->job));
  return status;
}

blis_status blis__trace_open_again(const blis__trace_file *known,
                                   const blis_alloc *alloc,
                                   blis__trace_file *file, blis_error *error) {
  *file = (blis__trace_file){.format = known->format, .job = known->job};
  file->job.alloc = alloc;
  file->job.known = known->reader;
  blis_status status = open_reader(file, error);
  blis_input_close(blis__trace_take_input(&file->job));
  return status;
}

blis_status blis__trace_fail_empty(const blis__trace_file *file,
                                   blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s: the trace has no rows",
                   file->job.name);
}

void blis__trace_close(blis__trace_file *file) {
  if (file->reader != NULL) {
    file->format->close(file->reader);
    blis_alloc_free(file->job.alloc, file->reader, file->format->reader_size);
    file->reader = NULL;
  }
}
