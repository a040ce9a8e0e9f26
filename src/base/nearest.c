#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LENGTH = 63, LEAST_PREFIX = 3 };

/* A swap costs less, because it keeps every letter: "rnu" is a typo for "run", not for "rng". */
enum { SWAP = 1, CHANGE = 2 };

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
 * One row of the alignment table: distances between the first i letters of a and every prefix of b,
 * computed from the previous two rows.
 */
static void next_row(const char *a, size_t i, const char *b, size_t b_length,
                     const size_t *before_last, const size_t *last, size_t *row) {
  row[0] = i * CHANGE;
  for (size_t j = 1; j <= b_length; j++) {
    size_t replacing = folded(a[i - 1]) != folded(b[j - 1]) ? CHANGE : 0;
    row[j] = smaller(smaller(last[j], row[j - 1]) + CHANGE, last[j - 1] + replacing);
    if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
        folded(a[i - 2]) == folded(b[j - 1])) {
      row[j] = smaller(row[j], before_last[j - 2] + SWAP);
    }
  }
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t rows[3][MAX_LENGTH + 1];
  for (size_t j = 0; j <= b_length; j++) {
    rows[0][j] = j * CHANGE;
  }
  for (size_t i = 1; i <= a_length; i++) {
    next_row(a, i, b, b_length, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]);
  }
  return rows[a_length % 3][b_length];
}

/* Returns whether word begins with the wanted word. For flags, leading dashes are skipped. */
static bool is_prefix(const char *wanted, const char *word) {
  size_t i = 0;
  while (wanted[i] != '\0' && folded(wanted[i]) == folded(word[i])) {
    i++;
  }
  return wanted[i] == '\0' && i >= LEAST_PREFIX + strspn(wanted, "-");
}

/*
 * Returns the largest distance of a misspelling: a third of the letters, and less than half of
 * them. Leading dashes of flags are no letters.
 */
static size_t most_changes(const char *word, size_t length) {
  size_t letters = length - strspn(word, "-");
  return (letters == 4 ? 1 : (letters + 2) / 3) * CHANGE;
}

void blis_nearest_offer(blis_nearest *nearest, const char *word) {
  blis_word_list_add(nearest->known, sizeof nearest->known, word);
  size_t wanted_length = strlen(nearest->wanted);
  size_t length = strlen(word);
  bool is_same = strcmp(nearest->wanted, word) == 0;
  if (is_same || length > MAX_LENGTH || wanted_length > MAX_LENGTH) {
    return;
  }
  size_t d = distance(nearest->wanted, wanted_length, word, length);
  bool is_misspelling = d <= most_changes(word, length) && d < length * CHANGE;
  if (!is_misspelling && is_prefix(nearest->wanted, word)) {
    d += MAX_LENGTH * CHANGE;
  } else if (!is_misspelling) {
    return;
  }
  if (nearest->word == NULL || d < nearest->distance) {
    nearest->word = word;
    nearest->distance = d;
  }
}

blis_suggestion blis_nearest_suggest_or(const blis_nearest *nearest, const char *otherwise) {
  blis_suggestion suggestion;
  if (nearest->word != NULL) {
    snprintf(suggestion.text, sizeof suggestion.text, "; did you mean '%s'?", nearest->word);
  } else {
    snprintf(suggestion.text, sizeof suggestion.text, "%s%s", *otherwise != '\0' ? "; " : "",
             otherwise);
  }
  return suggestion;
}

blis_suggestion blis_nearest_suggest(const blis_nearest *nearest) {
  char known[sizeof nearest->known + 16] = "there are none";
  if (nearest->known[0] != '\0') {
    snprintf(known, sizeof known, "known are %s", nearest->known);
  }
  return blis_nearest_suggest_or(nearest, known);
}

void blis_word_list_add(char *list, size_t size, const char *word) {
  static const char cut[] = "...";
  size_t used = strlen(list);
  int length = snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", word);
  if (used + (size_t)length >= size) {
    memcpy(list + size - sizeof cut, cut, sizeof cut);
  }
}
