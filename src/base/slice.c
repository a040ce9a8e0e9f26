#include "base/slice.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 40 };

blis_slice blis_slice_of(const char *text) {
  return (blis_slice){.data = text, .length = strlen(text)};
}

bool blis_slice_equals(blis_slice slice, const char *text) {
  size_t length = strlen(text);
  return slice.length == length &&
         (length == 0 || memcmp(slice.data, text, length) == 0);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

blis_slice blis_slice_trim(blis_slice slice) {
  while (slice.length > 0 && is_space(slice.data[0])) {
    slice.data++;
    slice.length--;
  }
  while (slice.length > 0 && is_space(slice.data[slice.length - 1])) {
    slice.length--;
  }
  return slice;
}

/* How many bytes to show: no character of UTF-8 is cut in two. */
static size_t shown_length(blis_slice slice) {
  if (slice.length <= SHOWN_BYTES) {
    return slice.length;
  }
  size_t length = SHOWN_BYTES;
  for (int i = 0; i < 3 && ((unsigned char)slice.data[length] & 0xc0) == 0x80;
       i++) {
    length--;
  }
  return length;
}

blis_shown blis_show(blis_slice slice) {
  blis_shown shown;
  char *end = shown.text;
  *end++ = '\'';
  size_t length = shown_length(slice);
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)slice.data[i];
    if (byte < 0x20 || byte == 0x7f) {
      end += snprintf(end, 5, "\\x%02x", byte);
    } else {
      *end++ = (char)byte;
    }
  }
  snprintf(end, 5, length < slice.length ? "'..." : "'");
  return shown;
}
