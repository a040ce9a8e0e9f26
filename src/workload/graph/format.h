/*
 * format.h - the interface of readers of graph file formats; for graph files only.
 *
 * A reader returns the graphs of a file in order. Its first member is a blis__graph_rows, which the
 * caller initializes. A file is read several times, each time by a new reader. Properties of the
 * whole file are passed to later readers in blis__graph_known.
 */
#ifndef BLIS_WORKLOAD_GRAPH_FORMAT_H
#define BLIS_WORKLOAD_GRAPH_FORMAT_H

#include "base/format/json.h"
#include "base/format/text.h"
#include "workload/graph/file.h"
#include "workload/graph/folder.h"
#include "workload/graph/models.h"
#include "workload/unread.h"

/* Counts for notes; only the first reader counts. */
typedef struct blis__graph_known {
  bool is_first;
  bool has_starts;
  int64_t first_start_us;  /* earliest recorded start, if has_starts */
  bool nested_is_relative; /* weka only; valid after the first reader has finished */
  int64_t last_start_us;   /* of spans */
  bool is_unordered;       /* starts of spans are not in file order */
  int64_t requests;
  int64_t dropped_agents; /* agents without a request that starts them */
  int64_t empty_files;    /* number of empty files in a folder */
  int64_t rootless;       /* conversations without a request of their own */
  int64_t same_ids;       /* conversations whose id was already used */
  int64_t same_agents;    /* subagents whose id was already used */
  int64_t excess_ids;     /* requests with more hash ids than tokens */
  int64_t left_out;       /* rows or spans that are not requests */
  int64_t uncounted;      /* requests with neither a token count nor text */
  int64_t not_monotone;   /* prompts shorter than their context */
  int64_t estimated;      /* requests whose tokens were estimated from bytes */
  blis__unread unread;
} blis__graph_known;

/* The first member of every reader. */
typedef struct blis__graph_rows {
  const blis_alloc *alloc;
  const char *path;           /* path of the current file */
  blis__graph_folder *folder; /* folder that contains the file; NULL = none */
  bool is_whole;              /* the file is one JSON object, not one per line */
  bool is_spread;             /* JSON texts of the file span several lines */
  bool has_content;           /* some content of the file has been read */
  const blis_graph_file_options *options;
  blis_intern *strings;
  blis__graph_known *known;
  blis__graph_names *models;
  blis_text *text;
  blis_json json; /* of the line */
  blis_graph_builder builder;
} blis__graph_rows;

typedef struct blis__graph_format {
  const char *name;
  const char *text;
  const char *needs;  /* the members by which it is recognised */
  bool reads_folders; /* graphs do not span the files number of empty files in a folder */
  /* Returns whether a file that starts with head (several KB, decompressed) has this format. */
  bool (*recognise)(blis_slice head);
  size_t reader_size;
  /* Called after the rows have been initialized; NULL = nothing to do. */
  blis_status (*open)(void *reader, blis_error *error);
  /* Reads the next graph, which is valid until the next call. */
  blis_status (*next)(void *reader, blis_graph *graph, bool *done, blis_error *error);
  void (*close)(void *reader); /* NULL = no other resources */
} blis__graph_format;

/* In the order in which formats are tested. */
#define BLIS__GRAPH_FORMAT_MAP(XX)                                                                 \
  XX(weka)                                                                                         \
  XX(agentic_mooncake)                                                                             \
  XX(applied_compute)                                                                              \
  XX(sharegpt)                                                                                     \
  XX(spans)

#define XX(name) extern const blis__graph_format blis__graph_##name;
BLIS__GRAPH_FORMAT_MAP(XX)
#undef XX

/* Opens a file that can be read more than once. */
BLIS_MUSTUSE blis_status blis__graph_open_input(const blis_alloc *alloc, const char *path,
                                                blis_input **input, blis_error *error);

/*
 * Returns the next nonblank line as a JSON object; *line is its number. In a folder, the object may
 * come from the next file, or may be the whole file.
 */
BLIS_MUSTUSE blis_status blis__graph_next_object(blis__graph_rows *rows, blis_json_value *object,
                                                 int64_t *line, bool *has_line, blis_error *error);

/*
 * The next JSON text; *number is its first line. Every text is a line, unless the brackets of the
 * first line are not closed: then a text ends with the line that closes its brackets.
 */
BLIS_MUSTUSE blis_status blis__graph_next_text(blis__graph_rows *rows, blis_json_value *root,
                                               int64_t *number, bool *has_text, blis_error *error);

/* Members. If a member is missing or null, *result is unchanged. */

/* The first of these members that is present; missing if there is none. names ends with NULL. */
blis_json_value blis__graph_first(blis_json_value object, const char *const *names);

/* A time as text, or as a number since 1970 in s, ms, us or ns, by its size. */
BLIS_MUSTUSE blis_status blis__graph_clock(blis_json_value value, int64_t *time_us,
                                           blis_error *error);

/* Adds the bytes of a content: a string, or a list of strings, parts ("text"), or messages
   ("content"). */
BLIS_MUSTUSE blis_status blis__graph_text_bytes(blis_json_value content, size_t *bytes,
                                                blis_error *error);

/* Reads a time >= 0 in units of unit_us. */
BLIS_MUSTUSE blis_status blis__graph_time(blis_json_value object, const char *key, double unit_us,
                                          int64_t *time_us, blis_error *error);
/* Reads a member with two spellings, which must agree if both are present. */
BLIS_MUSTUSE blis_status blis__graph_either_time(blis_json_value object, const char *key,
                                                 const char *other, double unit_us,
                                                 int64_t *time_us, blis_error *error);
BLIS_MUSTUSE blis_status blis__graph_tokens(blis_json_value object, const char *key,
                                            uint32_t *tokens, blis_error *error);
/* Returns the number of tokens in this number of bytes of text, based on the option
   bytes_per_token (default 4). */
uint32_t blis__graph_tokens_of_bytes(const blis__graph_rows *rows, size_t bytes);

/* Reads a string or an integer and returns its number in strings. */
BLIS_MUSTUSE blis_status blis__graph_name(blis__graph_rows *rows, blis_json_value object,
                                          const char *key, uint32_t *id, blis_error *error);

/* Returns the number of a formatted string. */
BLIS_PRINTF(3, 4)
BLIS_MUSTUSE blis_status blis__graph_text(blis__graph_rows *rows, uint32_t *id, const char *format,
                                          ...);

/* Fails if the member is missing. */
BLIS_MUSTUSE blis_status blis__graph_need(blis_json_value object, const char *key,
                                          blis_error *error);

/* Calls blis_graph_builder_add for a line of the file; errors contain the line. */
BLIS_MUSTUSE blis_status blis__graph_add(blis__graph_rows *rows, int64_t line,
                                         const blis_graph_node *node, bool chains,
                                         const uint32_t *waits, uint32_t wait_count,
                                         blis_error *error);

/* Returns the smaller of the delay and the option delay_cap_us. */
int64_t blis__graph_capped(const blis__graph_rows *rows, int64_t delay_us);

/* Records members that are not in the list known, which ends with NULL. */
void blis__graph_see(blis__graph_rows *rows, blis_json_value object, const char *const *known);

/* Returns whether head contains all words in a list, which ends with NULL. */
bool blis__graph_head_has(blis_slice head, const char *const *words);

#endif
