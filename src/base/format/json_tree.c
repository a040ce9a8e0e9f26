#include "base/format/json_tree.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"

enum {
  DEPTH_MAX = 2048,
  SAFE_DIGITS = 18, /* a number of at most this many digits fits into 64 bits */
  FEW_MEMBERS = 16  /* the keys of a larger object are sorted to find duplicates */
};

typedef struct parser {
  blis_json *json;
  blis_slice text; /* unchanged input; in the copy, escapes are replaced */
  blis_error *error;
  char *at; /* position in the copy of the text, which is followed by zeros */
  int depth;
} parser;

static blis_status parse_value(parser *p, blis__json_node *value);

/*
 * Errors. `at` points into the copy; lines and columns count from 1, and a column is a character.
 */

static bool is_at_end(const parser *p, const char *at) {
  return at == p->json->text.data + p->text.length;
}

/* Returns the unchanged text that starts at `at`. */
static blis_slice given(const parser *p, const char *at) {
  size_t offset = (size_t)(at - p->json->text.data);
  return (blis_slice){p->text.data + offset, p->text.length - offset};
}

BLIS_PRINTF(3, 4)
static blis_status fail(const parser *p, const char *at, const char *format, ...) {
  int64_t line = p->json->line;
  int64_t column = 1;
  for (const char *c = p->text.data, *end = given(p, at).data; c < end; c++) {
    bool is_inside_character = ((unsigned char)*c & 0xc0) == 0x80;
    line += *c == '\n';
    column = *c == '\n' ? 1 : column + !is_inside_character;
  }
  char what[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return blis_fail(p->error, BLIS_ERR_PARSE, "%s:%lld: column %lld: %s", p->json->file,
                   (long long)line, (long long)column, what);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_of_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '+' || c == '-' || (unsigned char)c >= 128;
}

/* Returns the word, number, or single character at `at`, in quotes. */
static blis_shown show_token(const parser *p, const char *at) {
  blis_slice rest = given(p, at);
  size_t length = 0;
  while (length < rest.length && is_of_word(rest.data[length])) {
    length++;
  }
  return blis_show((blis_slice){rest.data, length > 0 ? length : 1});
}

static blis_status fail_expected(const parser *p, const char *expected) {
  if (is_at_end(p, p->at)) {
    return fail(p, p->at, "unexpected end of text; expected %s", expected);
  }
  return fail(p, p->at, "unexpected %s; expected %s", show_token(p, p->at).text, expected);
}

/* Characters. */

static char *behind_space(char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') {
    at++;
  }
  return at;
}

static void skip_space(parser *p) {
  p->at = behind_space(p->at);
}

/* If c is next, moves past it and the white space after it. */
static bool take(parser *p, char c) {
  if (*p->at != c) {
    return false;
  }
  p->at++;
  skip_space(p);
  return true;
}

/* Numbers. */

static blis_status fail_number(const parser *p, const char *start, const char *expected) {
  return fail(p, start, "invalid number %s; expected %s", show_token(p, start).text, expected);
}

/* Parses the number that ends at p->at as a real. */
static blis_status parse_real(const parser *p, const char *start, blis__json_node *value) {
  double real = HUGE_VAL;
  const blis_slice text = {start, (size_t)(p->at - start)};
  if (blis_parse_double(text, &real) == BLIS_NUMBER_MALFORMED) {
    real = strtod(start, NULL); /* blis_parse_double limits the length */
  }
  *value = (blis__json_node){.type = BLIS_JSON_REAL, .real = real};
  return isfinite(real) ? BLIS_OK
                        : fail(p, start, "number %s is out of range; expected -%.16e to %.16e",
                               blis_show(text).text, DBL_MAX, DBL_MAX);
}

/*
 * An integer beyond int64_t becomes a real, so that it causes no error in a field that is never
 * read. Its node also contains an ID: the number itself, or a hash of its digits beyond 2^64 - 1.
 */
static blis_status parse_long_integer(const parser *p, const char *start, blis__json_node *value) {
  const size_t length = (size_t)(p->at - start);
  uint64_t number = 0;
  bool fits = true;
  BLIS_TRY(parse_real(p, start, value));
  if (*start == '-') {
    return BLIS_OK;
  }
  for (size_t i = 0; fits && i < length; i++) {
    uint64_t digit = (uint64_t)(start[i] - '0');
    fits = number <= (UINT64_MAX - digit) / 10;
    number = number * 10 + digit;
  }
  value->count = fits ? number : blis_hash64(start, length, 1);
  return BLIS_OK;
}

/* Reads digits into *size, which is wrong for more than SAFE_DIGITS of them. */
static char *behind_digits(char *at, uint64_t *size) {
  *size = 0;
  for (; is_digit(*at); at++) {
    *size = *size * 10 + (uint64_t)(*at - '0');
  }
  return at;
}

/* Moves past digits. Returns false if the next character is not a digit. */
static bool take_digits(parser *p) {
  const char *start = p->at;
  uint64_t size;
  p->at = behind_digits(p->at, &size);
  return p->at > start;
}

/* Moves past the fraction and the exponent of the number at start. */
static blis_status take_fraction_and_exponent(parser *p, const char *start) {
  if (*p->at == '.') {
    p->at++;
    if (!take_digits(p)) {
      return fail_number(p, start, "a digit after the point");
    }
  }
  if (*p->at == 'e' || *p->at == 'E') {
    p->at++;
    p->at += *p->at == '-' || *p->at == '+';
    if (!take_digits(p)) {
      return fail_number(p, start, "a digit in the exponent");
    }
  }
  return BLIS_OK;
}

static blis_status parse_number(parser *p, blis__json_node *value) {
  const char *start = p->at;
  bool is_negative = *start == '-';
  char *digits = p->at + is_negative;
  uint64_t size;
  p->at = behind_digits(digits, &size);
  ptrdiff_t count = p->at - digits;
  if (count == 0) {
    return fail_number(p, start, "a digit after the minus sign");
  }
  if (*digits == '0' && count > 1) {
    return fail_number(p, start, "no leading zeros");
  }
  if (*p->at == '.' || *p->at == 'e' || *p->at == 'E') {
    BLIS_TRY(take_fraction_and_exponent(p, start));
    return parse_real(p, start, value);
  }
  *value = (blis__json_node){.type = BLIS_JSON_INTEGER};
  if (count <= SAFE_DIGITS) {
    value->whole = is_negative ? -(int64_t)size : (int64_t)size;
    return BLIS_OK;
  }
  const blis_slice text = {start, (size_t)(p->at - start)};
  if (blis_parse_int64(text, &value->whole) == BLIS_NUMBER_OK) {
    return BLIS_OK;
  }
  if (p->json->allows_any_number) {
    return parse_long_integer(p, start, value);
  }
  return fail(p, start, "integer %s is out of range; expected %lld to %lld", blis_show(text).text,
              (long long)INT64_MIN, (long long)INT64_MAX);
}

/* Texts. */

/* Returns whether any of 8 bytes is a quote, a backslash, below 32, or above 127. */
static bool has_special(uint64_t bytes) {
  const uint64_t ones = UINT64_MAX / 255;
  uint64_t quote = bytes ^ (ones * '"');
  uint64_t backslash = bytes ^ (ones * '\\');
  uint64_t low = (bytes - ones * 32) | (quote - ones) | (backslash - ones);
  return ((low | bytes) & (ones * 128)) != 0;
}

/* Returns the end of the bytes that need no special handling. */
static char *behind_plain(char *at) {
  uint64_t bytes;
  for (;; at += sizeof bytes) {
    memcpy(&bytes, at, sizeof bytes); /* zeros follow the copy */
    if (has_special(bytes)) {
      break;
    }
  }
  for (unsigned char c = (unsigned char)*at; c >= ' ' && c < 128 && c != '"' && c != '\\';
       c = (unsigned char)*at) {
    at++;
  }
  return at;
}

/* Returns the length of the UTF-8 sequence at a byte above 127; 0 if it is invalid. */
static size_t sequence_length(const char *at) {
  const unsigned char *b = (const unsigned char *)at;
  size_t length = b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < length; i++) {
    if ((b[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  bool is_overlong = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xf0 && b[1] < 0x90);
  bool is_surrogate = b[0] == 0xed && b[1] >= 0xa0;
  bool is_beyond = b[0] > 0xf4 || (b[0] == 0xf4 && b[1] >= 0x90);
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/* Parses four hexadecimal digits. Returns -1 if they are invalid. */
static int32_t hex4(const char *at) {
  int32_t value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    int digit = is_digit(c)            ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) {
      return -1;
    }
    value = value * 16 + digit;
  }
  return value;
}

/* Fails at an escape, which is shown with at most `length` characters. */
static blis_status fail_escape(const parser *p, const char *at, size_t length,
                               const char *expected) {
  blis_slice escape = given(p, at);
  escape.length = escape.length < length ? escape.length : length;
  return fail(p, at, "invalid escape %s; expected %s", blis_show(escape).text, expected);
}

/* Moves past "\uXXXX", or two for a surrogate pair. Returns the character, or 0 after an error. */
static uint32_t take_code_point(parser *p) {
  int32_t first = hex4(p->at + 2);
  if (first < 0) {
    fail_escape(p, p->at, 6, "four hexadecimal digits");
    return 0;
  }
  if (first == 0) {
    fail_escape(p, p->at, 6, "a character other than zero");
    return 0;
  }
  if (first < 0xd800 || first >= 0xe000) {
    p->at += 6;
    return (uint32_t)first;
  }
  int32_t second = p->at[6] == '\\' && p->at[7] == 'u' ? hex4(p->at + 8) : -1;
  if (first >= 0xdc00 || second < 0xdc00 || second >= 0xe000) {
    fail_escape(p, p->at, 12, "a surrogate pair such as \\ud83d\\ude00");
    return 0;
  }
  p->at += 12;
  return 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
}

/* Writes a character in UTF-8. Returns the position of the next character. */
static char *write_code_point(uint32_t code, char *to) {
  if (code < 0x80) {
    *to++ = (char)code;
    return to;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
  *to++ = (char)(marks[more] | code >> 6 * more);
  while (more-- > 0) {
    *to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
  }
  return to;
}

/*
 * Replaces the escape at p->at with its character. Returns the position of the next character, or
 * NULL after an error.
 */
static char *take_escape(parser *p, char *to) {
  static const char names[] = "\"\\/bfnrt";
  static const char values[] = "\"\\/\b\f\n\r\t";
  char c = p->at[1];
  if (c == 'u') {
    uint32_t code = take_code_point(p);
    return code != 0 ? write_code_point(code, to) : NULL;
  }
  const char *name = c != '\0' ? strchr(names, c) : NULL;
  if (name == NULL) {
    fail_escape(p, p->at, 2, "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
    return NULL;
  }
  p->at += 2;
  *to++ = values[name - names];
  return to;
}

/* Fails at the byte p->at of the string that starts at the quote `start`. */
static blis_status fail_in_text(const parser *p, const char *start) {
  if (is_at_end(p, p->at)) {
    return fail(p, start, "the string does not end; expected '\"' after it");
  }
  unsigned byte = (unsigned char)*p->at;
  if (byte >= 128) {
    return fail(p, p->at, "invalid byte 0x%02x; expected UTF-8", byte);
  }
  return fail(p, p->at, "control character 0x%02x in a string; expected an escape: \\u%04x", byte,
              byte);
}

/*
 * Moves past the rest of the string that starts at the quote `start` and has escapes or characters
 * other than ASCII. Returns where the string ends, or NULL after an error.
 */
static char *take_rest(parser *p, const char *start, char *to) {
  while (*p->at != '"') {
    const char *from = p->at;
    size_t length = 0;
    if (*from == '\\' && !is_at_end(p, from + 1)) {
      to = take_escape(p, to);
      if (to == NULL) {
        return NULL;
      }
      continue;
    }
    if ((unsigned char)*from >= 128) {
      length = sequence_length(from);
      p->at += length;
    } else if (*from != '\\') {
      p->at = behind_plain(p->at);
      length = (size_t)(p->at - from);
    }
    if (length == 0) {
      p->at += *from == '\\';
      fail_in_text(p, start);
      return NULL;
    }
    memmove(to, from, length);
    to += length;
  }
  return to;
}

/* Parses a string, starting at its quote. */
static blis_status parse_text(parser *p, blis__json_node *value) {
  const char *start = p->at + 1;
  p->at = behind_plain(p->at + 1);
  char *end = *p->at == '"' ? p->at : take_rest(p, start - 1, p->at);
  if (end == NULL) {
    return BLIS_ERR_PARSE;
  }
  p->at++;
  *end = '\0';
  *value = (blis__json_node){.type = BLIS_JSON_TEXT, .count = (size_t)(end - start), .text = start};
  return BLIS_OK;
}

/* Arrays and objects. A value stays on a stack until it is complete. */

/* Pushes a new node, valid until the next push; NULL = out of memory. */
static blis__json_node *push(blis_json *json) {
  if (blis_array_reserve(&json->alloc, &json->open, json->open.count + 1) != BLIS_OK) {
    return NULL;
  }
  return &json->open.items[json->open.count++];
}

/*
 * Pushes a copy of a complete value. The value is parsed outside the stack, because the stack may
 * move in the meantime.
 */
static blis_status push_copy(blis_json *json, const blis__json_node *value) {
  blis__json_node *node = push(json);
  if (node == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *node = *value;
  return BLIS_OK;
}

/* Moves the nodes that start at base to their final position. */
static blis_status close_node(parser *p, blis_json_type type, size_t base, blis__json_node *value) {
  blis_json *json = p->json;
  size_t count = json->open.count - base;
  size_t first = json->nodes.count;
  BLIS_TRY(blis_array_reserve(&json->alloc, &json->nodes, first + count));
  if (count > 0) {
    memcpy(json->nodes.items + first, json->open.items + base, count * sizeof *json->open.items);
  }
  json->nodes.count += count;
  json->open.count = base;
  *value = (blis__json_node){
      .type = type, .count = type == BLIS_JSON_OBJECT ? count / 2 : count, .first = first};
  return BLIS_OK;
}

/*
 * Parses simple integers as long as another item follows. This is a fast path, because most arrays
 * are lists of IDs.
 */
static blis_status push_numbers(parser *p) {
  char *at = p->at;
  for (;;) {
    uint64_t size;
    const char *end = behind_digits(at, &size);
    ptrdiff_t digits = end - at;
    if (*end != ',' || digits == 0 || digits > SAFE_DIGITS || *at == '0') {
      p->at = at;
      return BLIS_OK;
    }
    blis__json_node *node = push(p->json);
    if (node == NULL) {
      return BLIS_ERR_NOMEM;
    }
    *node = (blis__json_node){.type = BLIS_JSON_INTEGER, .whole = (int64_t)size};
    at = behind_space(at + digits + 1);
  }
}

static blis_status parse_array(parser *p, blis__json_node *value) {
  size_t base = p->json->open.count;
  p->at++;
  skip_space(p);
  if (*p->at != ']') {
    do {
      blis__json_node item;
      BLIS_TRY(push_numbers(p));
      BLIS_TRY(parse_value(p, &item));
      BLIS_TRY(push_copy(p->json, &item));
    } while (take(p, ','));
  }
  if (*p->at != ']') {
    return fail_expected(p, "',' or ']'");
  }
  p->at++;
  return close_node(p, BLIS_JSON_ARRAY, base, value);
}

static int compare_keys(const void *a, const void *b) {
  const blis__json_node *left = *(const blis__json_node *const *)a;
  const blis__json_node *right = *(const blis__json_node *const *)b;
  return strcmp(left->text, right->text);
}

/* Fails at the second of two equal keys. Their text is still in the input. */
static blis_status fail_twice(const parser *p, const blis__json_node *a, const blis__json_node *b) {
  const blis__json_node *second = a->text > b->text ? a : b;
  return fail(p, second->text - 1, "duplicate key %s; expected each key once",
              blis_show((blis_slice){second->text, second->count}).text);
}

/* Keys contain no zero bytes, so strcmp compares whole keys. */
static blis_status check_many_keys(const parser *p, const blis__json_node *keys, size_t count) {
  const blis_alloc *alloc = &p->json->alloc;
  size_t size = count * sizeof(const blis__json_node *);
  const blis__json_node **sorted = blis_alloc_new(alloc, size);
  if (sorted == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    sorted[i] = &keys[2 * i];
  }
  qsort(sorted, count, sizeof *sorted, compare_keys);
  blis_status status = BLIS_OK;
  for (size_t i = 1; i < count && status == BLIS_OK; i++) {
    if (compare_keys(&sorted[i - 1], &sorted[i]) == 0) {
      status = fail_twice(p, sorted[i - 1], sorted[i]);
    }
  }
  blis_alloc_free(alloc, sorted, size);
  return status;
}

/* Fails if the object whose members start at `base` has two equal keys. */
static blis_status check_keys(const parser *p, size_t base) {
  size_t count = (p->json->open.count - base) / 2;
  if (count < 2) {
    return BLIS_OK;
  }
  const blis__json_node *keys = p->json->open.items + base;
  if (count > FEW_MEMBERS) {
    return check_many_keys(p, keys, count);
  }
  for (size_t i = 1; i < count; i++) {
    const blis__json_node *key = &keys[2 * i];
    for (const blis__json_node *k = keys; k < key; k += 2) {
      if (k->count == key->count && memcmp(k->text, key->text, key->count) == 0) {
        return fail_twice(p, k, key);
      }
    }
  }
  return BLIS_OK;
}

static blis_status parse_object(parser *p, blis__json_node *value) {
  size_t base = p->json->open.count;
  p->at++;
  skip_space(p);
  if (*p->at != '}') {
    do {
      blis__json_node node;
      if (*p->at != '"') {
        return fail_expected(p, "a key in double quotes");
      }
      BLIS_TRY(parse_text(p, &node));
      BLIS_TRY(push_copy(p->json, &node));
      skip_space(p);
      if (!take(p, ':')) {
        return fail_expected(p, "':' after the key");
      }
      BLIS_TRY(parse_value(p, &node));
      BLIS_TRY(push_copy(p->json, &node));
    } while (take(p, ','));
  }
  if (*p->at != '}') {
    return fail_expected(p, "',' or '}'");
  }
  p->at++;
  BLIS_TRY(check_keys(p, base));
  return close_node(p, BLIS_JSON_OBJECT, base, value);
}

/* Values. */

/* Parses a JSON keyword, or one of the three words that Python writes for non-finite numbers. */
static blis_status parse_word(parser *p, blis__json_node *value) {
  static const struct {
    const char *word;
    blis__json_node value;
  } words[] = {{"true", {.type = BLIS_JSON_BOOL, .flag = true}},
               {"false", {.type = BLIS_JSON_BOOL, .flag = false}},
               {"null", {.type = BLIS_JSON_NULL}},
               {"NaN", {.type = BLIS_JSON_REAL, .real = (double)NAN}},
               {"Infinity", {.type = BLIS_JSON_REAL, .real = HUGE_VAL}},
               {"-Infinity", {.type = BLIS_JSON_REAL, .real = -HUGE_VAL}}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i].word);
    if (strncmp(p->at, words[i].word, length) == 0) {
      if (words[i].value.type == BLIS_JSON_REAL && !p->json->allows_any_number) {
        return fail_expected(p, "a finite number");
      }
      p->at += length;
      *value = words[i].value;
      return BLIS_OK;
    }
  }
  return fail_expected(p, "a value");
}

static blis_status parse_any(parser *p, blis__json_node *value) {
  char c = *p->at;
  switch (c) {
  case '{':
    return parse_object(p, value);
  case '[':
    return parse_array(p, value);
  case '"':
    return parse_text(p, value);
  default:
    return is_digit(c) || (c == '-' && p->at[1] != 'I') ? parse_number(p, value)
                                                        : parse_word(p, value);
  }
}

/* Parses a value without leading white space, and skips the white space after it. */
static blis_status parse_value(parser *p, blis__json_node *value) {
  if (p->depth == DEPTH_MAX) {
    return fail(p, p->at, "arrays and objects are nested too deeply; expected at most %d levels",
                DEPTH_MAX);
  }
  p->depth++;
  blis_status status = parse_any(p, value);
  p->depth--;
  skip_space(p);
  return status;
}

blis_status blis__json_tree_parse(blis_json *json, blis_slice text, blis_error *error) {
  json->root = NULL;
  json->open.count = 0;
  json->nodes.count = 0;
  blis_buffer_clear(&json->text);
  blis_buffer_bytes(&json->text, text.data, text.length);
  blis_buffer_repeat(&json->text, '\0', sizeof(uint64_t));
  BLIS_TRY(blis_buffer_status(&json->text));
  parser p = {.json = json, .text = text, .error = error, .at = json->text.data};
  blis__json_node root;
  skip_space(&p);
  BLIS_TRY(parse_value(&p, &root));
  if (!is_at_end(&p, p.at)) {
    return fail_expected(&p, "the end of the text");
  }
  BLIS_TRY(blis_array_push(&json->alloc, &json->nodes, root));
  json->root = &json->nodes.items[json->nodes.count - 1];
  return BLIS_OK;
}
