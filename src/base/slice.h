/*
 * slice.h - a borrowed piece of text without a terminating zero.
 */
#ifndef BLIS_BASE_SLICE_H
#define BLIS_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct blis_slice {
  const char *data; /* may be NULL when length is 0 */
  size_t length;
} blis_slice;

/* Returns a whole zero-terminated string. */
blis_slice blis_slice_of(const char *text);

bool blis_slice_equals(blis_slice slice, const char *text);

/* Removes spaces, tabs, carriage returns, and newlines at both ends. */
blis_slice blis_slice_trim(blis_slice slice);

/*
 * Returns the number of bytes of the first character if a terminal would interpret it instead of
 * displaying it, and 0 otherwise. Such characters are control characters, U+0080 to U+009F, and the
 * characters that change the direction of text: U+202A to U+202E and U+2066 to U+2069.
 */
size_t blis_slice_control_length(blis_slice slice);

/*
 * Text as shown in error messages: in single quotes, truncated after 40 bytes and marked with
 * "...", with each byte of a control character as \xNN.
 *
 *   blis_fail(error, BLIS_ERR_PARSE, "%s is not a number",
 *             blis_show(slice).text)
 */
typedef struct blis_shown {
  char text[168];
} blis_shown;

blis_shown blis_show(blis_slice slice);

#endif
