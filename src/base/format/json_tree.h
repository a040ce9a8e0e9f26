/*
 * json_tree.h - the parser of json.h, and the nodes of its trees; for json.c only.
 *
 * The items of an array are adjacent. The members of an object are adjacent as well, each key
 * before its value. So an item is found in constant time. The parser works on a copy of the text:
 * it replaces escapes there and writes a zero after each string. It keeps its memory for the next
 * text, so parsing another row of a trace needs no allocation. Speed: about 500 MB/s.
 */
#ifndef BLIS_BASE_FORMAT_JSON_TREE_H
#define BLIS_BASE_FORMAT_JSON_TREE_H

#include "base/format/json.h"

typedef struct blis__json_node {
  blis_json_type type;
  /* Number of items, members, or bytes of a string. For an integer of 2^63 or more, which is stored
   * as a real: its ID (blis_json_id64). Otherwise 0. */
  size_t count;
  union {
    bool flag;
    int64_t whole;
    double real;
    const char *text; /* followed by a zero */
    size_t first;     /* index of the first item, or of the first key */
  };
} blis__json_node;

/*
 * Parses JSON. The new tree replaces the tree of json. After an error json has no tree: *error is
 * filled for BLIS_ERR_PARSE and not for BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__json_tree_parse(blis_json *json, blis_slice text, blis_error *error);

#endif
