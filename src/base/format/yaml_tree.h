/* yaml_tree.h - the nodes of yaml.h, for the files that build and read them. */
#ifndef BLIS_BASE_FORMAT_YAML_TREE_H
#define BLIS_BASE_FORMAT_YAML_TREE_H

#include "base/arena.h"
#include "base/format/yaml.h"

struct blis_yaml {
  blis_alloc alloc;
  blis_arena arena; /* contains all nodes and strings */
  const char *file;
  blis_yaml_node *root;
};

/* A pair of a mapping, or an item of a sequence (key is NULL). */
typedef struct blis__yaml_pair {
  const blis_yaml_node *key;
  const blis_yaml_node *item;
} blis__yaml_pair;

struct blis_yaml_node {
  const blis_yaml *yaml;
  blis_yaml_type type;
  bool is_plain;
  bool is_complete; /* false while the node is being read */
  int height;       /* levels below and including this node */
  int64_t line;
  const char *place; /* origin of a node built in memory; otherwise NULL */
  /* Number of nodes below and including this one, with aliases repeated. */
  uint64_t weight;
  const blis_yaml_node *key; /* key of the closest enclosing pair, or NULL */
  size_t item;               /* index in a sequence, from 1; otherwise 0 */
  blis_slice text;
  size_t count;
  blis__yaml_pair *pairs;
};

#endif
