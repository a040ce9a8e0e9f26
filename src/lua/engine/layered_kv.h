/*
 * layered_kv.h - KV blocks and KV groups of models whose layers store KV for different tokens.
 */
#ifndef BLIS_LUA_ENGINE_LAYERED_KV_H
#define BLIS_LUA_ENGINE_LAYERED_KV_H

#include <lua.h>
#include <stdbool.h>

#include "kv/layout.h"
#include "latency/kv/kv_capacity.h"
#include "latency/layers/totals.h"
#include "lua/engine/engine_model.h"

/*
 * Fills *layout from the layers of the model, for the table of cluster options at index. Returns
 * false, and leaves *layout unchanged, in three cases: a model without windows, chunks, and states;
 * a model of unknown layers; options that set kv_layout. May raise.
 */
bool check_layered_layout(lua_State *L, int index, const bind_engine_model *m,
                          blis_kv_layout *layout);

/*
 * Returns what one GPU stores of a sequence. Without the hybrid KV cache, windows and chunks store
 * all tokens. May raise.
 */
blis_model_cache kept_cache(lua_State *L, int index, const bind_engine_model *m);

/*
 * Returns the number of tokens that vLLM logs as the size of the KV cache: the blocks of a group
 * times the tokens of the smallest attention block. layout = NULL means one group. For a model with
 * states only, a block counts as max_model_len tokens, if that is positive.
 */
int64_t logged_kv_tokens(const blis_kv_layout *layout, int64_t blocks, int64_t block_tokens,
                         int64_t max_model_len);

/* Returns whether the weights and at least one KV block of each group fit on tp GPUs. May raise. */
bool layers_fit(lua_State *L, int index, const bind_engine_model *m, int64_t tp);

/*
 * Fills *capacity from the layers of the model. Terms are sums over the tp GPUs; blocks and their
 * bytes are for one GPU. Raises if the model does not fit. May raise.
 */
void check_layered_capacity(lua_State *L, int index, const bind_engine_model *m,
                            blis_kv_capacity *capacity);

#endif
