/*
 * profile.h - what a profile chooses in every layer of the core.
 *
 * The only place of src that names a profile where one is chosen. The layers
 * name rules; a module per layer, <layer>/..._go_blis, has those of BLIS (Go).
 */
#ifndef BLIS_LUA_BIND_PROFILE_H
#define BLIS_LUA_BIND_PROFILE_H

#include <lua.h>
#include <stdbool.h>

#include "cluster/handoff.h"

typedef struct bind_profile {
  const blis_handoff_ops *handoffs;
  bool encodes_in_passing; /* blis_encode_stage.chooses_only */
} bind_profile;

/* The profile that the field "go_blis" of the table at index selects: true or, as usual, not. May
   raise. */
const bind_profile *check_profile(lua_State *L, int index);

#endif
