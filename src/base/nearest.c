#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LENGTH = 63 };

static int folded(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A' + 'a';
  }
  return c == '_' ? '-' : c;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/*
 * One row of the alignment table: distances between the first i letters of a
 * and every beginning of b, from the two rows before.
 */
static void next_row(const char *a, size_t i, const char *b, size_t b_length,
                     const size_t *before_last, const size_t *last,
                     size_t *row) {
  row[0] = i;
  for (size_t j = 1; j <= b_length; j++) {
    size_t differs = folded(a[i - 1]) != folded(b[j - 1]);
    row[j] =
        smaller(smaller(last[j] + 1, row[j - 1] + 1), last[j - 1] + differs);
    if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
        folded(a[i - 2]) == folded(b[j - 1])) {
      row[j] = smaller(row[j], before_last[j - 2] + 1);
    }
  }
}

static size_t distance(const char *a, size_t a_length, const char *b,
                       size_t b_length) {
  size_t rows[3][MAX_LENGTH + 1];
  for (size_t j = 0; j <= b_length; j++) {
    rows[0][j] = j;
  }
  for (size_t i = 1; i <= a_length; i++) {
    next_row(a, i, b, b_length, rows[(i + 1) % 3], rows[(i + 2) % 3],
             rows[i % 3]);
  }
  return rows[a_length % 3][b_length];
}

void blis_nearest_offer(blis_nearest *nearest, const char *word) {
  size_t wanted_length = strlen(nearest->wanted);
  size_t length = strlen(word);
  if (length > MAX_LENGTH || wanted_length > MAX_LENGTH) {
    return;
  }
  size_t d = distance(nearest->wanted, wanted_length, word, length);
  if (d <= (length + 2) / 3 && d < length &&
      (nearest->word == NULL || d < nearest->distance)) {
    nearest->word = word;
    nearest->distance = d;
  }
}

void blis_word_list_add(char *list, size_t size, const char *word) {
  size_t used = strlen(list);
  snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", word);
}
