#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format/yaml_tree.h"
#include "base/invariant.h"
#include "base/number.h"

/* Longer scalars are not numbers. */
enum { NUMBER_LENGTH_MAX = 400 };

blis_yaml_type blis_yaml_type_of(const blis_yaml_node *node) {
  return node->type;
}

const char *blis_yaml_file(const blis_yaml_node *node) {
  return node->yaml->file;
}

int64_t blis_yaml_line(const blis_yaml_node *node) {
  return node->line;
}

size_t blis_yaml_count(const blis_yaml_node *node) {
  return node->count;
}

const blis_yaml_node *blis_yaml_item(const blis_yaml_node *node, size_t index) {
  BLIS_ASSERT(index < node->count);
  return node->pairs[index].item;
}

const blis_yaml_node *blis_yaml_key(const blis_yaml_node *node, size_t index) {
  BLIS_ASSERT(node->type == BLIS_YAML_MAPPING && index < node->count);
  return node->pairs[index].key;
}

const blis_yaml_node *blis_yaml_get(const blis_yaml_node *node, const char *key) {
  if (node->type != BLIS_YAML_MAPPING) {
    return NULL;
  }
  for (size_t i = 0; i < node->count; i++) {
    if (blis_slice_equals(node->pairs[i].key->text, key)) {
      const blis_yaml_node *value = node->pairs[i].item;
      return blis_yaml_is_null(value) ? NULL : value;
    }
  }
  return NULL;
}

blis_slice blis_yaml_scalar(const blis_yaml_node *node) {
  return node->text;
}

static bool is_one_of(blis_slice text, const char *const *words) {
  for (; *words != NULL; words++) {
    if (blis_slice_equals(text, *words)) {
      return true;
    }
  }
  return false;
}

bool blis_yaml_is_null(const blis_yaml_node *node) {
  static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
  return node->is_plain && is_one_of(node->text, words);
}

/* A number in a plain scalar. */
typedef struct number {
  blis_yaml_kind kind; /* integer, real, or text if it is not a number */
  int64_t integer;
  double real; /* also set for an integer */
} number;

/* Parses digits in a base, without sign. Returns false for any other character. */
static bool parse_based(blis_slice digits, unsigned base, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < digits.length; i++) {
    char c = digits.data[i];
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                            : base;
    if (digit >= base || *value > (UINT64_MAX - digit) / base) {
      return false;
    }
    *value = *value * base + digit;
  }
  return digits.length > 0;
}

/*
 * Removes a prefix that selects a base ("0x", "0o", "0b", "0") from the digits. Returns the base.
 */
static unsigned take_base(blis_slice *digits) {
  if (digits->length < 2 || digits->data[0] != '0') {
    return 10;
  }
  char c = digits->data[1];
  unsigned base = c == 'x' || c == 'X'   ? 16
                  : c == 'o' || c == 'O' ? 8
                  : c == 'b' || c == 'B' ? 2
                                         : 0;
  size_t skipped = base > 0 ? 2 : 1;
  digits->data += skipped;
  digits->length -= skipped;
  return base > 0 ? base : 8;
}

/* Parses an integer in any base, in the range of int64_t. */
static bool parse_integer(blis_slice text, int64_t *value) {
  if (text.length == 0) {
    return false;
  }
  bool is_negative = text.data[0] == '-';
  bool has_sign = is_negative || text.data[0] == '+';
  blis_slice digits = {.data = text.data + has_sign, .length = text.length - has_sign};
  unsigned base = take_base(&digits);
  uint64_t size;
  if (!parse_based(digits, base, &size) || size > (uint64_t)INT64_MAX + is_negative) {
    return false;
  }
  *value = is_negative && size > 0 ? -(int64_t)(size - 1) - 1 : (int64_t)size;
  return true;
}

static bool parse_special(blis_slice text, double *value) {
  static const char *const positive[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", NULL};
  static const char *const negative[] = {"-.inf", "-.Inf", "-.INF", NULL};
  static const char *const nan[] = {".nan", ".NaN", ".NAN", NULL};
  if (is_one_of(text, positive)) {
    *value = (double)INFINITY;
  } else if (is_one_of(text, negative)) {
    *value = -(double)INFINITY;
  } else if (is_one_of(text, nan)) {
    *value = (double)NAN;
  } else {
    return false;
  }
  return true;
}

static number number_of(const blis_yaml_node *node) {
  number result = {.kind = BLIS_YAML_IS_TEXT};
  char digits[NUMBER_LENGTH_MAX];
  size_t length = 0;
  bool may_be_number = node->is_plain && node->text.length > 0 &&
                       node->text.length <= sizeof digits &&
                       strchr("+-.0123456789", node->text.data[0]) != NULL;
  if (!may_be_number) {
    return result;
  }
  for (size_t i = 0; i < node->text.length; i++) {
    if (node->text.data[i] != '_') {
      digits[length++] = node->text.data[i];
    }
  }
  blis_slice text = {.data = digits, .length = length};
  if (parse_integer(text, &result.integer)) {
    result.kind = BLIS_YAML_IS_INTEGER;
    result.real = (double)result.integer;
  } else if (parse_special(text, &result.real) ||
             blis_parse_double(text, &result.real) == BLIS_NUMBER_OK) {
    result.kind = BLIS_YAML_IS_REAL;
  }
  return result;
}

blis_yaml_kind blis_yaml_kind_of(const blis_yaml_node *scalar) {
  static const char *const words[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
  if (blis_yaml_is_null(scalar)) {
    return BLIS_YAML_IS_NULL;
  }
  if (scalar->is_plain && is_one_of(scalar->text, words)) {
    return BLIS_YAML_IS_BOOL;
  }
  return number_of(scalar).kind;
}

/* Returns a node as shown in messages. */
static blis_shown show(const blis_yaml_node *node) {
  if (node->type == BLIS_YAML_SCALAR && !blis_yaml_is_null(node)) {
    return blis_show(node->text);
  }
  blis_shown shown;
  snprintf(shown.text, sizeof shown.text, "%s",
           node->type == BLIS_YAML_MAPPING    ? "a mapping"
           : node->type == BLIS_YAML_SEQUENCE ? "a list"
                                              : "null");
  return shown;
}

blis_yaml_place blis_yaml_place_of(const blis_yaml_node *node) {
  blis_yaml_place place;
  if (node->place != NULL) {
    snprintf(place.text, sizeof place.text, "%.400s:", node->place);
    return place;
  }
  char key[192] = "";
  char item[32] = "";
  if (node->key != NULL) {
    snprintf(key, sizeof key, " key %s:", blis_show(node->key->text).text);
  }
  if (node->item > 0) {
    snprintf(item, sizeof item, " item %zu:", node->item);
  }
  snprintf(place.text, sizeof place.text, "%.200s:%lld:%s%s", node->yaml->file,
           (long long)node->line, key, item);
  return place;
}

blis_status blis_yaml_fail(const blis_yaml_node *node, const char *what, blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s %s %s", blis_yaml_place_of(node).text,
                   show(node).text, what);
}

blis_status blis_yaml_invalid(const blis_yaml_node *node, const char *expected, blis_error *error) {
  return blis_fail(error, BLIS_ERR_PARSE, "%s invalid value %s: expected %s",
                   blis_yaml_place_of(node).text, show(node).text, expected);
}

/* Fails for a value of another type. A quoted scalar gets a hint, because it may look right. */
static blis_status fail_type(const blis_yaml_node *node, const char *type, blis_error *error) {
  bool is_quoted = node->type == BLIS_YAML_SCALAR && !node->is_plain && node->place == NULL;
  char what[96];
  snprintf(what, sizeof what, "%sis not %s", is_quoted ? "in quotes " : "", type);
  return blis_yaml_fail(node, what, error);
}

blis_status blis_yaml_int64(const blis_yaml_node *node, int64_t min, int64_t max, int64_t *value,
                            blis_error *error) {
  number found = number_of(node);
  bool is_real = found.kind == BLIS_YAML_IS_REAL && !isnan(found.real);
  if (found.kind != BLIS_YAML_IS_INTEGER && !is_real) {
    return fail_type(node, "a whole number", error);
  }
  if (is_real && !(found.real > -0x1p63 && found.real < 0x1p63)) {
    return blis_yaml_invalid(node, blis_range_of_int64(min, max).text, error);
  }
  int64_t whole = is_real ? (int64_t)found.real : found.integer;
  if (is_real && (double)whole != found.real) {
    return fail_type(node, "a whole number", error);
  }
  if (whole < min || whole > max) {
    return blis_yaml_invalid(node, blis_range_of_int64(min, max).text, error);
  }
  *value = whole;
  return BLIS_OK;
}

blis_status blis_yaml_double(const blis_yaml_node *node, double min, double max, double *value,
                             blis_error *error) {
  number found = number_of(node);
  if (found.kind == BLIS_YAML_IS_TEXT) {
    return fail_type(node, "a number", error);
  }
  if (!(found.real >= min && found.real <= max)) {
    return blis_yaml_invalid(node, blis_range_of_double(min, max).text, error);
  }
  *value = found.real;
  return BLIS_OK;
}

blis_status blis_yaml_bool(const blis_yaml_node *node, bool *value, blis_error *error) {
  static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                    "on",   "On",   "ON",   "y",   "Y",   NULL};
  static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
                                   "off",   "Off",   "OFF",   "n",  "N",  NULL};
  bool is_true = node->is_plain && is_one_of(node->text, yes);
  bool is_false = node->is_plain && is_one_of(node->text, no);
  if (!is_true && !is_false) {
    return fail_type(node, "a boolean (true or false)", error);
  }
  *value = is_true;
  return BLIS_OK;
}

blis_status blis_yaml_text(const blis_yaml_node *node, blis_slice *value, blis_error *error) {
  if (node->type != BLIS_YAML_SCALAR || blis_yaml_is_null(node)) {
    return blis_yaml_fail(node, "is not a string", error);
  }
  *value = node->text;
  return BLIS_OK;
}

/* Returns whether the node is an empty collection built in memory, which counts as either kind. */
static bool is_nothing(const blis_yaml_node *node) {
  return node->place != NULL && node->type != BLIS_YAML_SCALAR && node->count == 0;
}

blis_status blis_yaml_need_sequence(const blis_yaml_node *node, blis_error *error) {
  bool is_sequence = node->type == BLIS_YAML_SEQUENCE || is_nothing(node);
  return is_sequence ? BLIS_OK : blis_yaml_fail(node, "is not a list", error);
}

blis_status blis_yaml_need_mapping(const blis_yaml_node *node, blis_error *error) {
  bool is_mapping = node->type == BLIS_YAML_MAPPING || is_nothing(node);
  return is_mapping ? BLIS_OK : blis_yaml_fail(node, "is not a mapping", error);
}
