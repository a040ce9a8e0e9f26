#include "base/format/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/format/input.h"
#include "base/format/json_tree.h"
#include "base/number.h"

/* Every whole real up to this size is exact. */
#define WHOLE_REAL_MAX 9007199254740992.0

void blis_json_init(blis_json *json, const blis_alloc *alloc) {
  *json = (blis_json){.alloc = *alloc};
  blis_buffer_init(&json->text, alloc);
}

void blis_json_deinit(blis_json *json) {
  blis_buffer_deinit(&json->text);
  blis_array_deinit(&json->alloc, &json->nodes);
  blis_array_deinit(&json->alloc, &json->open);
  json->root = NULL;
}

void blis_json_allow_any_number(blis_json *json) {
  json->allows_any_number = true;
}

blis_status blis_json_parse(blis_json *json, const char *file, int64_t line, blis_slice text,
                            blis_error *error) {
  json->file = file;
  json->line = line;
  blis_status status = blis__json_tree_parse(json, text, error);
  return status == BLIS_ERR_NOMEM ? blis_fail_nomem(error) : status;
}

blis_status blis_json_read_input(blis_json *json, blis_input *input, const char *name,
                                 size_t max_size, blis_error *error) {
  blis_buffer text;
  blis_buffer_init(&text, &json->alloc);
  blis_status status = blis_input_read_rest(input, max_size, &text, error);
  if (status == BLIS_OK) {
    status = blis_json_parse(json, name, 1, blis_buffer_slice(&text), error);
  }
  blis_buffer_deinit(&text);
  return status;
}

blis_status blis_json_read_file(blis_json *json, const char *path, size_t max_size,
                                blis_error *error) {
  blis_input *input;
  BLIS_TRY(blis_input_open(&json->alloc, path, &input, error));
  const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
  blis_status status = blis_json_read_input(json, input, name, max_size, error);
  blis_input_close(input);
  return status;
}

/* Values. */

blis_json_value blis_json_root(const blis_json *json) {
  return (blis_json_value){.json = json, .node = json->root};
}

blis_json_type blis_json_type_of(blis_json_value value) {
  return value.node != NULL ? value.node->type : BLIS_JSON_MISSING;
}

bool blis_json_has(blis_json_value value) {
  return blis_json_type_of(value) > BLIS_JSON_NULL;
}

static bool is_object(blis_json_value value) {
  return blis_json_type_of(value) == BLIS_JSON_OBJECT;
}

static bool is_array(blis_json_value value) {
  return blis_json_type_of(value) == BLIS_JSON_ARRAY;
}

/* Returns the items of an array, or the keys and values of an object; NULL for other values. */
static const blis__json_node *content_of(blis_json_value value) {
  return value.node->count > 0 ? value.json->nodes.items + value.node->first : NULL;
}

size_t blis_json_count(blis_json_value value) {
  return is_array(value) || is_object(value) ? value.node->count : 0;
}

blis_json_value blis_json_member(blis_json_value value, const char *key) {
  blis_json_value member = {.json = value.json, .key = key};
  if (!is_object(value)) {
    return member;
  }
  size_t length = strlen(key);
  const blis__json_node *at = content_of(value);
  for (size_t i = 0; i < value.node->count; i++, at += 2) {
    if (at->count == length && memcmp(at->text, key, length) == 0) {
      member.node = at + 1;
      return member;
    }
  }
  return member;
}

blis_json_value blis_json_item(blis_json_value value, size_t index) {
  bool is_there = is_array(value) && index < value.node->count;
  return (blis_json_value){.json = value.json,
                           .node = is_there ? content_of(value) + index : NULL,
                           .key = value.key,
                           .item = index + 1};
}

bool blis_json_next(blis_json_value value, const char **key, blis_json_value *member) {
  if (!is_object(value) || value.node->count == 0) {
    return false;
  }
  const blis__json_node *first = content_of(value);
  const blis__json_node *next = *key == NULL ? first : member->node + 1;
  if (next == first + 2 * value.node->count) {
    return false;
  }
  *key = next->text;
  *member = (blis_json_value){.json = value.json, .node = next + 1, .key = next->text};
  return true;
}

/* Returns a value as shown in messages. */
static blis_shown show(blis_json_value value) {
  blis_shown shown = {"null"};
  char number[BLIS_DOUBLE_TEXT_SIZE];
  const blis__json_node *node = value.node;
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_TEXT:
    return blis_show((blis_slice){node->text, node->count});
  case BLIS_JSON_INTEGER:
    snprintf(shown.text, sizeof shown.text, "%lld", (long long)node->whole);
    break;
  case BLIS_JSON_REAL:
    blis_format_double(node->real, BLIS_DOUBLE_JSON, number);
    snprintf(shown.text, sizeof shown.text, "%.60s",
             isfinite(node->real) ? number
             : isnan(node->real)  ? "NaN"
             : node->real > 0     ? "Infinity"
                                  : "-Infinity");
    break;
  case BLIS_JSON_BOOL:
    snprintf(shown.text, sizeof shown.text, "%s", node->flag ? "true" : "false");
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

/* How messages begin: " key 'rate': item 2:"; "" at the top of a tree. */
typedef struct place {
  char text[256];
} place;

static place place_of(blis_json_value value) {
  place found;
  char key[192] = "";
  char item[32] = "";
  if (value.key != NULL) {
    snprintf(key, sizeof key, " key %s:", blis_show(blis_slice_of(value.key)).text);
  }
  if (value.item > 0) {
    snprintf(item, sizeof item, " item %zu:", value.item);
  }
  snprintf(found.text, sizeof found.text, "%s%s", key, item);
  return found;
}

blis_status blis_json_fail(blis_json_value value, const char *what, blis_error *error) {
  bool is_missing = value.node == NULL;
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld:%s %s %s", value.json->file,
                   (long long)value.json->line, place_of(value).text,
                   is_missing ? "is" : show(value).text, is_missing ? "missing" : what);
}

blis_status blis_json_invalid(blis_json_value value, const char *expected, blis_error *error) {
  if (value.node == NULL) {
    return blis_json_fail(value, "", error);
  }
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld:%s invalid value %s: expected %s",
                   value.json->file, (long long)value.json->line, place_of(value).text,
                   show(value).text, expected);
}

/* Returns whether the value is a whole number, exact or not. */
static bool is_whole(blis_json_value value) {
  return blis_json_type_of(value) == BLIS_JSON_INTEGER ||
         (blis_json_type_of(value) == BLIS_JSON_REAL && isfinite(value.node->real) &&
          value.node->real == floor(value.node->real));
}

/* Returns false if the value is not a whole number or is not exact. */
static bool whole_number(blis_json_value value, int64_t *result) {
  blis_json_type type = blis_json_type_of(value);
  if (type == BLIS_JSON_INTEGER) {
    *result = value.node->whole;
    return true;
  }
  double real = type == BLIS_JSON_REAL ? value.node->real : 0.5;
  if (real != floor(real) || !(fabs(real) <= WHOLE_REAL_MAX)) {
    return false;
  }
  *result = (int64_t)real;
  return true;
}

blis_status blis_json_int64(blis_json_value value, int64_t min, int64_t max, int64_t *result,
                            blis_error *error) {
  int64_t whole;
  if (!whole_number(value, &whole)) {
    return blis_json_fail(value, is_whole(value) ? "is out of range" : "is not a whole number",
                          error);
  }
  if (whole < min || whole > max) {
    return blis_json_invalid(value, blis_range_of_int64(min, max).text, error);
  }
  *result = whole;
  return BLIS_OK;
}

blis_status blis_json_id64(blis_json_value value, uint64_t *result, blis_error *error) {
  if (blis_json_type_of(value) == BLIS_JSON_REAL && value.node->count != 0) {
    *result = value.node->count;
    return BLIS_OK;
  }
  int64_t whole;
  BLIS_TRY(blis_json_int64(value, 0, INT64_MAX, &whole, error));
  *result = (uint64_t)whole;
  return BLIS_OK;
}

blis_status blis_json_double(blis_json_value value, double min, double max, double *result,
                             blis_error *error) {
  blis_json_type type = blis_json_type_of(value);
  if (type != BLIS_JSON_INTEGER && type != BLIS_JSON_REAL) {
    return blis_json_fail(value, "is not a number", error);
  }
  double number = type == BLIS_JSON_REAL ? value.node->real : (double)value.node->whole;
  if (!isfinite(number)) {
    return blis_json_fail(value, "is not a finite number", error);
  }
  if (number < min || number > max) {
    return blis_json_invalid(value, blis_range_of_double(min, max).text, error);
  }
  *result = number;
  return BLIS_OK;
}

blis_status blis_json_bool(blis_json_value value, bool *result, blis_error *error) {
  if (blis_json_type_of(value) != BLIS_JSON_BOOL) {
    return blis_json_fail(value, "is neither true nor false", error);
  }
  *result = value.node->flag;
  return BLIS_OK;
}

blis_status blis_json_text(blis_json_value value, blis_slice *result, blis_error *error) {
  if (blis_json_type_of(value) != BLIS_JSON_TEXT) {
    return blis_json_fail(value, "is not a string", error);
  }
  *result = (blis_slice){value.node->text, value.node->count};
  return BLIS_OK;
}

blis_status blis_json_need_array(blis_json_value value, blis_error *error) {
  return is_array(value) ? BLIS_OK : blis_json_fail(value, "is not an array", error);
}

blis_status blis_json_need_object(blis_json_value value, blis_error *error) {
  return is_object(value) ? BLIS_OK : blis_json_fail(value, "is not an object", error);
}
