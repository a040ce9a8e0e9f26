/*
 * groups.h - the instances of a cluster: all alike, or in groups with separate models, GPUs, and
 * limits.
 */
#ifndef BLIS_LUA_ENGINE_GROUPS_H
#define BLIS_LUA_ENGINE_GROUPS_H

#include <lua.h>

#include "lua/engine/engine.h"
#include "policy/contract/facts.h"

/* The engines of all groups except the first. Must be zeroed before use. */
typedef struct bind_groups {
  bind_engine *others; /* a user value owns the memory */
  uint32_t other_count;
} bind_groups;

/*
 * Creates the engines that cluster.groups describes. The cluster options are at index; the
 * top-level options describe the first group. The user value `value` of the userdata at owner keeps
 * their memory alive. May raise; bind_groups_close can be called in any case.
 */
void check_groups(lua_State *L, int index, int owner, int value, bind_groups *groups);

/* Idempotent. Never raises. */
void bind_groups_close(bind_groups *groups);

/*
 * Fills the configuration and the facts of every instance. Values for the whole cluster (horizon,
 * orders, and engine) are copied from *first. May raise.
 */
void check_instances(lua_State *L, int index, const bind_engine *first, const bind_groups *groups,
                     blis_instance_config *instances, blis_instance_facts *facts,
                     uint32_t instance_count);

/*
 * Pushes a list of facts about every group, with its number of instances; nil if all instances are
 * alike.
 */
void push_group_facts(lua_State *L, int index, const bind_engine *first, const bind_groups *groups);

#endif
