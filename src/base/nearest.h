/*
 * nearest.h - suggestions for an unknown word: the closest known word, or all known words.
 *
 * Distance is the number of insertions, deletions, replacements, and swaps of neighbors (optimal
 * string alignment), where a swap counts half. Upper and lower case are equal, and so are '-' and
 * '_'. The cost per word is proportional to the product of the lengths. A known word that starts
 * with the unknown word is also suggested, but a misspelling is preferred.
 */
#ifndef BLIS_BASE_NEAREST_H
#define BLIS_BASE_NEAREST_H

#include <stddef.h>

/*
 * The words offered so far, and the best match. Initialize it with {.wanted = word}. wanted and the
 * words are borrowed.
 */
typedef struct blis_nearest {
  const char *wanted;
  const char *word; /* NULL while no word is close enough */
  size_t distance;  /* in units of half an edit */
  char known[480];  /* all words: "a, b, c"; truncated if there are many */
} blis_nearest;

/*
 * Adds word to the known words. It becomes the suggestion if it is close enough (at most a third of
 * its letters differ, or wanted has at least three letters and word starts with them) and closer
 * than every word before it. A word that equals wanted is never the suggestion.
 */
void blis_nearest_offer(blis_nearest *nearest, const char *word);

/* The end of a message about an unknown word. */
typedef struct blis_suggestion {
  char text[512];
} blis_suggestion;

/* Returns "; did you mean 'b'?", or "; known are a, b, c" if no word is close enough. */
blis_suggestion blis_nearest_suggest(const blis_nearest *nearest);

/*
 * Like blis_nearest_suggest, with `otherwise` in place of the list of known words; "" appends
 * nothing.
 */
blis_suggestion blis_nearest_suggest_or(const blis_nearest *nearest, const char *otherwise);

/*
 * Appends ", word" (or "word" to an empty list) to a terminated string in a buffer of size bytes. A
 * list that does not fit ends with "...".
 */
void blis_word_list_add(char *list, size_t size, const char *word);

#endif
