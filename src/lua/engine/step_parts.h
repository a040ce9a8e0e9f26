/*
 * step_parts.h - the components of a step time in the composed step-time model.
 */
#ifndef BLIS_LUA_ENGINE_STEP_PARTS_H
#define BLIS_LUA_ENGINE_STEP_PARTS_H

#include <lua.h>

/*
 * step_parts(cluster, batches) returns the components of a step time for each { decodes =, context
 * =, prompt = } in a list: { products_us =, experts_us =, attention_us =, links_us =, other_us =,
 * host_us =, total_us = }. `context` is the context of each decode; `prompt` is the number of
 * tokens of one prompt.
 */
int bind_step_parts(lua_State *L);

/*
 * step_kernels(cluster) returns the kernels that were searched for in tables; an empty list if the
 * cluster uses no tables. Each item has is_experts, format, shape = { n, k } or { experts, chosen,
 * hidden, width, local }, source = "measured", "near", or "closed form", gpu, nearest, and weight.
 */
int bind_step_kernels(lua_State *L);

#endif
