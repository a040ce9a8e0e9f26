#include "lua/bind/alias.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "workload/request.h"

enum { WORD_SIZE = 32, SEED_BITS = 53, START_BITS = 40 /* 12 days */ };

bind_alias bind_alias_of(int64_t number) {
  if (number == 0) {
    return (bind_alias){0};
  }
  const uint64_t hash = blis_hash64(&number, sizeof number, 0);
  return (bind_alias){.key = hash | 1, .start_us = (int64_t)(hash >> (64 - START_BITS))};
}

int64_t bind_alias_seed(const bind_alias *alias, int64_t seed) {
  return alias->key == 0 ? seed : (int64_t)(alias->key >> (64 - SEED_BITS));
}

static void push_word(lua_State *L, const char *kind, uint64_t hash) {
  char word[WORD_SIZE];
  snprintf(word, sizeof word, "%s_%012" PRIx64, kind, hash >> 16);
  lua_pushstring(L, word);
}

void push_alias_request(lua_State *L, const bind_alias *alias, const bind_request_name *name) {
  if (alias->key == 0) {
    push_request_id(L, name);
    return;
  }
  char id[BLIS_REQUEST_ID_SIZE];
  const char *text = blis_request_id_of(name->number, name->session, name->round_index, id);
  push_word(L, "request", blis_hash64(text, strlen(text), alias->key));
}

void push_alias_instance(lua_State *L, const bind_alias *alias, int64_t instance) {
  if (alias->key == 0) {
    push_instance_id(L, instance, alias->id_digits);
  } else {
    push_word(L, "instance", blis_hash64(&instance, sizeof instance, alias->key));
  }
}

void push_alias_text(lua_State *L, const bind_alias *alias, const char *text, size_t length) {
  if (alias->key == 0 || length == 0) {
    lua_pushlstring(L, text, length);
  } else {
    push_word(L, "name", blis_hash64(text, length, alias->key));
  }
}
