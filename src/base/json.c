#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buffer.h"
#include "base/input.h"
#include "base/number.h"

/* Every whole real up to this size is exact. */
#define WHOLE_REAL_MAX 9007199254740992.0

/* jansson wants it writable to count references, which happens nowhere here. */
static json_t *node_of(blis_json_value value) {
  return (json_t *)value.node;
}

blis_status blis_json_parse(blis_json *json, const char *file, int64_t line,
                            blis_slice text, blis_error *error) {
  json_error_t fault;
  const char *data = text.length > 0 ? text.data : "";
  json_t *root = json_loadb(data, text.length,
                            JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &fault);
  if (root != NULL) {
    *json = (blis_json){.file = file, .line = line, .root = root};
    return BLIS_OK;
  }
  if (json_error_code(&fault) == json_error_out_of_memory) {
    return blis_fail_nomem(error);
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: column %d: %s", file,
                   (long long)line + (fault.line > 0 ? fault.line - 1 : 0),
                   fault.column, fault.text);
}

blis_status blis_json_read_input(blis_json *json, const blis_alloc *alloc,
                                 blis_input *input, const char *name,
                                 size_t max_size, blis_error *error) {
  blis_buffer text;
  blis_buffer_init(&text, alloc);
  blis_status status = blis_input_read_rest(input, max_size, &text, error);
  if (status == BLIS_OK) {
    status = blis_json_parse(json, name, 1, blis_buffer_slice(&text), error);
  }
  blis_buffer_deinit(&text);
  return status;
}

blis_status blis_json_read_file(blis_json *json, const blis_alloc *alloc,
                                const char *path, size_t max_size,
                                blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis_input_open(alloc, path, &input, error));
  const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
  blis_status status =
      blis_json_read_input(json, alloc, input, name, max_size, error);
  blis_input_close(input);
  return status;
}

void blis_json_deinit(blis_json *json) {
  json_decref(json->root);
  json->root = NULL;
}

blis_json_value blis_json_root(const blis_json *json) {
  return (blis_json_value){.json = json, .node = json->root};
}

blis_json_type blis_json_type_of(blis_json_value value) {
  if (value.node == NULL) {
    return BLIS_JSON_MISSING;
  }
  switch (json_typeof(node_of(value))) {
  case JSON_OBJECT:
    return BLIS_JSON_OBJECT;
  case JSON_ARRAY:
    return BLIS_JSON_ARRAY;
  case JSON_STRING:
    return BLIS_JSON_TEXT;
  case JSON_INTEGER:
    return BLIS_JSON_INTEGER;
  case JSON_REAL:
    return BLIS_JSON_REAL;
  case JSON_TRUE:
  case JSON_FALSE:
    return BLIS_JSON_BOOL;
  case JSON_NULL:
    break;
  }
  return BLIS_JSON_NULL;
}

bool blis_json_has(blis_json_value value) {
  return blis_json_type_of(value) > BLIS_JSON_NULL;
}

size_t blis_json_count(blis_json_value value) {
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_ARRAY:
    return json_array_size(node_of(value));
  case BLIS_JSON_OBJECT:
    return json_object_size(node_of(value));
  default:
    return 0;
  }
}

blis_json_value blis_json_member(blis_json_value value, const char *key) {
  bool is_object = blis_json_type_of(value) == BLIS_JSON_OBJECT;
  return (blis_json_value){
      .json = value.json,
      .node = is_object ? json_object_get(node_of(value), key) : NULL,
      .key = key};
}

blis_json_value blis_json_item(blis_json_value value, size_t index) {
  bool is_array = blis_json_type_of(value) == BLIS_JSON_ARRAY;
  return (blis_json_value){
      .json = value.json,
      .node = is_array ? json_array_get(node_of(value), index) : NULL,
      .key = value.key,
      .item = index + 1};
}

bool blis_json_next(blis_json_value value, const char **key,
                    blis_json_value *member) {
  if (blis_json_type_of(value) != BLIS_JSON_OBJECT) {
    return false;
  }
  json_t *object = node_of(value);
  void *place =
      *key == NULL
          ? json_object_iter(object)
          : json_object_iter_next(object, json_object_key_to_iter(*key));
  if (place == NULL) {
    return false;
  }
  *key = json_object_iter_key(place);
  *member = (blis_json_value){
      .json = value.json, .node = json_object_iter_value(place), .key = *key};
  return true;
}

/* A value as a message shows it. */
static blis_shown show(blis_json_value value) {
  blis_shown shown = {"null"};
  char number[BLIS_DOUBLE_TEXT_SIZE];
  json_t *node = node_of(value);
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_TEXT:
    return blis_show((blis_slice){.data = json_string_value(node),
                                  .length = json_string_length(node)});
  case BLIS_JSON_INTEGER:
    snprintf(shown.text, sizeof shown.text, "%lld",
             (long long)json_integer_value(node));
    break;
  case BLIS_JSON_REAL:
    blis_format_double(json_real_value(node), BLIS_DOUBLE_JSON, number);
    snprintf(shown.text, sizeof shown.text, "%.60s", number);
    break;
  case BLIS_JSON_BOOL:
    snprintf(shown.text, sizeof shown.text, "%s",
             json_is_true(node) ? "true" : "false");
    break;
  case BLIS_JSON_ARRAY:
    snprintf(shown.text, sizeof shown.text, "an array");
    break;
  case BLIS_JSON_OBJECT:
    snprintf(shown.text, sizeof shown.text, "an object");
    break;
  case BLIS_JSON_NULL:
  case BLIS_JSON_MISSING:
    break;
  }
  return shown;
}

blis_status blis_json_fail(blis_json_value value, const char *what,
                           blis_error *error) {
  char key[192] = "";
  char item[32] = "";
  if (value.key != NULL) {
    snprintf(key, sizeof key,
             " key %s:", blis_show(blis_slice_of(value.key)).text);
  }
  if (value.item > 0) {
    snprintf(item, sizeof item, " item %zu:", value.item);
  }
  bool is_missing = value.node == NULL;
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld:%s%s %s %s",
                   value.json->file, (long long)value.json->line, key, item,
                   is_missing ? "is" : show(value).text,
                   is_missing ? "missing" : what);
}

static blis_status fail_range(blis_json_value value, blis_range_text range,
                              blis_error *error) {
  char what[96];
  snprintf(what, sizeof what, "is not allowed, expected %s", range.text);
  return blis_json_fail(value, what, error);
}

/* False when the value is no whole number that is exact. */
static bool whole_number(blis_json_value value, int64_t *result) {
  json_t *node = node_of(value);
  blis_json_type type = blis_json_type_of(value);
  if (type == BLIS_JSON_INTEGER) {
    *result = json_integer_value(node);
    return true;
  }
  double real = type == BLIS_JSON_REAL ? json_real_value(node) : 0.5;
  if (real != floor(real) || fabs(real) > WHOLE_REAL_MAX) {
    return false;
  }
  *result = (int64_t)real;
  return true;
}

blis_status blis_json_int64(blis_json_value value, int64_t min, int64_t max,
                            int64_t *result, blis_error *error) {
  int64_t whole;
  if (!whole_number(value, &whole)) {
    return blis_json_fail(value, "is not a whole number", error);
  }
  if (whole < min || whole > max) {
    return fail_range(value, blis_range_of_int64(min, max), error);
  }
  *result = whole;
  return BLIS_OK;
}

blis_status blis_json_double(blis_json_value value, double min, double max,
                             double *result, blis_error *error) {
  blis_json_type type = blis_json_type_of(value);
  if (type != BLIS_JSON_INTEGER && type != BLIS_JSON_REAL) {
    return blis_json_fail(value, "is not a number", error);
  }
  double number = json_number_value(node_of(value));
  if (number < min || number > max) {
    return fail_range(value, blis_range_of_double(min, max), error);
  }
  *result = number;
  return BLIS_OK;
}

blis_status blis_json_bool(blis_json_value value, bool *result,
                           blis_error *error) {
  if (blis_json_type_of(value) != BLIS_JSON_BOOL) {
    return blis_json_fail(value, "is neither true nor false", error);
  }
  *result = json_is_true(node_of(value));
  return BLIS_OK;
}

blis_status blis_json_text(blis_json_value value, blis_slice *result,
                           blis_error *error) {
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    return blis_json_fail(value, "is not a string", error);
  }
  json_t *node = node_of(value);
  *result = (blis_slice){.data = json_string_value(node),
                         .length = json_string_length(node)};
  return BLIS_OK;
}

blis_status blis_json_need_array(blis_json_value value, blis_error *error) {
  bool is_array = blis_json_type_of(value) == BLIS_JSON_ARRAY;
  return is_array ? BLIS_OK : blis_json_fail(value, "is not an array", error);
}

blis_status blis_json_need_object(blis_json_value value, blis_error *error) {
  bool is_object = blis_json_type_of(value) == BLIS_JSON_OBJECT;
  return is_object ? BLIS_OK : blis_json_fail(value, "is not an object", error);
}
