/*
 * file.h - session graphs from files.
 *
 *   weka      JSONL: one conversation per line, {id, requests: [{t, in, out,
 *             hash_ids, api_time, ...}, subagents]} (weka.h)
 *   agentic-mooncake  JSONL: one request per line, {request_id, wait_for,
 *             input_length, output_length, hash_ids, delay, tool_wait_ms}
 *   applied-compute   JSONL: one task per line, {num_turns, input_prompt_length,
 *             assistant_response_length: [], tool_call_output_length: [],
 *             tool_call_latency: [], final_assistant_response_length}
 *   sharegpt  JSON: a list of conversations with messages
 *   spans     JSONL: OpenTelemetry spans with gen-ai attributes, one span or session per line; or
 *             OTLP JSON
 *
 * The path of a weka corpus may be a folder. Each .json file in it is a
 * conversation, and so is each line of a .jsonl file.
 *
 * A file is read twice: once to check every row and to collect the properties of the whole file,
 * and once graph by graph during the run. In weka, applied-compute, and spans by session, each line
 * is a whole graph. These formats take 60 to 100 bytes of memory per session, and 50 bytes per hash
 * id that is global to the corpus. Files of other formats are kept in memory.
 *
 * Errors contain the file and line. A file with an invalid row is rejected.
 */
#ifndef BLIS_WORKLOAD_GRAPH_FILE_H
#define BLIS_WORKLOAD_GRAPH_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/graph/graph.h"

/* Dialects: how different tools interpret weka corpora; see weka.h. */
typedef enum blis_graph_reading {
  BLIS_GRAPH_DESIGN,
  BLIS_GRAPH_AIPERF,
  BLIS_GRAPH_INFERENCE_PERF,
  BLIS_GRAPH_GUIDELLM,
  BLIS_GRAPH_GO_BLIS,
  BLIS_GRAPH_LLMD_ROUTER,
  BLIS_GRAPH_AISIMULATE
} blis_graph_reading;

/* Selects which recorded delay is used as the delay before a request. */
typedef enum blis_graph_delays {
  BLIS_GRAPH_DELAYS_USUAL,      /* default of the dialect */
  BLIS_GRAPH_DELAYS_COMPLETION, /* from the last end of its predecessors to its start */
  BLIS_GRAPH_DELAYS_STARTS,     /* from the start of the previous request to its start */
  BLIS_GRAPH_DELAYS_THINK,      /* its think_time */
  BLIS_GRAPH_DELAYS_NONE
} blis_graph_delays;

/* Reference of the times of nested requests. */
typedef enum blis_graph_nested {
  BLIS_GRAPH_NESTED_AUTO, /* relative if any such time precedes its marker */
  BLIS_GRAPH_NESTED_RELATIVE,
  BLIS_GRAPH_NESTED_ABSOLUTE
} blis_graph_nested;

/* Maps the models recorded in a corpus to served models. */
typedef struct blis_graph_models {
  /* NULL: names are mapped to `served` in order of appearance, cycling. */
  const char *const *recorded;
  const char *const *served;
  size_t count; /* 0 = recorded names are not used */
} blis_graph_models;

/* Zeroed options are the defaults. */
typedef struct blis_graph_file_options {
  const char *format;         /* NULL = detect it */
  int64_t limit;              /* maximum number of graphs from the start of the file; 0 = all */
  uint32_t hash_block_tokens; /* 0 = the number of the file or format */
  blis_graph_reading reading;
  blis_graph_delays delays;
  blis_graph_nested nested;
  int64_t delay_cap_us;     /* maximum delay; 0 = no limit */
  int64_t idle_gap_cap_us;  /* maximum gap between starts; 0 = no limit */
  double bytes_per_token;   /* for messages without token counts; 0 = 4 */
  blis_graph_models models; /* copied */
} blis_graph_file_options;

typedef struct blis_graph_file blis_graph_file;

/*
 * Reads the file once. Copies *alloc, path, and *options. Borrows strings, to which the file's
 * strings are added. The caller owns *file. Returns BLIS_ERR_IO, BLIS_ERR_PARSE, or
 * BLIS_ERR_INVALID with details.
 */
BLIS_MUSTUSE blis_status blis_graph_file_open(const blis_alloc *alloc, const char *path,
                                              const blis_graph_file_options *options,
                                              blis_intern *strings, blis_graph_file **file,
                                              blis_error *error);

/* Opens the same file for another reader, without repeating the first pass. */
BLIS_MUSTUSE blis_status blis_graph_file_open_again(const blis_graph_file *known,
                                                    const blis_alloc *alloc, blis_intern *strings,
                                                    blis_graph_file **file, blis_error *error);

/* NULL is allowed. */
void blis_graph_file_close(blis_graph_file *file);

/* Returns a feed of all graphs of the file, starting with the first; borrows the file. */
blis_graph_feed blis_graph_file_feed(blis_graph_file *file);

const char *blis_graph_file_format(const blis_graph_file *file);
int64_t blis_graph_file_count(const blis_graph_file *file);
int64_t blis_graph_file_requests(const blis_graph_file *file);

/* Returns whether its graphs have recorded starts. */
bool blis_graph_file_has_starts(const blis_graph_file *file);

/* Returns a model that requests of the file may use; NULL after the last index. */
const char *blis_graph_file_model(const blis_graph_file *file, size_t index);

/* Returns note number index about the file, for the user; NULL after the last note. */
const char *blis_graph_file_note(const blis_graph_file *file, size_t index);

/* Names of the formats, index < count; static. */
size_t blis_graph_format_count(void);
const char *blis_graph_format_name(size_t index);
const char *blis_graph_format_text(size_t index);
const char *blis_graph_format_needs(size_t index); /* the members by which it is recognised */

#endif
