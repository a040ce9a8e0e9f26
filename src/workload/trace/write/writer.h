/*
 * writer.h - the interface of writers of trace formats; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_WRITE_WRITER_H
#define BLIS_WORKLOAD_TRACE_WRITE_WRITER_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/containers/map.h"
#include "base/format/output.h"
#include "workload/trace/write/write.h"

/* A workload that is being written. */
typedef struct blis__trace_writing {
  const blis_alloc *alloc;
  const char *path;
  /* Either a list or a stream of requests, and the table of their strings. */
  const blis_workload *list; /* NULL for a stream */
  struct blis_trace_stream *stream;
  const blis_intern *strings;
  const blis_trace_write_options *options;
  blis_map streams; /* numbers of streams; see segments.h */
  /*
   * Prompts share only the prefix of their group, of prefix_tokens tokens, so segments need not be
   * written.
   */
  bool is_by_group;
  /* Properties that at least one request has. */
  bool has_limits; /* max_output_tokens that differ from output_tokens */
  bool has_slo_targets;
  bool has_adapters;
  bool has_cascades;
  bool has_logprobs;
  bool has_think_times;
  bool has_numbers; /* request numbers that cannot be derived from the ids in the file */
} blis__trace_writing;

typedef struct blis__trace_writer {
  const char *name;
  /* All requests of a group must have the same prefix. */
  bool needs_even_groups;
  blis_status (*write)(blis__trace_writing *w, blis_error *error);
} blis__trace_writer;

extern const blis__trace_writer blis__trace_writer_v2;
extern const blis__trace_writer blis__trace_writer_routesim;

/*
 * Examines all requests before the first one is written: checks them, and sets is_by_group and the
 * properties of at least one request.
 */
BLIS_MUSTUSE blis_status blis__trace_look_at_all(blis__trace_writing *w, bool needs_even,
                                                 blis_error *error);

/* Appends the row of request index; fails only with BLIS_ERR_NOMEM. */
typedef blis_status blis__trace_row_fn(blis__trace_writing *w, size_t index,
                                       const blis_request *request, blis_buffer *buffer);

/*
 * Writes head and every row to a new file, which the caller commits or
 * discards.
 */
BLIS_MUSTUSE blis_status blis__trace_write_rows(blis__trace_writing *w, const char *path,
                                                const char *head, blis__trace_row_fn *row,
                                                blis_output **output, blis_error *error);

/* Returns the id in the file of the request with this index. */
int64_t blis__trace_row_id(const blis__trace_writing *w, size_t index, const blis_request *request);

#endif
