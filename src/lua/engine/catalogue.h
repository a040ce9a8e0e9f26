/*
 * catalogue.h - the catalog of models, GPUs, and coefficients of a Lua state.
 */
#ifndef BLIS_LUA_ENGINE_CATALOGUE_H
#define BLIS_LUA_ENGINE_CATALOGUE_H

#include <lua.h>

#include "latency/catalogue/catalogue.h"
#include "latency/composed/kernel_tables.h"
#include "latency/composed/step_cache.h"
#include "latency/config/model_reader.h"

/*
 * Returns the catalog of the files that are compiled in. They are read at the first call. The
 * registry owns the catalog. May raise.
 */
const blis_catalogue *check_catalogue(lua_State *L);

/*
 * Returns the field catalogue of the table at index, or else the built-in catalog. The table keeps
 * it alive. May raise.
 */
const blis_catalogue *check_catalogue_of(lua_State *L, int index);

/*
 * Returns the constants of the composed step-time model for a GPU: from the catalog, or else the
 * built-in ones, or else the constants for any other GPU. The first call reads the built-in file.
 * May raise.
 */
const blis__gpu_constants *check_composed_constants(lua_State *L, const blis_catalogue *catalogue,
                                                    const char *gpu);

/*
 * Returns the state's cache of tabulated composed models, which the registry owns. Returns NULL
 * while the state closes. May raise.
 */
blis_step_cache *check_step_cache(lua_State *L);

/* Returns the kernel tables that are compiled in. */
blis__kernel_tables shipped_kernel_tables(void);

/* check_kernel_table(file, name, text): raises if the content `text` is not a valid table for
   that file (gemm.csv, moe.csv, or allreduce.csv). `name` is for messages. */
int bind_check_kernel_table(lua_State *L);

/*
 * catalogue(files): returns a catalog of the built-in files, followed by the files in a list of {
 * name =, text = }.
 */
int bind_catalogue_new(lua_State *L);

/*
 * models(catalogue), hardware(catalogue): return lists in the order of the catalog. The default is
 * the built-in catalog. An entry is a table of the values that the catalog states. list.fields are
 * the member names of a description, in display order.
 */
int bind_catalogue_models(lua_State *L);
int bind_catalogue_hardware(lua_State *L);

/* GPU for models without one in the catalog, in profile design. */
#define ENGINE_USUAL_GPU "H100"

/*
 * gpu_memory(name, catalogue): returns the name of the GPU in the catalog, and its memory in GiB as
 * the driver reports it; 0 if it is not stated. A nil name means ENGINE_USUAL_GPU. Raises for an
 * unknown name.
 */
int bind_catalogue_gpu_memory(lua_State *L);

/*
 * model_id(name, catalogue): returns the id of the model with that id, alias, or last part of the
 * id, and its default GPU or nil.
 */
int bind_catalogue_model_id(lua_State *L);

/* Reads the config.json of the model called name. path is the file or its folder. May raise. */
void check_model_file(lua_State *L, const char *path, const char *name, blis_model_spec *spec);

/*
 * Reads the layers of the model called name from its config.json into *layered, which must be empty
 * and which the caller frees. path is the file or its folder. May raise.
 */
void check_layered_file(lua_State *L, const char *path, const char *name,
                        const blis_model_options *options, blis_layered_model *layered);

/* model_config(path, name): returns the content of a config.json, as an entry of models(). */
int bind_model_config(lua_State *L);

#endif
