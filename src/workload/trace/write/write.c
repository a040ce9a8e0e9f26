#include "workload/trace/write/write.h"

#include <string.h>

#include "base/format/packer.h"
#include "base/nearest.h"
#include "workload/trace/read/stream.h"
#include "workload/trace/rows/rows.h"
#include "workload/trace/write/writer.h"

enum { ENDING_SIZE = 32 };

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

static blis_status find_named(const char *name, const blis__trace_writer **writer,
                              blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < WRITERS; i++) {
    if (strcmp(writers[i]->name, name) == 0) {
      *writer = writers[i];
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, writers[i]->name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "cannot write traces in the format '%s'%s", name,
                   blis_nearest_suggest(&nearest).text);
}

/* Returns the extension, for example ".csv" for "a/b.csv.gz"; "" without a dot. Long extensions
   are truncated. */
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

static blis_status find_by_path(const char *path, const blis__trace_writer **writer,
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
  if (strcmp(path, "-") == 0) { /* "-" is one file, not a pair */
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
                   "%s: cannot tell the trace format from the name '%s'; expected .jsonl "
                   "(routesim), or .csv, .yaml or no extension (tracev2)",
                   path, ending);
}

static blis_status check_path(const char *path, blis_error *error) {
  if (*blis__trace_file_name(path) == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID, "a trace needs a file name; '%s' is not one", path);
  }
  return BLIS_OK;
}

/* Writing. */

static blis_status write_trace(blis__trace_writing *w, blis_error *error) {
  const blis__trace_writer *writer = NULL;
  BLIS_TRY(check_path(w->path, error));
  if (w->options->format != NULL) {
    BLIS_TRY(find_named(w->options->format, &writer, error));
  } else {
    BLIS_TRY(find_by_path(w->path, &writer, error));
  }
  BLIS_TRY(blis__trace_look_at_all(w, writer->needs_even_groups, error));
  blis_map_init(&w->streams, w->alloc);
  blis_status status = writer->write(w, error);
  blis_map_deinit(&w->streams);
  return status;
}

blis_status blis_trace_write(const blis_alloc *alloc, const char *path,
                             const blis_workload *workload, const blis_trace_write_options *options,
                             blis_error *error) {
  const blis_trace_write_options defaults = {0};
  blis__trace_writing w = {.alloc = alloc,
                           .path = path,
                           .list = workload,
                           .strings = blis_workload_strings(workload),
                           .options = options != NULL ? options : &defaults};
  return write_trace(&w, error);
}

blis_status blis_trace_stream_write(const blis_alloc *alloc, const char *path,
                                    blis_trace_stream *stream,
                                    const blis_trace_write_options *options, blis_error *error) {
  const blis_trace_write_options defaults = {0};
  const blis_workload *about = blis_trace_stream_about(stream);
  blis__trace_writing w = {.alloc = alloc,
                           .path = path,
                           .stream = stream,
                           .strings = blis_workload_strings(about),
                           .options = options != NULL ? options : &defaults};
  return write_trace(&w, error);
}
