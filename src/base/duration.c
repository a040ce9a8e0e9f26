#include "base/duration.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/number.h"

static const struct {
  const char *name;
  double us;
} units[] = {
    {"ns", 1e-3}, {"us", 1},   {"\xc2\xb5s", 1}, {"\xce\xbcs", 1}, {"ms", 1e3},
    {"s", 1e6},   {"m", 60e6}, {"h", 3600e6},    {"d", 86400e6},
};

static double unit_us(blis_slice name) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (blis_slice_equals(name, units[i].name)) {
      return units[i].us;
    }
  }
  return 0;
}

static bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '.';
}

/* Returns whether c can be part of a unit: a letter, or a byte of a non-ASCII character. */
static bool is_of_unit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Removes the leading characters of *text for which is_part returns true, and returns them. */
static blis_slice take(blis_slice *text, bool (*is_part)(char)) {
  blis_slice taken = {text->data, 0};
  while (taken.length < text->length && is_part(text->data[taken.length])) {
    taken.length++;
  }
  text->data += taken.length;
  text->length -= taken.length;
  return taken;
}

/* Removes one number with its unit from the start of *text and adds it to *us. */
static blis_duration_fault take_part(blis_slice *text, double *us) {
  double number;
  if (blis_parse_double(take(text, is_of_number), &number) != BLIS_NUMBER_OK) {
    return BLIS_DURATION_MALFORMED;
  }
  if (text->length > 1 && text->data[0] == ' ') {
    text->data++;
    text->length--;
  }
  blis_slice unit = take(text, is_of_unit);
  if (unit.length == 0) {
    return BLIS_DURATION_MALFORMED;
  }
  if (unit_us(unit) <= 0) {
    return BLIS_DURATION_UNIT;
  }
  *us += number * unit_us(unit);
  return BLIS_DURATION_OK;
}

blis_duration_fault blis_parse_duration(blis_slice text, double *us) {
  double number;
  if (blis_parse_double(text, &number) == BLIS_NUMBER_OK) {
    *us = number;
    return BLIS_DURATION_NO_UNIT;
  }
  bool is_negative = text.length > 0 && text.data[0] == '-';
  bool has_sign = is_negative || (text.length > 0 && text.data[0] == '+');
  text.data += has_sign;
  text.length -= has_sign;
  double sum = 0;
  do {
    blis_duration_fault fault = take_part(&text, &sum);
    if (fault != BLIS_DURATION_OK) {
      return fault;
    }
  } while (text.length > 0);
  if (!isfinite(sum)) {
    return BLIS_DURATION_MALFORMED;
  }
  *us = is_negative ? -sum : sum;
  return BLIS_DURATION_OK;
}
