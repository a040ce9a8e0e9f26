/*
 * yaml.h - YAML files as trees, read by libyaml.
 *
 * Scalars are untyped: the caller names the type that it expects. "version: 2" can be read as a
 * string or a number, and "yes" is true only if the caller reads a boolean. The rules follow
 * go-yaml v3:
 * - Only a plain scalar can be a number or a boolean; a quoted scalar is a string.
 * - A float that is read as an integer loses its fraction.
 * - yes, no, on, and off are booleans.
 * - "_" in numbers is skipped.
 * - A missing value, "~", and "null" are null.
 *
 * Anchors, aliases, and "<<" merge keys work. A duplicate key is an error that names both lines.
 * Nesting is limited to 100 levels and aliases to a million repeated nodes, so a small file cannot
 * expand to a huge tree. A file contains one document. libyaml allocates its memory on the C heap.
 */
#ifndef BLIS_BASE_FORMAT_YAML_H
#define BLIS_BASE_FORMAT_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

/* A parsed document. It owns its nodes, which never change. */
typedef struct blis_yaml blis_yaml;

/* A node of a document. In a file with aliases, a node may have several parents. */
typedef struct blis_yaml_node blis_yaml_node;

typedef enum blis_yaml_type {
  BLIS_YAML_SCALAR, /* also null */
  BLIS_YAML_SEQUENCE,
  BLIS_YAML_MAPPING
} blis_yaml_type;

/*
 * Parses `text`. file (copied) appears in messages. The caller owns *yaml. BLIS_ERR_PARSE reports
 * the line; text without a document is also a BLIS_ERR_PARSE.
 */
BLIS_MUSTUSE blis_status blis_yaml_parse(const blis_alloc *alloc, const char *file, blis_slice text,
                                         blis_yaml **yaml, blis_error *error);

/* Parses a file ("-" = standard input) of at most max_size bytes. */
BLIS_MUSTUSE blis_status blis_yaml_read_file(const blis_alloc *alloc, const char *path,
                                             size_t max_size, blis_yaml **yaml, blis_error *error);

/* NULL is allowed. */
void blis_yaml_free(blis_yaml *yaml);

const blis_yaml_node *blis_yaml_root(const blis_yaml *yaml);

blis_yaml_type blis_yaml_type_of(const blis_yaml_node *node);
bool blis_yaml_is_null(const blis_yaml_node *node);

/* The start of the node: the file, for messages, and the line, from 1. */
const char *blis_yaml_file(const blis_yaml_node *node);
int64_t blis_yaml_line(const blis_yaml_node *node);

/* The number of items or of pairs; 0 for scalars. */
size_t blis_yaml_count(const blis_yaml_node *node);

/* Returns an item, or the value of a pair, in the order of the file; index < count. */
const blis_yaml_node *blis_yaml_item(const blis_yaml_node *node, size_t index);

/* Returns the key of a pair; index < count. Keys are always scalars (see blis_yaml_scalar). */
const blis_yaml_node *blis_yaml_key(const blis_yaml_node *node, size_t index);

/* Returns the value of a key; NULL if it is null or missing, or if node is not a mapping. */
const blis_yaml_node *blis_yaml_get(const blis_yaml_node *node, const char *key);

/* Returns the unchanged text of a scalar, followed by a zero. */
blis_slice blis_yaml_scalar(const blis_yaml_node *node);

/*
 * Conversions. They fail with BLIS_ERR_PARSE, and leave *value unset, for a value of another type
 * or out of range: "spec.yaml:3: key 'rate': 'fast' is not a number". An integer may be written as
 * 1e3 or 5.0. An integer written as 1.5 is an error, whereas BLIS (Go) reads it as 1.
 */
BLIS_MUSTUSE blis_status blis_yaml_int64(const blis_yaml_node *node, int64_t min, int64_t max,
                                         int64_t *value, blis_error *error);
BLIS_MUSTUSE blis_status blis_yaml_double(const blis_yaml_node *node, double min, double max,
                                          double *value, blis_error *error);
BLIS_MUSTUSE blis_status blis_yaml_bool(const blis_yaml_node *node, bool *value, blis_error *error);

/* Accepts any scalar except null. The zero-terminated text belongs to the tree. */
BLIS_MUSTUSE blis_status blis_yaml_text(const blis_yaml_node *node, blis_slice *value,
                                        blis_error *error);

/* Fails unless the node is a sequence, or a mapping. */
BLIS_MUSTUSE blis_status blis_yaml_need_sequence(const blis_yaml_node *node, blis_error *error);
BLIS_MUSTUSE blis_status blis_yaml_need_mapping(const blis_yaml_node *node, blis_error *error);

/* The start of messages, such as "spec.yaml:3: key 'rate': ". */
typedef struct blis_yaml_place {
  char text[448];
} blis_yaml_place;

blis_yaml_place blis_yaml_place_of(const blis_yaml_node *node);

/* Fails with BLIS_ERR_PARSE at a node. The message contains the location, the value, and what. */
blis_status blis_yaml_fail(const blis_yaml_node *node, const char *what, blis_error *error);

/* Fails likewise: the place, then "invalid value VALUE: expected " and what is expected. */
blis_status blis_yaml_invalid(const blis_yaml_node *node, const char *expected, blis_error *error);

/*
 * The kind of a plain scalar when no type is expected, as in a table for a script. Numbers follow
 * the rules above. Only true and false are booleans.
 */
typedef enum blis_yaml_kind {
  BLIS_YAML_IS_NULL,
  BLIS_YAML_IS_BOOL,
  BLIS_YAML_IS_INTEGER,
  BLIS_YAML_IS_REAL,
  BLIS_YAML_IS_TEXT
} blis_yaml_kind;

blis_yaml_kind blis_yaml_kind_of(const blis_yaml_node *scalar);

#endif
