/* Trees made by a program, read like those of files. */
#include "base/format/yaml_build.h"

#include <float.h>
#include <math.h>

#include "check.h"

static blis_error error;

/* {rate: 0.1, count: 3, name: "7", on: true, none: null, list: [1], {}} */
static blis_yaml *build(const blis_alloc *alloc) {
  blis_yaml *yaml = blis_yaml_new(alloc);
  if (yaml == NULL) {
    return NULL;
  }
  blis_yaml_node *root = blis_yaml_make_collection(yaml, "spec", BLIS_YAML_MAPPING, 7);
  blis_yaml_node *list = blis_yaml_make_collection(yaml, "spec.list", BLIS_YAML_SEQUENCE, 1);
  blis_yaml_node *values[] = {blis_yaml_make_double(yaml, "spec.rate", 0.1),
                              blis_yaml_make_int64(yaml, "spec.count", INT64_MIN),
                              blis_yaml_make_text(yaml, "spec.name", "7", 1),
                              blis_yaml_make_bool(yaml, "spec.on", true),
                              blis_yaml_make_null(yaml, "spec.none"),
                              list,
                              blis_yaml_make_collection(yaml, "spec.empty", BLIS_YAML_MAPPING, 0)};
  static const char *const names[] = {"rate", "count", "name", "on", "none", "list", "empty"};
  blis_yaml_node *item = blis_yaml_make_double(yaml, "spec.list[1]", 1e300);
  bool is_made = root != NULL && list != NULL && item != NULL;
  for (size_t i = 0; i < 7; i++) {
    blis_yaml_node *key = blis_yaml_make_text(yaml, "spec", names[i], strlen(names[i]));
    is_made = is_made && values[i] != NULL && key != NULL;
    if (is_made) {
      blis_yaml_set_pair(root, i, key, values[i]);
    }
  }
  if (!is_made) {
    blis_yaml_free(yaml);
    return NULL;
  }
  blis_yaml_set_item(list, 0, item);
  return yaml;
}

static void values_come_back(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_yaml *yaml = build(&alloc);
  const blis_yaml_node *root = blis_yaml_root(yaml);
  CHECK_EQ_I64(blis_yaml_count(root), 7);
  double number;
  CHECK_OK(blis_yaml_double(blis_yaml_get(root, "rate"), 0, 1, &number, &error), &error);
  CHECK_EQ_DOUBLE(number, 0.1);
  const blis_yaml_node *list = blis_yaml_get(root, "list");
  CHECK_OK(blis_yaml_double(blis_yaml_item(list, 0), 0, DBL_MAX, &number, &error), &error);
  CHECK_EQ_DOUBLE(number, 1e300);
  int64_t whole;
  CHECK_OK(blis_yaml_int64(blis_yaml_get(root, "count"), INT64_MIN, INT64_MAX, &whole, &error),
           &error);
  CHECK(whole == INT64_MIN);
  blis_slice text;
  CHECK_OK(blis_yaml_text(blis_yaml_get(root, "name"), &text, &error), &error);
  CHECK(blis_slice_equals(text, "7"));
  bool flag;
  CHECK_OK(blis_yaml_bool(blis_yaml_get(root, "on"), &flag, &error), &error);
  CHECK(flag);
  CHECK(blis_yaml_get(root, "none") == NULL);
  CHECK_OK(blis_yaml_need_sequence(blis_yaml_get(root, "empty"), &error), &error);
  CHECK_OK(blis_yaml_need_mapping(blis_yaml_get(root, "empty"), &error), &error);
  blis_yaml_free(yaml);
}

static void messages_tell_the_place(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_yaml *yaml = build(&alloc);
  int64_t whole;
  CHECK_STATUS(blis_yaml_int64(blis_yaml_get(blis_yaml_root(yaml), "name"), 0, 9, &whole, &error),
               BLIS_ERR_PARSE);
  CHECK_STR(error.message, "spec.name: '7' is not a whole number");
  CHECK_STATUS(blis_yaml_int64(blis_yaml_get(blis_yaml_root(yaml), "rate"), 0, 9, &whole, &error),
               BLIS_ERR_PARSE);
  CHECK_STR(error.message, "spec.rate: '0.1' is not a whole number");
  blis_yaml_free(yaml);
}

static void no_memory_is_no_tree(void) {
  blis_yaml *yaml = NULL;
  for (long i = 1; yaml == NULL; i++) {
    blis_alloc_probe memory = {.fail_at = i};
    blis_alloc alloc = blis_alloc_probed(&memory);
    yaml = build(&alloc);
    blis_yaml_free(yaml);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(values_come_back);
  RUN(messages_tell_the_place);
  RUN(no_memory_is_no_tree);
  return check_done();
}
