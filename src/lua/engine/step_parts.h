/*
 * step_parts.h - where the time of a step is spent, by the composed step-time model.
 */
#ifndef BLIS_LUA_ENGINE_STEP_PARTS_H
#define BLIS_LUA_ENGINE_STEP_PARTS_H

#include <lua.h>

/*
 * step_parts(cluster, batches): for each { decodes =, context =, prompt = } of a list, the parts of
 * that step: { products_us =, experts_us =, attention_us =, links_us =, other_us =, host_us =,
 * total_us = }. `context` is that of each decode; `prompt` is the number of tokens of one prompt.
 */
int bind_step_parts(lua_State *L);

/*
 * step_kernels(cluster): the kernels that tables were searched for, a list of { is_experts =,
 * format
 * =, shape = { n, k } or { experts, chosen, hidden, width, local }, source = "measured", "near", or
 * "closed form", gpu =, nearest =, weight = }. Empty if the cluster uses no tables.
 */
int bind_step_kernels(lua_State *L);

#endif
