/*
 * nearest.h - what to tell somebody who used an unknown word: the known one
 * that is closest to it, or all there are.
 *
 * Distance is the number of insertions, deletions, replacements and swaps of
 * neighbours (optimal string alignment); upper and lower case, '-' and '_'
 * count as equal. Cost: the product of the lengths per word.
 */
#ifndef BLIS_BASE_NEAREST_H
#define BLIS_BASE_NEAREST_H

#include <stddef.h>

/*
 * The best of the words offered so far; start it with {.wanted = word}.
 * wanted and the words offered are borrowed.
 */
typedef struct blis_nearest {
  const char *wanted;
  const char *word; /* NULL while nothing offered is close enough */
  size_t distance;
} blis_nearest;

/*
 * Takes word when it is close enough to be a misspelling (at most a third of
 * its letters differ) and closer than every word before it.
 */
void blis_nearest_offer(blis_nearest *nearest, const char *word);

/*
 * Appends ", word" (or "word" to an empty list) to a text in a buffer of size
 * bytes, and cuts what does not fit. The list must be terminated before.
 */
void blis_word_list_add(char *list, size_t size, const char *word);

#endif
