/*
 * json_tree.h - the parser behind json.h, and the nodes it makes; for json.c
 * only.
 *
 * The items of an array lie behind each other, and so do the members of an
 * object, a key and its value in turn: an item is found at once. The parser
 * works on a copy of the text, where texts lose their escapes and get a zero
 * behind them, and keeps all its memory for the next text, so a row of a
 * trace costs no allocation. About 500 MB/s.
 *
 * What is accepted is what jansson accepts (RFC 8259 without duplicate keys,
 * zero characters and numbers beyond their type; 2048 levels), but for zero
 * bytes behind numbers; a test holds the two against each other.
 */
#ifndef BLIS_BASE_FORMAT_JSON_TREE_H
#define BLIS_BASE_FORMAT_JSON_TREE_H

#include "base/format/json.h"

typedef struct blis__json_node {
  blis_json_type type;
  size_t count; /* items, members, or bytes of a text */
  union {
    bool flag;
    int64_t whole;
    double real;
    const char *text; /* with a zero behind it */
    size_t first;     /* index of the first item, or of the first key */
  };
} blis__json_node;

/*
 * Makes the tree of a text in place of the one before. BLIS_ERR_PARSE, with no
 * more words, when it is not JSON; BLIS_ERR_NOMEM. There is no tree then.
 */
BLIS_MUSTUSE blis_status blis__json_tree_parse(blis_json *json, blis_slice text);

#endif
