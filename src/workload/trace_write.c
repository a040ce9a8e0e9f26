#include "workload/trace_write.h"

#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/packer.h"
#include "workload/trace_format.h"
#include "workload/trace_writer.h"

enum { FLUSH_SIZE = 64 * 1024, NAMES_SIZE = 64, ENDING_SIZE = 32 };

static const blis__trace_writer *const writers[] = {
    &blis__trace_writer_v2,
    &blis__trace_writer_routesim,
};

enum { WRITERS = sizeof writers / sizeof *writers };

size_t blis_trace_write_format_count(void) {
  return WRITERS;
}

const char *blis_trace_write_format_name(size_t index) {
  return writers[index]->name;
}

/* Which format. */

static blis_status find_named(const char *name,
                              const blis__trace_writer **writer,
                              blis_error *error) {
  char names[NAMES_SIZE] = "";
  for (size_t i = 0; i < WRITERS; i++) {
    if (strcmp(writers[i]->name, name) == 0) {
      *writer = writers[i];
      return BLIS_OK;
    }
    blis_word_list_add(names, sizeof names, writers[i]->name);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "traces cannot be written in the format \"%s\"; allowed "
                   "are %s",
                   name, names);
}

/* ".csv" of "a/b.csv.gz"; "" without a dot. Long ones are cut. */
static void ending_of(const char *path, char ending[ENDING_SIZE]) {
  const char *name = blis__trace_file_name(path);
  size_t length;
  blis_packing_of(name, &length);
  size_t dot = length;
  while (dot > 0 && name[dot - 1] != '.') {
    dot--;
  }
  size_t size = dot > 0 ? length - (dot - 1) : 0;
  size = size < ENDING_SIZE ? size : ENDING_SIZE - 1;
  memcpy(ending, name + (dot > 0 ? dot - 1 : 0), size);
  ending[size] = '\0';
}

static blis_status find_by_path(const char *path,
                                const blis__trace_writer **writer,
                                blis_error *error) {
  static const struct {
    const char *ending;
    const blis__trace_writer *writer;
  } endings[] = {
      {"", &blis__trace_writer_v2},
      {".csv", &blis__trace_writer_v2},
      {".yaml", &blis__trace_writer_v2},
      {".yml", &blis__trace_writer_v2},
      {".jsonl", &blis__trace_writer_routesim},
  };
  if (strcmp(path, "-") == 0) { /* one file, not a pair */
    *writer = &blis__trace_writer_routesim;
    return BLIS_OK;
  }
  char ending[ENDING_SIZE];
  ending_of(path, ending);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (strcmp(ending, endings[i].ending) == 0) {
      *writer = endings[i].writer;
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: the format of a trace to be written is not known from "
                   "\"%s\"; known are .jsonl (routesim), .csv, .yaml and "
                   "nothing (tracev2)",
                   path, ending);
}

static blis_status check_path(const char *path, blis_error *error) {
  if (*blis__trace_file_name(path) == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a trace needs the name of a file to be written to; "
                     "\"%s\" is none",
                     path);
  }
  return BLIS_OK;
}

/* What the workload needs. */

static blis_status check_numbers(const blis__trace_writing *w,
                                 blis_map *numbers, blis_error *error) {
  size_t count = blis_workload_count(w->workload);
  for (size_t i = 0; i < count; i++) {
    int64_t number = blis_workload_request(w->workload, i)->number;
    uint64_t *place;
    bool is_new;
    if (blis_map_add(numbers, (uint64_t)number, 0, &place, &is_new) !=
        BLIS_OK) {
      return blis_fail_nomem(error);
    }
    if (!is_new || number < 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: the number %lld of a request %s; ids in a trace "
                       "must differ and be at least 0 (or let them be given "
                       "anew)",
                       w->path, (long long)number,
                       is_new ? "is negative" : "is there twice");
    }
  }
  return BLIS_OK;
}

static bool are_numbers_ascending(const blis_workload *workload) {
  int64_t last = -1;
  for (size_t i = 0; i < blis_workload_count(workload); i++) {
    int64_t number = blis_workload_request(workload, i)->number;
    if (number <= last) {
      return false;
    }
    last = number;
  }
  return true;
}

static blis_status check_ids(const blis__trace_writing *w, blis_error *error) {
  if (w->options->renumber || are_numbers_ascending(w->workload)) {
    return BLIS_OK;
  }
  blis_map numbers;
  blis_map_init(&numbers, w->alloc);
  blis_status status = check_numbers(w, &numbers, error);
  blis_map_deinit(&numbers);
  return status;
}

/* The prefix of a group as far as it is known. */
typedef struct group_prefix {
  bool is_known;
  uint32_t length_tokens; /* 0 = it has none */
  uint64_t stream;
} group_prefix;

/* Whether a request says the same about its group as those before it. */
static bool fits_group(const blis_request *request, bool needs_even,
                       group_prefix *prefix) {
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

/* Sets *is_by_group unless two groups have the same stream, say. */
static blis_status compare_groups(const blis__trace_writing *w, bool needs_even,
                                  group_prefix *prefixes, blis_map *groups,
                                  bool *is_by_group) {
  *is_by_group = false;
  for (size_t i = 0; i < blis_workload_count(w->workload); i++) {
    const blis_request *request = blis_workload_request(w->workload, i);
    if (request->prefix_group == 0) {
      if (request->segment_count > 0) {
        return BLIS_OK;
      }
      continue;
    }
    if (!fits_group(request, needs_even, &prefixes[request->prefix_group])) {
      return BLIS_OK;
    }
    if (request->segment_count > 0) {
      uint64_t *group;
      BLIS_TRY(blis_map_add(groups, request->segments[0].stream,
                            request->prefix_group, &group, NULL));
      if (*group != request->prefix_group) {
        return BLIS_OK;
      }
    }
  }
  *is_by_group = true;
  return BLIS_OK;
}

static blis_status compare_content(blis__trace_writing *w, bool needs_even) {
  size_t texts = blis_intern_count(blis_workload_strings(w->workload));
  group_prefix *prefixes = blis_alloc_zeroed(w->alloc, texts, sizeof *prefixes);
  if (prefixes == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis_map groups;
  blis_map_init(&groups, w->alloc);
  blis_status status =
      compare_groups(w, needs_even, prefixes, &groups, &w->is_by_group);
  blis_map_deinit(&groups);
  blis_alloc_free(w->alloc, prefixes, texts * sizeof *prefixes);
  return status;
}

static void note_features(blis__trace_writing *w) {
  for (size_t i = 0; i < blis_workload_count(w->workload); i++) {
    const blis_request *request = blis_workload_request(w->workload, i);
    w->has_limits =
        w->has_limits || request->max_output_tokens != request->output_tokens;
    w->has_slo_targets = w->has_slo_targets || request->slo_target_us != 0;
    w->has_adapters = w->has_adapters || request->adapter != 0;
    w->has_cascades = w->has_cascades || request->cascade != 0;
    w->has_logprobs = w->has_logprobs || request->mean_logprob != 0;
    w->has_think_times = w->has_think_times || request->has_think_time;
    w->has_numbers = w->has_numbers || (w->options->outcomes != NULL &&
                                        request->number != (int64_t)i);
  }
}

/* Rows. */

int64_t blis__trace_row_id(const blis__trace_writing *w, size_t index) {
  return w->options->renumber
             ? (int64_t)index
             : blis_workload_request(w->workload, index)->number;
}

static blis_status write_rows(blis__trace_writing *w, const char *head,
                              blis__trace_row_fn *row, blis_buffer *buffer,
                              blis_output *output, blis_error *error) {
  size_t count = blis_workload_count(w->workload);
  blis_buffer_string(buffer, head);
  for (size_t i = 0; i < count; i++) {
    if (row(w, i, buffer) != BLIS_OK || blis_buffer_status(buffer) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
    if (buffer->length >= FLUSH_SIZE) {
      BLIS_TRY(blis_output_write(output, blis_buffer_slice(buffer), error));
      blis_buffer_clear(buffer);
    }
  }
  if (blis_buffer_status(buffer) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return blis_output_write(output, blis_buffer_slice(buffer), error);
}

blis_status blis__trace_write_rows(blis__trace_writing *w, const char *path,
                                   const char *head, blis__trace_row_fn *row,
                                   blis_output **output, blis_error *error) {
  BLIS_TRY(blis_output_open(w->alloc, path, output, error));
  blis_buffer buffer;
  blis_buffer_init(&buffer, w->alloc);
  blis_status status = write_rows(w, head, row, &buffer, *output, error);
  blis_buffer_deinit(&buffer);
  if (status != BLIS_OK) {
    blis_output_discard(*output);
  }
  return status;
}

blis_status blis_trace_write(const blis_alloc *alloc, const char *path,
                             const blis_workload *workload,
                             const blis_trace_write_options *options,
                             blis_error *error) {
  const blis_trace_write_options defaults = {0};
  blis__trace_writing w = {.alloc = alloc,
                           .path = path,
                           .workload = workload,
                           .options = options != NULL ? options : &defaults};
  const blis__trace_writer *writer = NULL;
  BLIS_TRY(check_path(path, error));
  if (w.options->format != NULL) {
    BLIS_TRY(find_named(w.options->format, &writer, error));
  } else {
    BLIS_TRY(find_by_path(path, &writer, error));
  }
  BLIS_TRY(check_ids(&w, error));
  if (compare_content(&w, writer->needs_even_groups) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  note_features(&w);
  blis_map_init(&w.streams, alloc);
  blis_status status = writer->write(&w, error);
  blis_map_deinit(&w.streams);
  return status;
}
