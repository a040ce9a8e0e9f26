/*
 * batch.h - engine batches in Lua: the table passed to a scripted latency
 * model, and batches written by a script.
 */
#ifndef BLIS_LUA_ENGINE_BATCH_H
#define BLIS_LUA_ENGINE_BATCH_H

#include <lua.h>
#include <stdbool.h>

#include "latency/step/latency_model.h"

/*
 * A table that is reused for every step. Its fields are the sums, which are written only if they
 * have changed. Its items are tables, which are filled when they are read. The contents are valid
 * until the next step.
 */
typedef struct bind_batch {
  blis_batch_sums held;         /* values of the fields */
  const blis_batch_item *items; /* NULL if only sums are known */
  size_t count;
  size_t shown; /* number of items that the table currently shows */
  bool is_shown;
} bind_batch;

/*
 * Pushes a new table. The returned structure belongs to the table and lives as long as it. Items
 * are pushed when they are read. May raise.
 */
bind_batch *push_batch(lua_State *L);

/*
 * Makes the table at index show these sums and items. The items (NULL = none) are borrowed until
 * hide_batch. May raise.
 */
void set_batch(lua_State *L, int index, bind_batch *batch, const blis_batch_sums *sums,
               const blis_batch_item *items, size_t count);

/* Removes the items from the table. May raise. */
void hide_batch(lua_State *L, int index, bind_batch *batch);

/* A batch that a script has passed; items is NULL if only sums are known. */
typedef struct bind_given_batch {
  const blis_batch_item *items;
  size_t count;
  blis_batch_sums sums;
} bind_given_batch;

/*
 * Reads the batch at index, which must be absolute: the table of a step, or a list of { progress =,
 * new =, prompt =, output = } or { progress, new, prompt, output } in batch order. Pushes a value
 * that keeps the items alive. May raise.
 */
bind_given_batch check_batch(lua_State *L, int index);

/* Reads the sums in the table at index: named numbers, 0 if not set. May raise. */
blis_batch_sums check_batch_sums(lua_State *L, int index);

#endif
