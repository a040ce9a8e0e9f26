/*
 * text.h - text as tokens, and tokens as text.
 *
 * Four bytes of text are a token, so a prefix of a string has a prefix of its tokens. Replies
 * consist of words of four bytes, and the token of a word is the token that it was made from. A
 * reply that returns as history therefore has the same tokens as the output, and the prefix cache
 * finds its blocks. This is the only mapping: usage, /tokenize, and caches agree.
 *
 * Each token below the size of the vocabulary has a word, and the word maps back to the token. All
 * other strings are hashed into the vocabulary. O(bytes).
 */
#ifndef BLIS_LIVE_TEXT_H
#define BLIS_LIVE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/slice.h"

enum {
  BLIS_LIVE_WORD_BYTES = 4,
  BLIS_LIVE_PLAIN_WORDS = 26 * 26 * 26, /* tokens of replies: a space and three letters */
  BLIS_LIVE_VOCABULARY_MAX = 62 * 62 * 62
};

typedef BLIS_ARRAY(uint32_t) blis_live_tokens;

/* The tokens of the bytes, appended; the last word is padded with spaces. BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_live_tokens_add(const blis_alloc *alloc, blis_live_tokens *tokens,
                                              uint32_t vocabulary, blis_slice text);

/* A message of a chat as a model sees it: a header with the role, then the content. */
BLIS_MUSTUSE blis_status blis_live_tokens_add_role(const blis_alloc *alloc,
                                                   blis_live_tokens *tokens, uint32_t vocabulary,
                                                   blis_slice role);

/* Writes the word of a token below BLIS_LIVE_VOCABULARY_MAX, without a zero behind it. */
void blis_live_word(uint32_t token, char word[BLIS_LIVE_WORD_BYTES]);

/* Token i of the reply with that seed. */
uint32_t blis_live_reply_token(uint64_t seed, uint32_t i);

#endif
