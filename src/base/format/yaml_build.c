#include "base/format/yaml_build.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format/yaml_tree.h"
#include "base/invariant.h"
#include "base/number.h"

blis_yaml *blis_yaml_new(const blis_alloc *alloc) {
  blis_yaml *yaml = blis_alloc_new(alloc, sizeof *yaml);
  if (yaml != NULL) {
    *yaml = (blis_yaml){.alloc = *alloc, .file = ""};
    blis_arena_init(&yaml->arena, alloc);
  }
  return yaml;
}

static blis_yaml_node *make(blis_yaml *yaml, const char *place, blis_yaml_type type) {
  blis_yaml_node *node = blis_arena_new(&yaml->arena, sizeof *node);
  char *copy = blis_arena_text(&yaml->arena, place, strlen(place));
  if (node == NULL || copy == NULL) {
    return NULL;
  }
  *node = (blis_yaml_node){
      .yaml = yaml, .type = type, .is_complete = true, .height = 1, .weight = 1, .place = copy};
  yaml->root = yaml->root != NULL ? yaml->root : node;
  return node;
}

static blis_yaml_node *make_scalar(blis_yaml *yaml, const char *place, const char *text,
                                   size_t length, bool is_plain) {
  blis_yaml_node *node = make(yaml, place, BLIS_YAML_SCALAR);
  char *copy = blis_arena_text(&yaml->arena, text, length);
  if (node == NULL || copy == NULL) {
    return NULL;
  }
  node->text = (blis_slice){copy, length};
  node->is_plain = is_plain;
  return node;
}

static blis_yaml_node *make_plain(blis_yaml *yaml, const char *place, const char *text) {
  return make_scalar(yaml, place, text, strlen(text), true);
}

blis_yaml_node *blis_yaml_make_null(blis_yaml *yaml, const char *place) {
  return make_plain(yaml, place, "null");
}

blis_yaml_node *blis_yaml_make_bool(blis_yaml *yaml, const char *place, bool value) {
  return make_plain(yaml, place, value ? "true" : "false");
}

blis_yaml_node *blis_yaml_make_int64(blis_yaml *yaml, const char *place, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, value);
  return make_plain(yaml, place, text);
}

blis_yaml_node *blis_yaml_make_double(blis_yaml *yaml, const char *place, double value) {
  char text[BLIS_DOUBLE_TEXT_SIZE];
  if (isfinite(value)) {
    (void)blis_format_double(value, BLIS_DOUBLE_SHORT, text);
  } else {
    snprintf(text, sizeof text, "%s", isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf");
  }
  return make_plain(yaml, place, text);
}

blis_yaml_node *blis_yaml_make_text(blis_yaml *yaml, const char *place, const char *text,
                                    size_t length) {
  return make_scalar(yaml, place, text, length, false);
}

blis_yaml_node *blis_yaml_make_collection(blis_yaml *yaml, const char *place, blis_yaml_type type,
                                          size_t count) {
  blis_yaml_node *node = make(yaml, place, type);
  if (node == NULL || count == 0) {
    return node;
  }
  node->pairs = blis_arena_new(&yaml->arena, count * sizeof *node->pairs);
  const blis_yaml_node *nothing = blis_yaml_make_null(yaml, place);
  if (node->pairs == NULL || nothing == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    node->pairs[i] = (blis__yaml_pair){nothing, nothing};
  }
  node->count = count;
  return node;
}

void blis_yaml_set_item(blis_yaml_node *list, size_t index, const blis_yaml_node *item) {
  BLIS_ASSERT(index < list->count);
  list->pairs[index].item = item;
}

void blis_yaml_set_pair(blis_yaml_node *mapping, size_t index, const blis_yaml_node *key,
                        const blis_yaml_node *value) {
  BLIS_ASSERT(index < mapping->count);
  mapping->pairs[index] = (blis__yaml_pair){key, value};
}
