/*
 * alias.h - ids and times as they are passed to functions of a script. Without a key they are the
 * values of the run; a key replaces them with derived values, so that a policy cannot identify a
 * run by them.
 */
#ifndef BLIS_LUA_BIND_ALIAS_H
#define BLIS_LUA_BIND_ALIAS_H

#include <lua.h>
#include <stdint.h>

#include "lua/bind/bind.h"

typedef struct bind_alias {
  uint64_t key; /* 0 = values are unchanged */
  int64_t start_us;
  int id_digits; /* digits of instance ids (instance_id.h) */
} bind_alias;

/* Creates the alias of a number; 0 means none. id_digits is then 0. */
bind_alias bind_alias_of(int64_t number);

static inline int64_t bind_alias_us(const bind_alias *alias, int64_t time_us) {
  return time_us + alias->start_us;
}

/* Returns the seed that policies see. */
int64_t bind_alias_seed(const bind_alias *alias, int64_t seed);

void push_alias_request(lua_State *L, const bind_alias *alias, const bind_request_name *name);
void push_alias_instance(lua_State *L, const bind_alias *alias, int64_t instance);

/* Pushes the alias of a string such as the name of a session; an empty string remains empty. */
void push_alias_text(lua_State *L, const bind_alias *alias, const char *text, size_t length);

#endif
