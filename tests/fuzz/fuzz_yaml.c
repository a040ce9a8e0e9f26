/* YAML: every node can be walked and asked for every type. */
#include "base/format/yaml.h"

#include "fuzz.h"

static void ask(const blis_yaml_node *node) {
  int64_t whole;
  double real;
  bool flag;
  blis_slice text;
  blis_error error = {0};
  fuzz_check(blis_yaml_int64(node, -5, 5, &whole, &error), &error);
  fuzz_check(blis_yaml_double(node, 0, 1, &real, &error), &error);
  fuzz_check(blis_yaml_bool(node, &flag, &error), &error);
  fuzz_check(blis_yaml_text(node, &text, &error), &error);
  fuzz_check(blis_yaml_need_sequence(node, &error), &error);
  fuzz_check(blis_yaml_need_mapping(node, &error), &error);
  if (blis_yaml_type_of(node) == BLIS_YAML_SCALAR) {
    FUZZ_NEED(blis_yaml_kind_of(node) <= BLIS_YAML_IS_TEXT);
    text = blis_yaml_scalar(node);
    FUZZ_NEED(text.length == 0 || text.data[text.length] == '\0');
  }
  FUZZ_NEED(blis_yaml_line(node) >= 1);
}

/* Aliases repeat nodes, so the walk is bounded. */
static void walk(const blis_yaml_node *node, int *left) {
  if (--*left < 0) {
    return;
  }
  ask(node);
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    if (blis_yaml_type_of(node) == BLIS_YAML_MAPPING) {
      const blis_yaml_node *key = blis_yaml_key(node, i);
      ask(key);
      (void)blis_yaml_get(node, blis_yaml_scalar(key).data);
    }
    walk(blis_yaml_item(node, i), left);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  blis_yaml *yaml;
  blis_status status = blis_yaml_parse(&alloc, "fuzz.yaml", fuzz_slice(data, size), &yaml, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    int left = 2000;
    walk(blis_yaml_root(yaml), &left);
    blis_yaml_free(yaml);
  }
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
