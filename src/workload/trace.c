#include "workload/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/input.h"
#include "base/nearest.h"
#include "workload/trace_format.h"

/* Recognised in this order. */
static const blis__trace_format *const formats[] = {
    &blis__trace_mooncake,  &blis__trace_azure,         &blis__trace_v2,
    &blis__trace_burstgpt,  &blis__trace_bailian,       &blis__trace_routesim,
    &blis__trace_vllm,      &blis__trace_llmservingsim, &blis__trace_vidur,
    &blis__trace_splitwise,
};

enum {
  FORMATS = sizeof formats / sizeof *formats,
  HEAD_SIZE = 4096,
  NAMES_SIZE = 256
};

size_t blis_trace_format_count(void) {
  return FORMATS;
}

const char *blis_trace_format_name(size_t index) {
  return formats[index]->name;
}

const char *blis_trace_format_text(size_t index) {
  return formats[index]->text;
}

bool blis__trace_first_line_has(blis_slice head, const char *text) {
  const char *end = memchr(head.data, '\n', head.length);
  size_t line = end != NULL ? (size_t)(end - head.data) : head.length;
  size_t length = strlen(text);
  for (size_t i = 0; i + length <= line; i++) {
    if (memcmp(head.data + i, text, length) == 0) {
      return true;
    }
  }
  return false;
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

/* The first bytes of a file, as many as there are up to HEAD_SIZE. */
static blis_status read_head(const blis_alloc *alloc, const char *path,
                             char *head, size_t *length, blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis_input_open(alloc, path, &input, error));
  blis_status status;
  size_t got;
  *length = 0;
  do {
    status = blis_input_read(input, head + *length, HEAD_SIZE - *length, &got,
                             error);
    *length += status == BLIS_OK ? got : 0;
  } while (status == BLIS_OK && got > 0 && *length < HEAD_SIZE);
  blis_input_close(input);
  return status;
}

static blis_slice skip_blank_start(const char *head, size_t length) {
  size_t start = 0;
  if (length >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) {
    start = 3; /* byte order mark */
  }
  while (start < length && strchr(" \t\r\n", head[start]) != NULL) {
    start++;
  }
  return (blis_slice){head + start, length - start};
}

static blis_status recognise(const blis_alloc *alloc, const char *path,
                             const blis__trace_format **format,
                             blis_error *error) {
  char names[NAMES_SIZE];
  if (strcmp(path, "-") == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a trace from standard input needs its format named: %s",
                     list_names(names));
  }
  char head[HEAD_SIZE];
  size_t length;
  blis_status status = read_head(alloc, path, head, &length, error);
  if (status == BLIS_ERR_IO) {
    bool is_stem;
    BLIS_TRY(blis__trace_v2_find_stem(alloc, path, &is_stem, error));
    if (is_stem) {
      *format = &blis__trace_v2;
      return BLIS_OK;
    }
  }
  BLIS_TRY(status);
  blis_slice start = skip_blank_start(head, length);
  for (size_t i = 0; i < FORMATS; i++) {
    if (formats[i]->recognise(start)) {
      *format = formats[i];
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s: %s; known formats are %s", path,
                   start.length == 0 ? "the file is empty"
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

static blis_status read_as(const blis__trace_format *format,
                           const blis_alloc *alloc, const char *path,
                           const blis_trace_options *options,
                           blis_workload *workload, blis_error *error) {
  blis__trace_job job = {.alloc = alloc,
                         .path = path,
                         .options = options,
                         .limit =
                             options->limit > 0 ? options->limit : INT64_MAX,
                         .workload = workload};
  BLIS_TRY(format->read(&job, error));
  if (blis_workload_describe(workload, "%s trace %s", format->name,
                             blis__trace_file_name(path)) != BLIS_OK ||
      blis_workload_seal(workload) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (blis_workload_count(workload) == 0) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: the trace has no rows", path);
  }
  return BLIS_OK;
}

blis_status blis_trace_read(const blis_alloc *alloc, const char *path,
                            const blis_trace_options *options,
                            blis_workload **workload, blis_error *error) {
  const blis_trace_options defaults = {0};
  options = options != NULL ? options : &defaults;
  BLIS_TRY(check_options(options, error));
  const blis__trace_format *format;
  if (options->format != NULL) {
    BLIS_TRY(find_format(options->format, &format, error));
  } else {
    BLIS_TRY(recognise(alloc, path, &format, error));
  }
  blis_workload *made = blis_workload_new(alloc);
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  blis_status status = read_as(format, alloc, path, options, made, error);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return status;
  }
  *workload = made;
  return BLIS_OK;
}
