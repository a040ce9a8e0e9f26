/*
 * json.h - JSON documents as trees (RFC 8259).
 *
 * Integers have 64 bits. Members and items keep the order of the document. These are errors: a
 * duplicate key, invalid UTF-8, a null character, a number out of the range of its type (int64_t,
 * or double for a number with a fraction or an exponent), and more than 2048 levels of nesting. A
 * syntax error reports its line and column. A failed conversion reports the location of its value.
 * Example:
 *
 *   blis_json_value time = blis_json_member(root, "timestamp");
 *   BLIS_TRY(blis_json_int64(time, 0, INT64_MAX, &time_ms, error));
 *   // trace.jsonl:17: key 'timestamp': 'abc' is not a whole number
 */
#ifndef BLIS_BASE_FORMAT_JSON_H
#define BLIS_BASE_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/format/input.h"
#include "base/slice.h"

/* A parsed document, stored by the caller. The members are private. */
typedef struct blis_json {
  blis_alloc alloc;
  const char *file; /* borrowed */
  int64_t line;
  bool allows_any_number;
  blis_buffer text;
  BLIS_ARRAY(struct blis__json_node) nodes;
  BLIS_ARRAY(struct blis__json_node) open;
  const struct blis__json_node *root; /* NULL = no tree */
} blis_json;

typedef enum blis_json_type {
  BLIS_JSON_MISSING, /* no such member */
  BLIS_JSON_NULL,
  BLIS_JSON_BOOL,
  BLIS_JSON_INTEGER,
  BLIS_JSON_REAL,
  BLIS_JSON_TEXT,
  BLIS_JSON_ARRAY,
  BLIS_JSON_OBJECT
} blis_json_type;

/*
 * A value of a tree, or a missing value. It is valid as long as the tree. Pass it by value. The
 * members are private.
 */
typedef struct blis_json_value {
  const blis_json *json;
  const struct blis__json_node *node; /* NULL = missing */
  const char *key;                    /* key of the closest enclosing member; NULL at the root */
  size_t item;                        /* index in an array, from 1; 0 = not in an array */
} blis_json_value;

/* Initializes json without a tree. Copies *alloc; allocates nothing yet. */
void blis_json_init(blis_json *json, const blis_alloc *alloc);

/* Releases the memory; the tree and its values are invalid afterwards. */
void blis_json_deinit(blis_json *json);

/*
 * Makes the parser accept NaN, Infinity and -Infinity, which Python writes by default although they
 * are not JSON, and integers beyond int64_t. Call it before parsing a file from another program.
 * The conversions below reject these numbers, except that blis_json_id64 accepts the integers. So
 * they are accepted only in members that are never converted.
 */
void blis_json_allow_any_number(blis_json *json);

/*
 * Parses one value, which may be surrounded only by white space. The new tree replaces the tree of
 * json and reuses its memory, so values of the old tree are invalid afterwards. Messages contain
 * file (borrowed, must outlive the tree) and count lines from `line`. BLIS_ERR_PARSE reports line,
 * column, problem, and the expected input; json has no tree after an error.
 */
BLIS_MUSTUSE blis_status blis_json_parse(blis_json *json, const char *file, int64_t line,
                                         blis_slice text, blis_error *error);

/*
 * Parses a file ("-" = standard input) of at most max_size bytes, which may be compressed. path is
 * borrowed and must outlive the tree.
 */
BLIS_MUSTUSE blis_status blis_json_read_file(blis_json *json, const char *path, size_t max_size,
                                             blis_error *error);

/* Parses the rest of an input. name is borrowed and must outlive the tree. */
BLIS_MUSTUSE blis_status blis_json_read_input(blis_json *json, blis_input *input, const char *name,
                                              size_t max_size, blis_error *error);

/* Returns the root, or a missing value if there is no tree. */
blis_json_value blis_json_root(const blis_json *json);

blis_json_type blis_json_type_of(blis_json_value value);

/* Returns whether the value exists and is not null. */
bool blis_json_has(blis_json_value value);

/* Returns the number of items or members; 0 for values that are not arrays or objects. */
size_t blis_json_count(blis_json_value value);

/*
 * Returns the member of an object; a missing value if there is no such member or value is not an
 * object. Searches the members in order.
 */
blis_json_value blis_json_member(blis_json_value value, const char *key);

/* Returns an item of an array, from 0; a missing value beyond its end. */
blis_json_value blis_json_item(blis_json_value value, size_t index);

/*
 * Steps through the members of an object in the order of the document. Stores the first member if
 * *key is NULL, else the member after *member. Returns false at the end. The key belongs to the
 * tree.
 */
bool blis_json_next(blis_json_value value, const char **key, blis_json_value *member);

/*
 * Conversions. They fail with BLIS_ERR_PARSE, and leave *result unset, if the value is missing, has
 * another type, or is out of range. Whole numbers such as 3.0 count as integers.
 */
BLIS_MUSTUSE blis_status blis_json_int64(blis_json_value value, int64_t min, int64_t max,
                                         int64_t *result, blis_error *error);
/*
 * Converts a non-negative integer to a 64-bit ID. Numbers up to 2^64 - 1 are returned unchanged.
 * For a longer number, such as a 128-bit or 256-bit hash written by Python, the ID is a hash of its
 * digits.
 */
BLIS_MUSTUSE blis_status blis_json_id64(blis_json_value value, uint64_t *result, blis_error *error);
BLIS_MUSTUSE blis_status blis_json_double(blis_json_value value, double min, double max,
                                          double *result, blis_error *error);
BLIS_MUSTUSE blis_status blis_json_bool(blis_json_value value, bool *result, blis_error *error);

/* The string is followed by a zero and belongs to the tree. */
BLIS_MUSTUSE blis_status blis_json_text(blis_json_value value, blis_slice *result,
                                        blis_error *error);

/* Fails unless the value is an array, or an object. */
BLIS_MUSTUSE blis_status blis_json_need_array(blis_json_value value, blis_error *error);
BLIS_MUSTUSE blis_status blis_json_need_object(blis_json_value value, blis_error *error);

/* Fails with BLIS_ERR_PARSE at a value. The message contains the location, the value, and what. */
blis_status blis_json_fail(blis_json_value value, const char *what, blis_error *error);

/* Fails likewise: the place, then "invalid value VALUE: expected " and what is expected. */
blis_status blis_json_invalid(blis_json_value value, const char *expected, blis_error *error);

#endif
