/*
 * write.h - writes a workload as a trace file, which trace.h reads back.
 *
 *   tracev2   <stem>.csv and its header <stem>.yaml, as BLIS writes them
 *   routesim  compact JSONL, the format of RouteSim
 *
 * Reading the file gives the same requests with the same shared content. Values
 * that a format cannot represent are written to our own columns or keys after the
 * standard ones, only when needed; other readers of the format ignore them. Content
 * gets new numbers, 1, 2, 3, ..., so equal workloads give equal files.
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

/* How a request ended. */
typedef enum blis_trace_status {
  BLIS_TRACE_UNKNOWN, /* it was not run */
  BLIS_TRACE_OK,
  BLIS_TRACE_TIMEOUT,
  BLIS_TRACE_ERROR,     /* of a real server */
  BLIS_TRACE_INCOMPLETE /* anything else */
} blis_trace_status;

typedef struct blis_trace_outcome {
  blis_trace_status status;
  int64_t first_chunk_us; /* when its first token came; 0 = never */
  int64_t last_chunk_us;  /* its last one so far; 0 = never */
  /* The rest is for requests that a real server has answered (is_observed of the options). */
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
   * NULL = by the end of the path (.jsonl for routesim; .csv, .yaml, or none for
   * tracev2); "-" is routesim.
   */
  const char *format;
  bool renumber;       /* ids are places in the file, as BLIS writes them */
  bool needs_requests; /* BLIS_ERR_INVALID without requests */
  /*
   * The rest is for tracev2. One outcome per request, or NULL. With outcomes
   * the numbers of a run are kept, in a column of our own if need be.
   */
  const blis_trace_outcome *outcomes;
  bool is_replay;   /* mode "replayed" instead of "generated" */
  bool is_observed; /* mode "real"; with outcomes */
  bool has_seed;
  int64_t seed;
  const blis_goodput_target *targets; /* in the order of their classes */
  size_t target_count;
} blis_trace_write_options;

/*
 * Writes all requests of a sealed workload in order of arrival. options may be
 * NULL. BLIS_ERR_IO; BLIS_ERR_INVALID for a format or path that cannot be
 * written and for a number that two requests have.
 */
BLIS_MUSTUSE blis_status blis_trace_write(const blis_alloc *alloc, const char *path,
                                          const blis_workload *workload,
                                          const blis_trace_write_options *options,
                                          blis_error *error);

/* The same with a stream, which is read twice; options->outcomes is NULL. */
struct blis_trace_stream;
BLIS_MUSTUSE blis_status blis_trace_stream_write(const blis_alloc *alloc, const char *path,
                                                 struct blis_trace_stream *stream,
                                                 const blis_trace_write_options *options,
                                                 blis_error *error);

/* The names of the formats, index < count; static. */
size_t blis_trace_write_format_count(void);
const char *blis_trace_write_format_name(size_t index);

#endif
