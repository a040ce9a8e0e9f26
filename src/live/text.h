/*
 * text.h - converts text to tokens and tokens to text.
 *
 * Four bytes of text are one token, so the tokens of a prefix of a string are a prefix of the
 * string's tokens. Replies consist of words of four bytes, and each word maps back to the token
 * from which it was generated. A reply that a client sends back as history therefore has the same
 * tokens as the output, and the prefix cache finds its blocks. All code uses this mapping, so
 * usage, /tokenize, and caches agree.
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
  BLIS_LIVE_PLAIN_WORDS = 26 * 26 * 26, /* number of words in replies: a space and three letters */
  BLIS_LIVE_VOCABULARY_MAX = 62 * 62 * 62
};

typedef BLIS_ARRAY(uint32_t) blis_live_tokens;

/* Appends the tokens of the bytes; the last word is padded with spaces. Returns BLIS_ERR_NOMEM
   on failure. */
BLIS_MUSTUSE blis_status blis_live_tokens_add(const blis_alloc *alloc, blis_live_tokens *tokens,
                                              uint32_t vocabulary, blis_slice text);

/* Appends the header of a chat message with its role; the content follows. */
BLIS_MUSTUSE blis_status blis_live_tokens_add_role(const blis_alloc *alloc,
                                                   blis_live_tokens *tokens, uint32_t vocabulary,
                                                   blis_slice role);

/* Writes the word of a token below BLIS_LIVE_VOCABULARY_MAX, without a terminating zero. */
void blis_live_word(uint32_t token, char word[BLIS_LIVE_WORD_BYTES]);

/* Returns token i of the reply with this seed. */
uint32_t blis_live_reply_token(uint64_t seed, uint32_t i);

#endif
