/* model_facts.h - the memory that a model needs on the GPUs of an engine: parameters, bytes of
 * weights, and bytes of cache, from its layers. The result does not depend on whether the model
 * fits. */
#ifndef BLIS_LUA_ENGINE_MODEL_FACTS_H
#define BLIS_LUA_ENGINE_MODEL_FACTS_H

#include <lua.h>

/*
 * model_facts(cluster) returns a table with:
 * - layers_text ("62 layers: 10 full, 52 window 1,024"), parameters, active_parameters,
 *   weight_bytes;
 * - per GPU: weight_bytes_per_gpu, kv_bytes_per_token, window_bytes_per_sequence,
 *   state_bytes_per_sequence;
 * - hardware, tp, dp, precision (a string), kv_bits, notes (lines);
 * - tp_problem, if engines reject this tp.
 * Returns nil if the model has too few details.
 */
int bind_model_facts(lua_State *L);

/* model_entry(cluster): returns the model as a YAML entry of a list of models, or nil if the
   model has too few details. */
int bind_model_entry(lua_State *L);

#endif
