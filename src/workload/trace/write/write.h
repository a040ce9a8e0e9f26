/*
 * write.h - writes a workload as a trace file, which trace.h reads back.
 *
 *   tracev2   <stem>.csv and its header <stem>.yaml, in the form of BLIS
 *   routesim  compact JSONL, the format of RouteSim
 *
 * Reading the file returns the same requests with the same shared content. Values that a format
 * cannot represent are written to additional columns or keys of blis, after the standard ones and
 * only if needed; other readers of the format ignore them. Content is renumbered 1, 2, 3, ..., so
 * equal workloads produce equal files.
 *
 * A file appears when it is complete (base/output.h); for a pair, the data file
 * appears before the header. If the path ends with .gz or .zst, the data are
 * compressed. "-" is standard output, for routesim.
 */
#ifndef BLIS_WORKLOAD_TRACE_WRITE_WRITE_H
#define BLIS_WORKLOAD_TRACE_WRITE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/* Outcome of a request. */
typedef enum blis_trace_status {
  BLIS_TRACE_UNKNOWN, /* the request was not run */
  BLIS_TRACE_OK,
  BLIS_TRACE_TIMEOUT,
  BLIS_TRACE_ERROR,     /* error of a real server */
  BLIS_TRACE_INCOMPLETE /* anything else */
} blis_trace_status;

typedef struct blis_trace_outcome {
  blis_trace_status status;
  int64_t first_chunk_us; /* time of its first token; 0 = never */
  int64_t last_chunk_us;  /* time of its last token so far; 0 = never */
  /* The members below are for requests to a real server (is_observed of the options). */
  int64_t sent_us;
  uint32_t chunks;
  uint32_t server_input_tokens; /* 0 = unknown */
  uint32_t output_tokens;
  const char *problem; /* borrowed; NULL = none */
  const char *finish;  /* "stop", ...; NULL = none */
} blis_trace_outcome;

/* Zeroed options are the defaults. Everything is borrowed. */
typedef struct blis_trace_write_options {
  /*
   * NULL = by the extension of the path (.jsonl for routesim; .csv, .yaml, or none for tracev2);
   * for "-", routesim.
   */
  const char *format;
  bool renumber;       /* ids are positions in the file, as in BLIS */
  bool needs_requests; /* return BLIS_ERR_INVALID if there are no requests */
  /*
   * The members below are for tracev2. One outcome per request, or NULL. With outcomes, the request
   * numbers of a run are kept, in an additional column if necessary.
   */
  const blis_trace_outcome *outcomes;
  bool is_replay;   /* mode "replayed" instead of "generated" */
  bool is_observed; /* mode "real"; with outcomes */
  bool has_seed;
  int64_t seed;
  const blis_goodput_target *targets; /* ordered by class */
  size_t target_count;
} blis_trace_write_options;

/*
 * Writes all requests of a sealed workload in order of arrival. options may be NULL. Returns
 * BLIS_ERR_IO, or BLIS_ERR_INVALID for a format or path that cannot be written and for a request
 * number that is not unique.
 */
BLIS_MUSTUSE blis_status blis_trace_write(const blis_alloc *alloc, const char *path,
                                          const blis_workload *workload,
                                          const blis_trace_write_options *options,
                                          blis_error *error);

/* Like blis_trace_write, for a stream, which is read twice. options->outcomes must be NULL. */
struct blis_trace_stream;
BLIS_MUSTUSE blis_status blis_trace_stream_write(const blis_alloc *alloc, const char *path,
                                                 struct blis_trace_stream *stream,
                                                 const blis_trace_write_options *options,
                                                 blis_error *error);

/* Names of the formats, index < count; static. */
size_t blis_trace_write_format_count(void);
const char *blis_trace_write_format_name(size_t index);

#endif
