/*
 * yaml_build.h - YAML trees built in memory, so that code that reads a file can also read a table
 * of a script.
 *
 * Every node stores its origin ("workload.clients[2].rate_fraction"), which replaces file and line
 * in messages. Collections are filled after creation. An empty collection counts as a list and as a
 * mapping. A fraction is an error if an integer is expected.
 */
#ifndef BLIS_BASE_FORMAT_YAML_BUILD_H
#define BLIS_BASE_FORMAT_YAML_BUILD_H

#include "base/format/yaml.h"

/* Creates a tree without nodes; free it with blis_yaml_free. NULL = out of memory. */
blis_yaml *blis_yaml_new(const blis_alloc *alloc);

/* The first node becomes the root. Nodes belong to the tree, and strings are copied. All of these
   functions return NULL if memory is exhausted. */
blis_yaml_node *blis_yaml_make_null(blis_yaml *yaml, const char *place);
blis_yaml_node *blis_yaml_make_bool(blis_yaml *yaml, const char *place, bool value);
blis_yaml_node *blis_yaml_make_int64(blis_yaml *yaml, const char *place, int64_t value);
blis_yaml_node *blis_yaml_make_double(blis_yaml *yaml, const char *place, double value);
/* Makes a string, which is never read as a number or a boolean. */
blis_yaml_node *blis_yaml_make_text(blis_yaml *yaml, const char *place, const char *text,
                                    size_t length);
/* Makes a list or mapping with count members, which are initially null. */
blis_yaml_node *blis_yaml_make_collection(blis_yaml *yaml, const char *place, blis_yaml_type type,
                                          size_t count);

/* Set the item of a list, or the key and value of a mapping, at index < count. */
void blis_yaml_set_item(blis_yaml_node *list, size_t index, const blis_yaml_node *item);
void blis_yaml_set_pair(blis_yaml_node *mapping, size_t index, const blis_yaml_node *key,
                        const blis_yaml_node *value);

#endif
