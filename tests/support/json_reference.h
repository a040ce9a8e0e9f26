/*
 * json_reference.h - a slow parser of JSON for tests, written from the grammar
 * of RFC 8259 and independent of base/format. It accepts the same texts as
 * blis_json_parse: no duplicate keys, no zero characters, valid UTF-8, numbers
 * in the range of their type, and at most 2048 levels.
 *
 * json_reference_agrees parses a text with both parsers. Either both reject it,
 * or both make the same tree, which is compared as a dump: one line per value,
 * with its type and all its bits.
 */
#ifndef BLIS_JSON_REFERENCE_H
#define BLIS_JSON_REFERENCE_H

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/format/json.h"

enum { JSON_REFERENCE_DEPTH = 2048 };

typedef struct json_reference {
  const char *at;
  const char *end;
  blis_buffer *dump;
  bool allows_any_number;
} json_reference;

/* The dump, the same for both parsers. */

static inline void json_dump_text(blis_buffer *dump, char type, blis_slice text) {
  blis_buffer_format(dump, "%c%zu:", type, text.length);
  blis_buffer_bytes(dump, text.data, text.length);
  blis_buffer_char(dump, '\n');
}

static inline void json_dump_real(blis_buffer *dump, double real) {
  uint64_t bits;
  memcpy(&bits, &real, sizeof bits);
  if (isnan(real)) {
    blis_buffer_string(dump, "real NaN\n");
  } else {
    blis_buffer_format(dump, "real %016" PRIx64 "\n", bits);
  }
}

static inline void json_dump(blis_buffer *dump, blis_json_value value) {
  int64_t whole = 0;
  double real = 0;
  bool flag = false;
  blis_slice text = {0};
  const char *key = NULL;
  blis_json_value member;
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_OBJECT:
    blis_buffer_string(dump, "{\n");
    while (blis_json_next(value, &key, &member)) {
      json_dump_text(dump, 'k', blis_slice_of(key));
      json_dump(dump, blis_json_member(value, key));
    }
    blis_buffer_string(dump, "}\n");
    break;
  case BLIS_JSON_ARRAY:
    blis_buffer_string(dump, "[\n");
    for (size_t i = 0; i < blis_json_count(value); i++) {
      json_dump(dump, blis_json_item(value, i));
    }
    blis_buffer_string(dump, "]\n");
    break;
  case BLIS_JSON_TEXT:
    if (blis_json_text(value, &text, NULL) == BLIS_OK && text.data[text.length] == '\0') {
      json_dump_text(dump, 't', text);
    }
    break;
  case BLIS_JSON_INTEGER:
    if (blis_json_int64(value, INT64_MIN, INT64_MAX, &whole, NULL) == BLIS_OK) {
      blis_buffer_format(dump, "integer %" PRId64 "\n", whole);
    }
    break;
  case BLIS_JSON_REAL:
    if (blis_json_double(value, -DBL_MAX, DBL_MAX, &real, NULL) == BLIS_OK) {
      json_dump_real(dump, real);
    } else {
      blis_buffer_string(dump, "not finite\n");
    }
    break;
  case BLIS_JSON_BOOL:
    if (blis_json_bool(value, &flag, NULL) == BLIS_OK) {
      blis_buffer_string(dump, flag ? "true\n" : "false\n");
    }
    break;
  case BLIS_JSON_NULL:
    blis_buffer_string(dump, "null\n");
    break;
  case BLIS_JSON_MISSING:
    break;
  }
}

/* The parser. Each function returns false for a text that is not in the grammar. */

static inline int json_reference_peek(const json_reference *r) {
  return r->at < r->end ? (unsigned char)*r->at : -1;
}

static inline bool json_reference_take(json_reference *r, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) {
    return false;
  }
  r->at += length;
  return true;
}

static inline void json_reference_space(json_reference *r) {
  while (json_reference_take(r, " ") || json_reference_take(r, "\t") ||
         json_reference_take(r, "\n") || json_reference_take(r, "\r")) {
  }
}

static inline size_t json_reference_digits(json_reference *r) {
  size_t count = 0;
  for (; json_reference_peek(r) >= '0' && json_reference_peek(r) <= '9'; r->at++) {
    count++;
  }
  return count;
}

/* Converts a number that is in the grammar; false when it is out of range. */
static inline bool json_reference_convert(json_reference *r, blis_slice number, bool is_real) {
  blis_buffer copy;
  blis_buffer_init(&copy, &r->dump->alloc);
  blis_buffer_bytes(&copy, number.data, number.length);
  errno = 0;
  long long whole = is_real ? 0 : strtoll(blis_buffer_text(&copy), NULL, 10);
  is_real = is_real || (errno != 0 && r->allows_any_number);
  double real = is_real ? strtod(blis_buffer_text(&copy), NULL) : 0;
  bool is_in_range = is_real ? isfinite(real) : errno == 0;
  blis_buffer_deinit(&copy);
  if (is_real) {
    json_dump_real(r->dump, real);
  } else {
    blis_buffer_format(r->dump, "integer %lld\n", whole);
  }
  return is_in_range;
}

/* number = [ "-" ] int [ "." digits ] [ "e" [ sign ] digits ]; int = "0" or no zero in front. */
static inline bool json_reference_number(json_reference *r) {
  const char *start = r->at;
  json_reference_take(r, "-");
  bool has_zero = json_reference_peek(r) == '0';
  size_t digits = json_reference_digits(r);
  bool is_real = false;
  if (digits == 0 || (has_zero && digits > 1)) {
    return false;
  }
  if (json_reference_take(r, ".")) {
    is_real = true;
    if (json_reference_digits(r) == 0) {
      return false;
    }
  }
  if (json_reference_take(r, "e") || json_reference_take(r, "E")) {
    is_real = true;
    if (!json_reference_take(r, "-")) {
      json_reference_take(r, "+");
    }
    if (json_reference_digits(r) == 0) {
      return false;
    }
  }
  return json_reference_convert(r, (blis_slice){start, (size_t)(r->at - start)}, is_real);
}

/* UTF-8 by division: as short as possible, no surrogate, at most U+10FFFF. */
static inline bool json_reference_encode(blis_buffer *text, long code) {
  static const long limits[] = {0x80, 0x800, 0x10000, 0x110000};
  static const int heads[] = {0, 0xc0, 0xe0, 0xf0};
  int more = 0;
  if (code <= 0 || code >= limits[3] || (code >= 0xd800 && code <= 0xdfff)) {
    return false;
  }
  while (code >= limits[more]) {
    more++;
  }
  long unit = 1;
  for (int i = 0; i < more; i++) {
    unit *= 64;
  }
  blis_buffer_char(text, (char)(heads[more] + code / unit));
  for (; unit > 1; unit /= 64) {
    blis_buffer_char(text, (char)(0x80 + code % unit / (unit / 64)));
  }
  return true;
}

static inline long json_reference_hex(json_reference *r) {
  static const char digits[] = "0123456789abcdefABCDEF";
  long code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    int c = json_reference_peek(r);
    const char *digit = c > 0 ? strchr(digits, c) : NULL;
    if (digit == NULL) {
      return -1;
    }
    long value = digit - digits;
    code = code * 16 + (value < 16 ? value : value - 6);
  }
  return code;
}

static inline bool json_reference_escape(json_reference *r, blis_buffer *text) {
  static const char *const escapes[][2] = {{"\"", "\""}, {"\\", "\\"}, {"/", "/"},  {"b", "\b"},
                                           {"f", "\f"},  {"n", "\n"},  {"r", "\r"}, {"t", "\t"}};
  for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
    if (json_reference_take(r, escapes[i][0])) {
      blis_buffer_string(text, escapes[i][1]);
      return true;
    }
  }
  if (!json_reference_take(r, "u")) {
    return false;
  }
  long code = json_reference_hex(r);
  if (code >= 0xd800 && code <= 0xdbff) {
    long low = json_reference_take(r, "\\u") ? json_reference_hex(r) : -1;
    code = low >= 0xdc00 && low <= 0xdfff ? 0x10000 + (code - 0xd800) * 1024 + (low - 0xdc00) : -1;
  }
  return json_reference_encode(text, code);
}

/* Decodes a sequence of UTF-8 and encodes it again: it is valid when nothing changes. */
static inline bool json_reference_sequence(json_reference *r, blis_buffer *text) {
  size_t before = text->length;
  const char *start = r->at;
  long head = json_reference_peek(r);
  int more = head >= 0xf0 ? 3 : head >= 0xe0 ? 2 : 1;
  long code = head >= 0xf0 ? head - 0xf0 : head >= 0xe0 ? head - 0xe0 : head - 0xc0;
  r->at++;
  for (int i = 0; i < more; i++, r->at++) {
    int c = json_reference_peek(r);
    if (c < 0x80 || c > 0xbf) {
      return false;
    }
    code = code * 64 + (c - 0x80);
  }
  size_t length = (size_t)(r->at - start);
  return json_reference_encode(text, code) && text->length - before == length &&
         memcmp(text->data + before, start, length) == 0;
}

static inline bool json_reference_text(json_reference *r, blis_buffer *text) {
  if (!json_reference_take(r, "\"")) {
    return false;
  }
  while (!json_reference_take(r, "\"")) {
    int c = json_reference_peek(r);
    bool is_good = c >= 0x80                      ? json_reference_sequence(r, text)
                   : json_reference_take(r, "\\") ? json_reference_escape(r, text)
                                                  : c >= 0x20;
    if (!is_good) {
      return false;
    }
    if (c < 0x80 && c != '\\') {
      blis_buffer_char(text, (char)c);
      r->at++;
    }
  }
  return true;
}

static inline bool json_reference_value(json_reference *r, int depth);

/* A string, as a key ('k') or a value ('t'). */
static inline bool json_reference_string(json_reference *r, char type, blis_buffer *keys) {
  blis_buffer text;
  blis_buffer_init(&text, &r->dump->alloc);
  bool is_good = json_reference_text(r, &text);
  blis_slice slice = blis_buffer_slice(&text);
  if (is_good) {
    json_dump_text(r->dump, type, slice);
  }
  if (is_good && keys != NULL) {
    /* Keys contain no zero, so one with zeros around it is found as a whole. */
    blis_buffer_char(&text, '\0');
    for (size_t i = 0; i + text.length <= keys->length; i++) {
      is_good = is_good && !((i == 0 || keys->data[i - 1] == '\0') &&
                             memcmp(keys->data + i, text.data, text.length) == 0);
    }
    blis_buffer_bytes(keys, text.data, text.length);
  }
  blis_buffer_deinit(&text);
  return is_good;
}

static inline bool json_reference_member(json_reference *r, blis_buffer *keys, int depth) {
  if (keys == NULL) {
    return json_reference_value(r, depth);
  }
  json_reference_space(r);
  if (!json_reference_string(r, 'k', keys)) {
    return false;
  }
  json_reference_space(r);
  return json_reference_take(r, ":") && json_reference_value(r, depth);
}

/* Items, or members where keys is not NULL. */
static inline bool json_reference_list(json_reference *r, const char *close, blis_buffer *keys,
                                       int depth) {
  json_reference_space(r);
  if (json_reference_take(r, close)) {
    return true;
  }
  do {
    if (!json_reference_member(r, keys, depth)) {
      return false;
    }
  } while (json_reference_take(r, ","));
  return json_reference_take(r, close);
}

static inline bool json_reference_container(json_reference *r, int depth) {
  bool is_object = json_reference_peek(r) == '{';
  blis_buffer keys;
  blis_buffer_init(&keys, &r->dump->alloc);
  r->at++;
  blis_buffer_string(r->dump, is_object ? "{\n" : "[\n");
  bool is_good = json_reference_list(r, is_object ? "}" : "]", is_object ? &keys : NULL, depth);
  blis_buffer_string(r->dump, is_object ? "}\n" : "]\n");
  blis_buffer_deinit(&keys);
  return is_good;
}

static inline bool json_reference_word(json_reference *r) {
  static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
  for (size_t i = 0; i < (r->allows_any_number ? 6 : 3); i++) {
    if (json_reference_take(r, words[i])) {
      blis_buffer_format(r->dump, "%s\n", i < 3 ? words[i] : "not finite");
      return true;
    }
  }
  return false;
}

static inline bool json_reference_value(json_reference *r, int depth) {
  json_reference_space(r);
  int c = json_reference_peek(r);
  bool is_good =
      depth < JSON_REFERENCE_DEPTH && (c == '{' || c == '[' ? json_reference_container(r, depth + 1)
                                       : c == '"'           ? json_reference_string(r, 't', NULL)
                                       : json_reference_word(r) ? true
                                                                : json_reference_number(r));
  json_reference_space(r);
  return is_good;
}

/* Parses the text into json, and returns whether the reference parser gives the same result. */
static inline bool json_reference_agrees(blis_json *json, blis_slice text, blis_status *status) {
  blis_buffer ours;
  blis_buffer theirs;
  blis_buffer_init(&ours, &json->alloc);
  blis_buffer_init(&theirs, &json->alloc);
  json_reference r = {.at = text.data,
                      .end = text.data + text.length,
                      .dump = &theirs,
                      .allows_any_number = json->allows_any_number};
  bool is_good = json_reference_value(&r, 0) && r.at == r.end;
  *status = blis_json_parse(json, "text", 1, text, NULL);
  json_dump(&ours, blis_json_root(json));
  bool is_same = is_good == (*status == BLIS_OK) &&
                 (!is_good || (ours.length == theirs.length &&
                               memcmp(ours.data, theirs.data, ours.length) == 0));
  blis_buffer_deinit(&ours);
  blis_buffer_deinit(&theirs);
  return is_same;
}

#endif
