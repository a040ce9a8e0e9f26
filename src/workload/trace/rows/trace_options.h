/*
 * trace_options.h - the options for reading a trace file.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_TRACE_OPTIONS_H
#define BLIS_WORKLOAD_TRACE_ROWS_TRACE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed options are the defaults. */
typedef struct blis_trace_options {
  const char *format;         /* NULL = detect it */
  int64_t limit;              /* maximum number of rows from the start; 0 = all */
  uint32_t hash_block_tokens; /* tokens per hash id; 0 = default of the format */
  /*
   * tracev2: path of the header file; NULL = in the folder of the data. The path to read may be
   * that of the data or the header, or the common path without ".csv" or ".yaml".
   */
  const char *header_path;
  /*
   * For observed tracev2 traces: requests arrive at the recorded send times, in microseconds since
   * 1970, instead of at the times in the arrival column.
   */
  bool keep_epoch;
  /*
   * Formats csv and jsonl: roles of columns, "timestamp=start,prompt=tokens_in"; columns.h lists
   * the roles. NULL = assigned by column names. If set, the file must have one of these formats.
   */
  const char *columns;
  const char *time_unit; /* unit of numeric timestamps: s, ms, us, ns; NULL = detect it */
} blis_trace_options;

#endif
