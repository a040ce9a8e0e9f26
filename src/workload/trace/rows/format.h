/*
 * format.h - the interface of the reader of one trace format; for trace files only.
 *
 * A reader returns the rows of a file in file order. It collects properties of the
 * whole file (the earliest time, the length of a prefix) on the way, and settle
 * uses them to make a row final. Rows can be collected in a list, which is settled
 * at the end. Without a list, two readers are used: the first collects the
 * properties, the second receives the first and settles each row as it is read.
 *
 * A new format is one file that defines a blis__trace_format, and its name in the
 * map below; one that is a plain table is a rule of table.c in its place.
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

/* One trace while it is read. Everything is borrowed by the reader. */
typedef struct blis__trace_job {
  const blis_alloc *alloc;
  const char *path;
  const char *name; /* what messages call the file */
  const blis_trace_options *options;
  int64_t limit;           /* rows to read at most */
  blis_workload *workload; /* receives strings and notes */
  /* The file from its start; NULL = path names a pair without its endings. */
  blis_input *input;
  int64_t size_bytes; /* on the disk; -1 = it cannot be read twice */
  bool is_packed;
  bool is_whole; /* set by open: the rows can only be had all together */
} blis__trace_job;

typedef struct blis__trace_format {
  const char *name;
  const char *text;
  /* Whether a file that starts with head (some KB, unpacked) is of the format.
     NULL: when its first line has both marks. */
  bool (*recognise)(blis_slice head);
  const char *marks[2];
  /*
   * What a file of the format starts with ('{', '[', or 0 = a header row), and
   * strings in its start that explain why a file is not of it; NULL = the marks.
   */
  char start;
  const char *needs[2];
  const void *rule; /* parameters of the reader; may be NULL */
  /*
   * The columns, or the members of a row, that are read or ignored on purpose,
   * ending with NULL. Other fields are reported. NULL if the reader reports them
   * itself.
   */
  const char *const *fields;
  size_t reader_size; /* of the state that every void *reader points to */
  /*
   * A reader is a structure that begins with a blis__trace_rows (rows.h), which
   * is set up; the rest is zero. Opens the input.
   */
  blis_status (*open)(void *reader, blis_error *error);
  /*
   * Reads the next row, as far as it is determined; *has_row is false at the end.
   * Its segments are the reader's until the next call.
   */
  blis_status (*next)(void *reader, blis_request *row, bool *has_row, blis_error *error);
  /*
   * Called when all rows were read and the input is closed: makes settle possible.
   * Not called for a reader that receives an earlier reader. NULL = nothing to do.
   */
  blis_status (*finish)(void *reader, blis_error *error);
  /*
   * Makes a row final; segments are its own, writable, and may get fewer. NULL if
   * rows are already final. Arrivals must keep their order unless moves_unevenly is
   * set.
   */
  void (*settle)(const void *reader, blis_request *row, blis_segment *segments);
  /* After finish: whether settling may change the order. NULL = never. */
  bool (*moves_unevenly)(const void *reader);
  /*
   * After finish: whether rounds are the places of rows in their sessions, in
   * order of arrival. NULL = never.
   */
  bool (*numbers_rounds)(const void *reader);
  /*
   * Frees the reader's resources except its rows, opened or not; the caller owns
   * the reader's memory. NULL = no resources.
   */
  void (*close)(void *reader);
} blis__trace_format;

/* All formats, in the order in which they are recognised and listed. */
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

/* Whether a path names a tracev2 trace without ".csv". BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__trace_v2_find_stem(const blis_alloc *alloc, const char *path,
                                                  bool *is_stem, blis_error *error);

#endif
