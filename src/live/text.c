#include "live/text.h"

#include <string.h>

#include "base/hash.h"

enum { LETTERS = 26, DIGITS = 62, TEXT_SEED = 0x74657874 };

static int letter_of(char c) {
  return c >= 'a' && c <= 'z' ? c - 'a' : -1;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'A' && c <= 'Z') {
    return 10 + c - 'A';
  }
  return c >= 'a' && c <= 'z' ? 36 + c - 'a' : -1;
}

/* Returns the number that three characters represent; -1 = not a number. */
static int64_t number_of(const char *text, int base, int (*value_of)(char c)) {
  int64_t number = 0;
  for (int i = 0; i < 3; i++) {
    int value = value_of(text[i]);
    if (value < 0) {
      return -1;
    }
    number = number * base + value;
  }
  return number;
}

static uint32_t token_of(const char *word, uint32_t vocabulary) {
  int64_t number = -1;
  if (word[0] == ' ') {
    number = number_of(word + 1, LETTERS, letter_of);
  } else if (word[0] == '~') {
    number = number_of(word + 1, DIGITS, digit_of);
    number = number < BLIS_LIVE_PLAIN_WORDS ? -1 : number;
  }
  if (number >= 0 && number < vocabulary) {
    return (uint32_t)number;
  }
  uint64_t hash = blis_hash64(word, BLIS_LIVE_WORD_BYTES, TEXT_SEED);
  return vocabulary <= BLIS_LIVE_PLAIN_WORDS
             ? (uint32_t)(hash % vocabulary)
             : BLIS_LIVE_PLAIN_WORDS + (uint32_t)(hash % (vocabulary - BLIS_LIVE_PLAIN_WORDS));
}

blis_status blis_live_tokens_add(const blis_alloc *alloc, blis_live_tokens *tokens,
                                 uint32_t vocabulary, blis_slice text) {
  size_t count = (text.length + BLIS_LIVE_WORD_BYTES - 1) / BLIS_LIVE_WORD_BYTES;
  BLIS_TRY(blis_array_reserve(alloc, tokens, tokens->count + count));
  for (size_t at = 0; at < text.length; at += BLIS_LIVE_WORD_BYTES) {
    char word[BLIS_LIVE_WORD_BYTES] = {' ', ' ', ' ', ' '};
    size_t left = text.length - at;
    memcpy(word, text.data + at, left < BLIS_LIVE_WORD_BYTES ? left : BLIS_LIVE_WORD_BYTES);
    tokens->items[tokens->count++] = token_of(word, vocabulary);
  }
  return BLIS_OK;
}

blis_status blis_live_tokens_add_role(const blis_alloc *alloc, blis_live_tokens *tokens,
                                      uint32_t vocabulary, blis_slice role) {
  BLIS_TRY(blis_live_tokens_add(alloc, tokens, vocabulary, blis_slice_of("<|im_start|>")));
  return blis_live_tokens_add(alloc, tokens, vocabulary, role);
}

void blis_live_word(uint32_t token, char word[BLIS_LIVE_WORD_BYTES]) {
  static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  bool is_plain = token < BLIS_LIVE_PLAIN_WORDS;
  uint32_t base = is_plain ? LETTERS : DIGITS;
  const char *set = is_plain ? digits + 36 : digits;
  word[0] = is_plain ? ' ' : '~';
  word[1] = set[token / base / base % base];
  word[2] = set[token / base % base];
  word[3] = set[token % base];
}

uint32_t blis_live_reply_token(uint64_t seed, uint32_t i) {
  return (uint32_t)(blis_hash64(&i, sizeof i, seed) % BLIS_LIVE_PLAIN_WORDS);
}
