/*
 * trace_options.h - the options of reading a trace file.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_TRACE_OPTIONS_H
#define BLIS_WORKLOAD_TRACE_ROWS_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed options are the defaults. */
typedef struct blis_trace_options {
  const char *format;         /* NULL = recognise it */
  int64_t limit;              /* at most this many rows from the start; 0 = all */
  uint32_t hash_block_tokens; /* tokens per hash id; 0 = the number of the format */
  /*
   * tracev2: path of the header file; NULL = in the folder of the data. The path to
   * read may name the data, the header, or both without ".csv" or ".yaml".
   */
  const char *header_path;
  /*
   * tracev2, observed traces: requests arrive at the recorded send times, in
   * microseconds since 1970, not on the clock of the arrival column.
   */
  bool keep_epoch;
  /*
   * Formats csv and jsonl: roles of columns, "timestamp=start,prompt=tokens_in";
   * columns.h lists the roles. NULL = by their names. If set, a file has one of
   * these formats.
   */
  const char *columns;
  const char *time_unit; /* of timestamps that are numbers: s, ms, us, ns; NULL = detect it */
} blis_trace_options;

#endif
