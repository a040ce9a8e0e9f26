/*
 * format.h - the interface of readers of trace formats; for trace files only.
 *
 * A reader returns the rows of a file in file order. Meanwhile, it collects properties of the whole
 * file (such as the earliest time or the length of a prefix), which settle uses to complete a row.
 * If rows are collected in a list, the list is settled at the end. Without a list, two readers are
 * used: the first collects the properties, and the second gets access to the first and settles each
 * row as it is read.
 *
 * To add a format, write a file that defines a blis__trace_format, and add its name to the map
 * below. For a plain table, add a rule to table.c instead of a file.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_FORMAT_H
#define BLIS_WORKLOAD_TRACE_ROWS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/format/input.h"
#include "base/slice.h"
#include "workload/trace/rows/trace_options.h"
#include "workload/workload.h"

/* A trace that is being read. The reader borrows everything. */
typedef struct blis__trace_job {
  const blis_alloc *alloc;
  const char *path;
  const char *name; /* name of the file in messages */
  const blis_trace_options *options;
  int64_t limit;           /* maximum number of rows to read */
  blis_workload *workload; /* receives strings and notes */
  /* The file, at its start; NULL if path is a pair of files without extensions. */
  blis_input *input;
  int64_t size_bytes; /* size on disk; -1 = the file cannot be read twice */
  bool is_packed;
  bool is_whole; /* set by open: rows are available only after the whole file has been read */
} blis__trace_job;

typedef struct blis__trace_format {
  const char *name;
  const char *text;
  /* Returns whether a file that starts with head (several KB, decompressed) has the format.
     NULL: the first line must contain both marks. */
  bool (*recognise)(blis_slice head);
  const char *marks[2];
  /*
   * First character of a file of the format ('{', '[', or 0 = a header row), and strings that its
   * start must contain, for messages about other files; NULL = the marks.
   */
  char start;
  const char *needs[2];
  const void *rule; /* parameters of the reader; may be NULL */
  /*
   * Columns, or members of a row, that are read or deliberately ignored; ends with NULL. All other
   * fields are reported. NULL if the reader itself reports unknown fields.
   */
  const char *const *fields;
  size_t reader_size; /* size of the state that every void *reader points to */
  /*
   * Opens the input. A reader is a struct whose first member is an initialized blis__trace_rows
   * (rows.h); the rest is zeroed.
   */
  blis_status (*open)(void *reader, blis_error *error);
  /*
   * Reads the next row, possibly incomplete; *has_row is false at the end. The reader owns the
   * row's segments, which are valid until the next call.
   */
  blis_status (*next)(void *reader, blis_request *row, bool *has_row, blis_error *error);
  /*
   * Called when all rows have been read and the input is closed. Makes settle available. Not called
   * for a reader that uses an earlier reader. NULL = nothing to do.
   */
  blis_status (*finish)(void *reader, blis_error *error);
  /*
   * Completes a row. segments are the row's own segments; the function may change them and reduce
   * their number. NULL if rows are already complete. Arrivals must keep their order unless
   * moves_unevenly is set.
   */
  void (*settle)(const void *reader, blis_request *row, blis_segment *segments);
  /* Returns, after finish, whether settling may change the order. NULL = never. */
  bool (*moves_unevenly)(const void *reader);
  /*
   * Returns, after finish, whether round numbers are the positions of rows in their sessions, in
   * order of arrival. NULL = never.
   */
  bool (*numbers_rounds)(const void *reader);
  /*
   * Frees the reader's resources except its rows, whether or not it was opened. The caller owns the
   * memory of the reader. NULL = no resources.
   */
  void (*close)(void *reader);
} blis__trace_format;

/* All formats, in the order in which they are tested and listed. */
#define BLIS__TRACE_FORMAT_MAP(XX)                                                                 \
  XX(mooncake)                                                                                     \
  XX(azure)                                                                                        \
  XX(v2)                                                                                           \
  XX(burstgpt)                                                                                     \
  XX(bailian)                                                                                      \
  XX(routesim)                                                                                     \
  XX(vllm)                                                                                         \
  XX(llmservingsim)                                                                                \
  XX(vidur)                                                                                        \
  XX(splitwise)                                                                                    \
  XX(otel)                                                                                         \
  XX(inference_perf)                                                                               \
  XX(guidellm)                                                                                     \
  XX(csv)                                                                                          \
  XX(jsonl)

#define XX(name) extern const blis__trace_format blis__trace_##name;
BLIS__TRACE_FORMAT_MAP(XX)
#undef XX

/* Determines whether a path is a tracev2 trace without ".csv". Returns BLIS_ERR_NOMEM on
   failure. */
BLIS_MUSTUSE blis_status blis__trace_v2_find_stem(const blis_alloc *alloc, const char *path,
                                                  bool *is_stem, blis_error *error);

#endif
