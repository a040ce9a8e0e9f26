/*
 * yaml_tree.h - the nodes behind yaml.h, shared by the files that build and
 * read them.
 */
#ifndef BLIS_BASE_FORMAT_YAML_TREE_H
#define BLIS_BASE_FORMAT_YAML_TREE_H

#include "base/arena.h"
#include "base/format/yaml.h"

struct blis_yaml {
  blis_alloc alloc;
  blis_arena arena; /* every node and text */
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
  const char *place;         /* of a node made by a program; else NULL */
  uint64_t weight;           /* nodes below and including this one, aliases repeated */
  const blis_yaml_node *key; /* of the nearest pair around it, or NULL */
  size_t item;               /* its place in a sequence, from 1; else 0 */
  blis_slice text;
  size_t count;
  blis__yaml_pair *pairs;
};

#endif
