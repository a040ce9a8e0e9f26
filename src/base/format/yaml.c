#include "base/format/yaml.h"

#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/containers/intern.h"
#include "base/format/input.h"
#include "base/format/yaml_tree.h"

enum { DEPTH_MAX = 100 };

/* Maximum number of nodes that aliases and merge keys repeat. */
#define REPEATED_MAX UINT64_C(1000000)

/* Maximum number of values in a file. A tree takes about 150 bytes per value, and each level of Lua
   tables built from it takes about as many again. */
enum { VALUES_MAX = 500000 };

#define TAG_PREFIX "tag:yaml.org,2002:"

/*
 * An open collection. Its children start at first_child. The last pair of a mapping has a key and
 * no item until its value arrives.
 */
typedef struct frame {
  blis_yaml_node *node;
  size_t first_child;
} frame;

/* The last occurrence of a key, by its ID. */
typedef struct sighting {
  uint64_t mapping; /* the number of the mapping, from 1 */
  int64_t line;
} sighting;

typedef struct anchor {
  const blis_yaml_node *node;
} anchor;

typedef struct builder {
  blis_yaml *yaml;
  blis_error *error;
  yaml_parser_t *parser;
  yaml_event_t event; /* the current event */
  frame frames[DEPTH_MAX];
  int depth;
  BLIS_ARRAY(blis__yaml_pair) children; /* of all open frames */
  blis_intern *anchors;
  BLIS_ARRAY(anchor) anchored; /* by anchor ID */
  blis_intern *keys;
  BLIS_ARRAY(sighting) sightings; /* by key ID */
  uint64_t mapping_count;
  uint64_t repeated;
  int values; /* at most VALUES_MAX */
} builder;

static int64_t line_of(const builder *b) {
  return (int64_t)b->event.start_mark.line + 1;
}

static blis_status fail_line(const builder *b, int64_t line, const char *what) {
  return blis_fail(b->error, BLIS_ERR_PARSE, "%s:%lld: %s", b->yaml->file, (long long)line, what);
}

static blis_status fail_parser(const builder *b) {
  const yaml_parser_t *parser = b->parser;
  const char *problem = parser->problem != NULL ? parser->problem : "not valid YAML";
  if (parser->error == YAML_MEMORY_ERROR) {
    return blis_fail_nomem(b->error);
  }
  if (parser->error == YAML_READER_ERROR) {
    return blis_fail(b->error, BLIS_ERR_PARSE, "%s: byte %zu: %s", b->yaml->file,
                     parser->problem_offset, problem);
  }
  bool has_context = parser->context != NULL;
  return blis_fail(b->error, BLIS_ERR_PARSE, "%s:%zu: %s%s%s", b->yaml->file,
                   parser->problem_mark.line + 1, problem, has_context ? " " : "",
                   has_context ? parser->context : "");
}

/* Returns the pair of a mapping that has no value yet, or NULL. */
static blis__yaml_pair *pending_pair(const builder *b, const frame *top) {
  if (b->children.count == top->first_child) {
    return NULL;
  }
  blis__yaml_pair *last = &b->children.items[b->children.count - 1];
  return last->item == NULL ? last : NULL;
}

static blis_yaml_node *new_node(builder *b, blis_yaml_type type) {
  blis_yaml_node *node = blis_arena_new(&b->yaml->arena, sizeof *node);
  if (node == NULL) {
    return NULL;
  }
  *node =
      (blis_yaml_node){.yaml = b->yaml, .type = type, .height = 1, .line = line_of(b), .weight = 1};
  if (b->depth > 0) {
    const frame *top = &b->frames[b->depth - 1];
    const blis__yaml_pair *pair = pending_pair(b, top);
    bool is_item = top->node->type == BLIS_YAML_SEQUENCE;
    node->item = is_item ? b->children.count - top->first_child + 1 : 0;
    node->key = is_item ? top->node->key : pair != NULL ? pair->key : NULL;
  }
  return node;
}

/* Adds a node to the collection being read, or makes it the root. */
static blis_status add_child(builder *b, const blis_yaml_node *node) {
  if (b->depth == 0) {
    b->yaml->root = (blis_yaml_node *)node;
    return BLIS_OK;
  }
  const frame *top = &b->frames[b->depth - 1];
  blis__yaml_pair *pair = pending_pair(b, top);
  if (pair != NULL) {
    pair->item = node;
    return BLIS_OK;
  }
  bool is_key = top->node->type == BLIS_YAML_MAPPING;
  if (is_key && node->type != BLIS_YAML_SCALAR) {
    return fail_line(b, line_of(b), "a key must be a single value");
  }
  const blis__yaml_pair added = {.key = is_key ? node : NULL, .item = is_key ? NULL : node};
  if (blis_array_push(&b->yaml->alloc, &b->children, added) != BLIS_OK) {
    return blis_fail_nomem(b->error);
  }
  return BLIS_OK;
}

/* Registers a node under the name of its anchor, if it has an anchor. */
static blis_status set_anchor(builder *b, const yaml_char_t *anchor_name,
                              const blis_yaml_node *node) {
  if (anchor_name == NULL) {
    return BLIS_OK;
  }
  const char *name = (const char *)anchor_name;
  uint32_t id;
  if (blis_intern_add(b->anchors, name, strlen(name), &id) != BLIS_OK ||
      blis_array_reserve(&b->yaml->alloc, &b->anchored, id + 1) != BLIS_OK) {
    return blis_fail_nomem(b->error);
  }
  while (b->anchored.count <= id) {
    b->anchored.items[b->anchored.count++] = (anchor){0};
  }
  b->anchored.items[id].node = node;
  return BLIS_OK;
}

static blis_status count_repeated(builder *b, uint64_t nodes, int64_t line) {
  b->repeated += nodes;
  if (b->repeated > REPEATED_MAX) {
    return fail_line(b, line, "aliases and merge keys repeat more than 1000000 values");
  }
  return BLIS_OK;
}

static blis_status read_alias(builder *b) {
  const char *name = (const char *)b->event.data.alias.anchor;
  uint32_t id = blis_intern_find(b->anchors, name, strlen(name));
  blis_shown shown = blis_show(blis_slice_of(name));
  if (id == BLIS_INTERN_NONE) {
    return blis_fail(b->error, BLIS_ERR_PARSE, "%s:%lld: no anchor %s before this alias",
                     b->yaml->file, (long long)line_of(b), shown.text);
  }
  const blis_yaml_node *node = b->anchored.items[id].node;
  if (!node->is_complete) {
    return blis_fail(b->error, BLIS_ERR_PARSE,
                     "%s:%lld: the alias %s is inside the value it refers to", b->yaml->file,
                     (long long)line_of(b), shown.text);
  }
  BLIS_TRY(count_repeated(b, node->weight, line_of(b)));
  return add_child(b, node);
}

/*
 * Determines whether a tag forces a scalar to be a string ("!", "!!str"). Tags of the other core
 * types leave the scalar unchanged. Unknown tags are errors.
 */
static blis_status check_tag(builder *b, const yaml_char_t *tag, bool *is_text) {
  static const char *const known[] = {"int", "float", "bool", "null", "seq", "map", "merge"};
  const char *name = (const char *)tag;
  *is_text = name != NULL && (strcmp(name, "!") == 0 || strcmp(name, TAG_PREFIX "str") == 0);
  if (name == NULL || *is_text) {
    return BLIS_OK;
  }
  size_t prefix = sizeof TAG_PREFIX - 1;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strncmp(name, TAG_PREFIX, prefix) == 0 && strcmp(name + prefix, known[i]) == 0) {
      return BLIS_OK;
    }
  }
  return blis_fail(b->error, BLIS_ERR_PARSE, "%s:%lld: unknown tag %s", b->yaml->file,
                   (long long)line_of(b), blis_show(blis_slice_of(name)).text);
}

static blis_status read_scalar(builder *b) {
  bool is_text;
  BLIS_TRY(check_tag(b, b->event.data.scalar.tag, &is_text));
  blis_yaml_node *node = new_node(b, BLIS_YAML_SCALAR);
  size_t length = b->event.data.scalar.length;
  const char *text =
      node == NULL
          ? NULL
          : blis_arena_text(&b->yaml->arena, (const char *)b->event.data.scalar.value, length);
  if (text == NULL) {
    return blis_fail_nomem(b->error);
  }
  node->text = (blis_slice){.data = text, .length = length};
  node->is_plain = !is_text && b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  node->is_complete = true;
  BLIS_TRY(set_anchor(b, b->event.data.scalar.anchor, node));
  return add_child(b, node);
}

static blis_status begin_collection(builder *b, blis_yaml_type type, const yaml_char_t *anchor_name,
                                    const yaml_char_t *tag) {
  bool is_text;
  BLIS_TRY(check_tag(b, tag, &is_text));
  if (b->depth == DEPTH_MAX) {
    return fail_line(b, line_of(b), "nested more than 100 levels deep");
  }
  blis_yaml_node *node = new_node(b, type);
  if (node == NULL) {
    return blis_fail_nomem(b->error);
  }
  BLIS_TRY(set_anchor(b, anchor_name, node));
  BLIS_TRY(add_child(b, node));
  b->frames[b->depth++] = (frame){.node = node, .first_child = b->children.count};
  return BLIS_OK;
}

/* Allocates count children of a collection in the arena. */
static blis_status make_pairs(builder *b, blis_yaml_node *node, size_t count) {
  node->pairs = blis_arena_new(&b->yaml->arena, count * sizeof *node->pairs);
  return node->pairs != NULL ? BLIS_OK : blis_fail_nomem(b->error);
}

static void append_pair(blis_yaml_node *node, const blis__yaml_pair *pair) {
  node->pairs[node->count++] = *pair;
  node->weight += pair->item->weight;
  if (pair->item->height >= node->height) {
    node->height = pair->item->height + 1;
  }
}

static bool is_merge(const blis_yaml_node *key) {
  return key->is_plain && blis_slice_equals(key->text, "<<");
}

/*
 * Records a key of the current mapping. *first is set to the line of its first occurrence in the
 * mapping, or 0 if the key is new.
 */
static blis_status see_key(builder *b, const blis_yaml_node *key, int64_t *first) {
  uint32_t id;
  if (blis_intern_add(b->keys, key->text.data, key->text.length, &id) != BLIS_OK ||
      blis_array_reserve(&b->yaml->alloc, &b->sightings, id + 1) != BLIS_OK) {
    return blis_fail_nomem(b->error);
  }
  while (b->sightings.count <= id) {
    b->sightings.items[b->sightings.count++] = (sighting){0};
  }
  sighting *seen = &b->sightings.items[id];
  bool is_known = seen->mapping == b->mapping_count;
  *first = is_known ? seen->line : 0;
  if (!is_known) {
    *seen = (sighting){.mapping = b->mapping_count, .line = key->line};
  }
  return BLIS_OK;
}

/* Adds the pairs that are written in the mapping itself, except "<<". */
static blis_status take_own_pairs(builder *b, blis_yaml_node *node, const blis__yaml_pair *pairs,
                                  size_t count) {
  for (size_t i = 0; i < count; i++) {
    const blis_yaml_node *key = pairs[i].key;
    if (is_merge(key)) {
      continue;
    }
    int64_t first = 0;
    BLIS_TRY(see_key(b, key, &first));
    if (first > 0) {
      return blis_fail(b->error, BLIS_ERR_PARSE,
                       "%s:%lld: key %s is given twice, first in line %lld", b->yaml->file,
                       (long long)key->line, blis_show(key->text).text, (long long)first);
    }
    append_pair(node, &pairs[i]);
  }
  return BLIS_OK;
}

/* Adds the pairs of a merged mapping, except those with existing keys. */
static blis_status take_merged(builder *b, blis_yaml_node *node, const blis_yaml_node *source) {
  for (size_t i = 0; i < source->count; i++) {
    int64_t first = 0;
    BLIS_TRY(see_key(b, source->pairs[i].key, &first));
    if (first == 0) {
      append_pair(node, &source->pairs[i]);
    }
  }
  return BLIS_OK;
}

/*
 * Counts the pairs of the mappings (one or a sequence) that a "<<" merges. Adds them to node if it
 * is not NULL.
 */
static blis_status walk_merge(builder *b, blis_yaml_node *node, const blis_yaml_node *value,
                              size_t *pairs) {
  bool is_list = value->type == BLIS_YAML_SEQUENCE;
  size_t count = is_list ? value->count : 1;
  for (size_t i = 0; i < count; i++) {
    const blis_yaml_node *source = is_list ? value->pairs[i].item : value;
    if (source->type != BLIS_YAML_MAPPING) {
      return fail_line(b, value->line, "'<<' needs a mapping or a list of mappings");
    }
    *pairs += source->count;
    if (node != NULL) {
      BLIS_TRY(take_merged(b, node, source));
    }
  }
  return BLIS_OK;
}

static blis_status end_mapping(builder *b, blis_yaml_node *node, const blis__yaml_pair *pairs,
                               size_t count) {
  b->mapping_count++;
  size_t merged = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_merge(pairs[i].key)) {
      BLIS_TRY(walk_merge(b, NULL, pairs[i].item, &merged));
    }
  }
  BLIS_TRY(count_repeated(b, merged, node->line));
  BLIS_TRY(make_pairs(b, node, count + merged));
  BLIS_TRY(take_own_pairs(b, node, pairs, count));
  for (size_t i = 0; i < count; i++) {
    if (is_merge(pairs[i].key)) {
      BLIS_TRY(walk_merge(b, node, pairs[i].item, &merged));
    }
  }
  return BLIS_OK;
}

static blis_status end_collection(builder *b) {
  const frame *top = &b->frames[--b->depth];
  blis_yaml_node *node = top->node;
  size_t count = b->children.count - top->first_child;
  const blis__yaml_pair *pairs = count > 0 ? b->children.items + top->first_child : NULL;
  if (node->type == BLIS_YAML_MAPPING) {
    BLIS_TRY(end_mapping(b, node, pairs, count));
  } else {
    BLIS_TRY(make_pairs(b, node, count));
    for (size_t i = 0; i < count; i++) {
      append_pair(node, &pairs[i]);
    }
  }
  if (node->height > DEPTH_MAX) {
    return fail_line(b, node->line, "nested more than 100 levels deep through aliases");
  }
  b->children.count = top->first_child;
  node->is_complete = true;
  return BLIS_OK;
}

static blis_status read_event(builder *b, bool *has_ended) {
  switch (b->event.type) {
  case YAML_SCALAR_EVENT:
    return read_scalar(b);
  case YAML_ALIAS_EVENT:
    return read_alias(b);
  case YAML_SEQUENCE_START_EVENT:
    return begin_collection(b, BLIS_YAML_SEQUENCE, b->event.data.sequence_start.anchor,
                            b->event.data.sequence_start.tag);
  case YAML_MAPPING_START_EVENT:
    return begin_collection(b, BLIS_YAML_MAPPING, b->event.data.mapping_start.anchor,
                            b->event.data.mapping_start.tag);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT:
    return end_collection(b);
  case YAML_DOCUMENT_START_EVENT:
    return b->yaml->root == NULL ? BLIS_OK
                                 : fail_line(b, line_of(b),
                                             "a second document begins here; a "
                                             "file may have one");
  case YAML_STREAM_END_EVENT:
    *has_ended = true;
    return BLIS_OK;
  default:
    return BLIS_OK;
  }
}

static blis_status count_value(builder *b) {
  bool is_value = b->event.type == YAML_SCALAR_EVENT ||
                  b->event.type == YAML_SEQUENCE_START_EVENT ||
                  b->event.type == YAML_MAPPING_START_EVENT;
  b->values += is_value;
  return b->values <= VALUES_MAX
             ? BLIS_OK
             : fail_line(b, line_of(b), "more than 500000 values, the limit here");
}

static blis_status read_document(builder *b) {
  bool has_ended = false;
  while (!has_ended) {
    if (!yaml_parser_parse(b->parser, &b->event)) {
      return fail_parser(b);
    }
    blis_status status = count_value(b);
    if (status == BLIS_OK) {
      status = read_event(b, &has_ended);
    }
    yaml_event_delete(&b->event);
    BLIS_TRY(status);
  }
  if (b->yaml->root == NULL) {
    return blis_fail(b->error, BLIS_ERR_PARSE, "%s: is empty", b->yaml->file);
  }
  return BLIS_OK;
}

static blis_status build(blis_yaml *yaml, blis_slice text, blis_error *error) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) {
    return blis_fail_nomem(error);
  }
  const unsigned char *bytes = (const unsigned char *)(text.length > 0 ? text.data : "");
  yaml_parser_set_input_string(&parser, bytes, text.length);
  builder b = {.yaml = yaml, .error = error, .parser = &parser};
  b.anchors = blis_intern_new(&yaml->alloc);
  b.keys = blis_intern_new(&yaml->alloc);
  blis_status status =
      b.anchors != NULL && b.keys != NULL ? read_document(&b) : blis_fail_nomem(error);
  blis_intern_free(b.anchors);
  blis_intern_free(b.keys);
  blis_array_deinit(&yaml->alloc, &b.children);
  blis_array_deinit(&yaml->alloc, &b.anchored);
  blis_array_deinit(&yaml->alloc, &b.sightings);
  yaml_parser_delete(&parser);
  return status;
}

blis_status blis_yaml_parse(const blis_alloc *alloc, const char *file, blis_slice text,
                            blis_yaml **yaml, blis_error *error) {
  blis_yaml *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  blis_arena_init(&made->arena, alloc);
  made->file = blis_arena_text(&made->arena, file, strlen(file));
  blis_status status = made->file != NULL ? build(made, text, error) : blis_fail_nomem(error);
  if (status != BLIS_OK) {
    blis_yaml_free(made);
    return status;
  }
  *yaml = made;
  return BLIS_OK;
}

blis_status blis_yaml_read_file(const blis_alloc *alloc, const char *path, size_t max_size,
                                blis_yaml **yaml, blis_error *error) {
  blis_buffer text;
  blis_buffer_init(&text, alloc);
  blis_status status = blis_input_read_file(path, max_size, &text, error);
  if (status == BLIS_OK) {
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    status = blis_yaml_parse(alloc, name, blis_buffer_slice(&text), yaml, error);
  }
  blis_buffer_deinit(&text);
  return status;
}

void blis_yaml_free(blis_yaml *yaml) {
  if (yaml != NULL) {
    blis_alloc alloc = yaml->alloc;
    blis_arena_deinit(&yaml->arena);
    blis_alloc_free(&alloc, yaml, sizeof *yaml);
  }
}

const blis_yaml_node *blis_yaml_root(const blis_yaml *yaml) {
  return yaml->root;
}
