/*
 * file.h - session graphs from files.
 *
 *   weka      JSONL: a conversation per line, {id, requests: [{t, in, out,
 *             hash_ids, api_time, ...}, subagents]} (weka.h)
 *   agentic-mooncake  JSONL: a request per line, {request_id, wait_for,
 *             input_length, output_length, hash_ids, delay, tool_wait_ms}
 *   mooncake-delta    JSONL: a turn per line, {session_id, timestamp or delay,
 *             input_length of what is new, output_length, hash_ids}
 *   applied-compute   JSONL: a task per line, {num_turns, input_prompt_length,
 *             assistant_response_length: [], tool_call_output_length: [],
 *             tool_call_latency: [], final_assistant_response_length}
 *   sharegpt  JSON: a list of conversations with messages
 *   spans     JSONL: spans of OpenTelemetry with gen-ai attributes, one or a
 *             session per line; or OTLP JSON
 *
 * The path of a weka corpus may be a folder. Each .json file in it is a
 * conversation, and so is each line of a .jsonl file.
 *
 * A file is read twice: once to check every row and to collect the properties of
 * the whole file, and once graph by graph during the run. In weka, applied-compute,
 * and spans by session, each line is a whole graph. Memory is then 60 to 100 bytes
 * per session, and 50 per hash id that is global to the corpus. Files of other
 * formats are kept in memory.
 *
 * Errors name file and line. A file with one bad row is rejected.
 */
#ifndef BLIS_WORKLOAD_GRAPH_FILE_H
#define BLIS_WORKLOAD_GRAPH_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/graph/graph.h"

/* How a tool reads weka corpora; see weka.h. */
typedef enum blis_graph_reading {
  BLIS_GRAPH_DESIGN,
  BLIS_GRAPH_AIPERF,
  BLIS_GRAPH_INFERENCE_PERF,
  BLIS_GRAPH_GUIDELLM,
  BLIS_GRAPH_GO_BLIS,
  BLIS_GRAPH_LLMD_ROUTER,
  BLIS_GRAPH_AISIMULATE
} blis_graph_reading;

/* Which of several recorded delays is used as the delay before a request. */
typedef enum blis_graph_delays {
  BLIS_GRAPH_DELAYS_USUAL,      /* default of the reading */
  BLIS_GRAPH_DELAYS_COMPLETION, /* last end of its predecessors to its start */
  BLIS_GRAPH_DELAYS_STARTS,     /* start of the request before to its start */
  BLIS_GRAPH_DELAYS_THINK,      /* its think_time */
  BLIS_GRAPH_DELAYS_NONE
} blis_graph_delays;

/* What times of nested requests are relative to. */
typedef enum blis_graph_nested {
  BLIS_GRAPH_NESTED_AUTO, /* relative if one is before its marker */
  BLIS_GRAPH_NESTED_RELATIVE,
  BLIS_GRAPH_NESTED_ABSOLUTE
} blis_graph_nested;

/* What serves the models that a corpus recorded. */
typedef struct blis_graph_models {
  /* NULL: names are mapped to served in the order in which they appear, cycling. */
  const char *const *recorded;
  const char *const *served;
  size_t count; /* 0 = recorded names are not used */
} blis_graph_models;

/* Zeroed options are the defaults. */
typedef struct blis_graph_file_options {
  const char *format;         /* NULL = recognise it */
  int64_t limit;              /* at most this many graphs from the start; 0 = all */
  uint32_t hash_block_tokens; /* 0 = the number of the file or format */
  blis_graph_reading reading;
  blis_graph_delays delays;
  blis_graph_nested nested;
  int64_t delay_cap_us;     /* no delay is longer; 0 = none */
  int64_t idle_gap_cap_us;  /* no gap between starts is longer; 0 = none */
  double bytes_per_token;   /* of messages without token counts; 0 = 4 */
  blis_graph_models models; /* copied */
} blis_graph_file_options;

typedef struct blis_graph_file blis_graph_file;

/*
 * Reads the file once. Copies *alloc, path and *options; strings is borrowed, and
 * strings are added to it. The caller owns *file. BLIS_ERR_IO, BLIS_ERR_PARSE or
 * BLIS_ERR_INVALID with the details.
 */
BLIS_MUSTUSE blis_status blis_graph_file_open(const blis_alloc *alloc, const char *path,
                                              const blis_graph_file_options *options,
                                              blis_intern *strings, blis_graph_file **file,
                                              blis_error *error);

/* The same file for another reader, without reading it through once more. */
BLIS_MUSTUSE blis_status blis_graph_file_open_again(const blis_graph_file *known,
                                                    const blis_alloc *alloc, blis_intern *strings,
                                                    blis_graph_file **file, blis_error *error);

/* NULL is allowed. */
void blis_graph_file_close(blis_graph_file *file);

/* All graphs of the file, from the first one on; borrows it. */
blis_graph_feed blis_graph_file_feed(blis_graph_file *file);

const char *blis_graph_file_format(const blis_graph_file *file);
int64_t blis_graph_file_count(const blis_graph_file *file);
int64_t blis_graph_file_requests(const blis_graph_file *file);

/* Do its graphs have recorded starts? */
bool blis_graph_file_has_starts(const blis_graph_file *file);

/* The models that its requests may want, index < count; NULL after the last. */
const char *blis_graph_file_model(const blis_graph_file *file, size_t index);

/* Returns note number index about the file, for the user; NULL after the last note. */
const char *blis_graph_file_note(const blis_graph_file *file, size_t index);

/* The names of the formats, index < count; static. */
size_t blis_graph_format_count(void);
const char *blis_graph_format_name(size_t index);
const char *blis_graph_format_text(size_t index);
const char *blis_graph_format_needs(size_t index); /* the members by which it is recognised */

#endif
