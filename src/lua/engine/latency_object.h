/*
 * latency_object.h - latency models as values: returned by blis.latency_model, queried by scripts,
 * and accepted by experiments.
 *
 * A value never changes. Each simulation creates a separate model from the definition.
 */
#ifndef BLIS_LUA_ENGINE_LATENCY_OBJECT_H
#define BLIS_LUA_ENGINE_LATENCY_OBJECT_H

#include <lua.h>

void bind_open_latency_models(lua_State *L);

/*
 * latency_model(definition): creates a latency model. definition has name, and either cluster
 * (checked cluster options, for a built-in model) or step_time and the other fields of
 * check_scripted_latency.
 */
int bind_latency_model_new(lua_State *L);

/* latency_definition(value): returns the definition of a latency model, or nil for any other
   value. */
int bind_latency_definition(lua_State *L);

#endif
