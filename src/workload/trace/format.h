/*
 * trace_format.h - what a reader of one trace format is; for trace files only.
 *
 * A reader gives the rows of a file one after the other, in the order of the
 * file. What can only be known when all rows were seen (the earliest time, the
 * length of a prefix) it learns on the way, and settle then makes a row final.
 * So rows can go through a list, which is settled at the end, or, without being
 * kept, through two readers: the first learns, the second is given the first
 * and settles each row as it comes.
 *
 * A new format is one file that defines a blis__trace_format, and its line in
 * the table of trace_open.c.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMAT_H
#define BLIS_WORKLOAD_TRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/input.h"
#include "base/slice.h"
#include "workload/trace/trace.h"
#include "workload/workload.h"

/* One trace while it is read. Everything is borrowed by the reader. */
typedef struct blis__trace_job {
  const blis_alloc *alloc;
  const char *path;
  const char *name; /* what messages call the file */
  const blis_trace_options *options;
  int64_t limit;           /* rows to read at most */
  blis_workload *workload; /* where texts and notes go */
  /* The file from its start; NULL = path is that of a pair without ending. */
  blis_input *input;
  int64_t size_bytes; /* on the disk; -1 = it cannot be read twice */
  bool is_packed;
  bool is_whole; /* set by open: the rows can only be had all together */
  /*
   * A reader that has finished the same file, for one that reads it again;
   * NULL the first time. The second one says nothing twice: it checks only
   * what it has to, and adds no notes.
   */
  const void *known;
} blis__trace_job;

typedef struct blis__trace_format {
  const char *name;
  const char *text;
  /* Whether a file that starts with head (some KB, unpacked) is of the format.
   */
  bool (*recognise)(blis_slice head);
  size_t reader_size; /* of the state behind every void *reader */
  /*
   * reader is all zero. Takes the input if it wants it. Is followed by close
   * even when it fails.
   */
  blis_status (*open)(blis__trace_job *job, void *reader, blis_error *error);
  /*
   * The next row, as far as it can be known; *has_row is false at the end. Its
   * segments are the reader's until the next call.
   */
  blis_status (*next)(void *reader, blis_request *row, bool *has_row,
                      blis_error *error);
  /*
   * All rows were read: closes the file and makes settle possible. With
   * job->known it is not called.
   */
  blis_status (*finish)(void *reader, blis_error *error);
  /*
   * Makes a row final; segments are its own, writable, and may get fewer. NULL
   * when rows already are. What it does to arrivals must keep their order
   * unless moves_unevenly says otherwise.
   */
  void (*settle)(const void *reader, blis_request *row, blis_segment *segments);
  /* After finish: whether settling may change the order. NULL = never. */
  bool (*moves_unevenly)(const void *reader);
  /*
   * After finish: whether rounds are the places of rows in their sessions, in
   * order of arrival. NULL = never.
   */
  bool (*numbers_rounds)(const void *reader);
  /* Lets go of what the reader holds; its memory is the caller's. */
  void (*close)(void *reader);
} blis__trace_format;

extern const blis__trace_format blis__trace_azure;
extern const blis__trace_format blis__trace_bailian;
extern const blis__trace_format blis__trace_burstgpt;
extern const blis__trace_format blis__trace_llmservingsim;
extern const blis__trace_format blis__trace_mooncake;
extern const blis__trace_format blis__trace_otel;
extern const blis__trace_format blis__trace_routesim;
extern const blis__trace_format blis__trace_splitwise;
extern const blis__trace_format blis__trace_v2;
extern const blis__trace_format blis__trace_vidur;
extern const blis__trace_format blis__trace_vllm;

/* Whether a path is that of a tracev2 trace but for ".csv". BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__trace_v2_find_stem(const blis_alloc *alloc,
                                                  const char *path,
                                                  bool *is_stem,
                                                  blis_error *error);

/* Whether head has the text somewhere in its first line, or anywhere. */
bool blis__trace_first_line_has(blis_slice head, const char *text);
bool blis__trace_head_has(blis_slice head, const char *text);

/* The name of a file without its folders. */
const char *blis__trace_file_name(const char *path);

/* The input of a job, which the caller now owns; may be NULL. */
blis_input *blis__trace_take_input(blis__trace_job *job);

/* Opens another file as the input of a job, in place of the one it has. */
BLIS_MUSTUSE blis_status blis__trace_change_input(blis__trace_job *job,
                                                  const char *path,
                                                  blis_error *error);

#endif
