#include "base/slice.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 40 };

blis_slice blis_slice_of(const char *text) {
  return (blis_slice){.data = text, .length = strlen(text)};
}

bool blis_slice_equals(blis_slice slice, const char *text) {
  size_t length = strlen(text);
  return slice.length == length && (length == 0 || memcmp(slice.data, text, length) == 0);
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

/* Returns how many bytes to show, so that no UTF-8 character is split. */
static size_t shown_length(blis_slice slice) {
  if (slice.length <= SHOWN_BYTES) {
    return slice.length;
  }
  size_t length = SHOWN_BYTES;
  for (int i = 0; i < 3 && ((unsigned char)slice.data[length] & 0xc0) == 0x80; i++) {
    length--;
  }
  return length;
}

size_t blis_slice_control_length(blis_slice slice) {
  const unsigned char *bytes = (const unsigned char *)slice.data;
  if (slice.length >= 1 && (bytes[0] < 0x20 || bytes[0] == 0x7f)) {
    return 1;
  }
  if (slice.length >= 2 && bytes[0] == 0xc2 && bytes[1] >= 0x80 && bytes[1] <= 0x9f) {
    return 2;
  }
  if (slice.length >= 3 && bytes[0] == 0xe2) {
    bool is_embedding = bytes[1] == 0x80 && bytes[2] >= 0xaa && bytes[2] <= 0xae;
    bool is_isolate = bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9;
    return is_embedding || is_isolate ? 3 : 0;
  }
  return 0;
}

blis_shown blis_show(blis_slice slice) {
  blis_shown shown;
  char *end = shown.text;
  *end++ = '\'';
  size_t length = shown_length(slice);
  size_t control_end = 0;
  for (size_t i = 0; i < length; i++) {
    size_t control = blis_slice_control_length((blis_slice){slice.data + i, length - i});
    control_end = control > 0 ? i + control : control_end;
    if (i < control_end) {
      end += snprintf(end, 5, "\\x%02x", (unsigned char)slice.data[i]);
    } else {
      *end++ = slice.data[i];
    }
  }
  snprintf(end, 5, length < slice.length ? "'..." : "'");
  return shown;
}
