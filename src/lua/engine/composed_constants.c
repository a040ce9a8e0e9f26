#include "lua/engine/composed_constants.h"

#include "lua/bind/bind.h"
#include "lua/engine/catalogue.h"

static void set_number(void *ud, const char *key, double value) {
  set_field_number(ud, key, value);
}

static void set_list(lua_State *L, const char *key, const double *values, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushnumber(L, values[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

static void set_kernels(lua_State *L, const char *key, const blis__kernel *kernels,
                        const bool *is_there) {
  lua_newtable(L);
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    const blis__kernel *k = &kernels[i];
    const double values[] = {k->t0_us, k->memory_efficiency, k->compute_efficiency, k->sharpness};
    if (is_there[i]) {
      set_list(L, blis__table_format_name((blis_weight_kind)i), values, 4);
    }
  }
  lua_setfield(L, -2, key);
}

static void set_scales(lua_State *L, const char *key, const blis__scales *scales) {
  lua_newtable(L);
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    const double values[] = {scales[i].decode, scales[i].prefill};
    if (scales[i].decode > 0) {
      set_list(L, blis__table_format_name((blis_weight_kind)i), values, 2);
    }
  }
  lua_setfield(L, -2, key);
}

/* Sets the factors by format that are not 1. */
static void set_factors(lua_State *L, const char *key, const double *factors) {
  lua_newtable(L);
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    if (factors[i] != 1) {
      set_field_number(L, blis__table_format_name((blis_weight_kind)i), factors[i]);
    }
  }
  lua_setfield(L, -2, key);
}

static void set_expert_kernels(lua_State *L, const blis_weight_kind *kinds) {
  lua_newtable(L);
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    if (kinds[i] != (blis_weight_kind)i) {
      set_field_string(L, blis__table_format_name((blis_weight_kind)i),
                       blis__table_format_name(kinds[i]));
    }
  }
  lua_setfield(L, -2, "expert_kernel");
}

static void set_kernels_of(lua_State *L, const blis__gpu_constants *c) {
  lua_newtable(L);
  for (size_t i = 0; i < c->kernels_of_count; i++) {
    const double rates[] = {c->kernels_of[i].bandwidth / 1e6, c->kernels_of[i].peak / 1e6};
    set_list(L, c->kernels_of[i].name, rates, 2);
  }
  lua_setfield(L, -2, "kernels_of");
}

int bind_composed_constants(lua_State *L) {
  const char *gpu = luaL_checkstring(L, 1);
  bool has_tables = lua_toboolean(L, 3);
  lua_settop(L, 2);
  lua_newtable(L); /* 3 */
  lua_pushvalue(L, 2);
  lua_setfield(L, 3, "catalogue");
  const blis_catalogue *catalogue = check_catalogue_of(L, 3);
  const blis_catalogue_hardware *hardware = NULL;
  blis_error error = {0};
  check_status(L, blis_catalogue_find_hardware(catalogue, gpu, &hardware, &error), &error);
  const blis__gpu_constants *c = check_composed_constants(L, catalogue, hardware->name);
  c = has_tables && c->with_tables != NULL ? c->with_tables : c;
  lua_newtable(L);
  set_field_string(L, "gpu", hardware->name);
  blis__gpu_constants_each_number(c, set_number, L);
  set_kernels(L, "products", c->products, c->has_product);
  set_kernels(L, "experts", c->experts, c->has_experts);
  set_factors(L, "speedup", c->speedup);
  set_factors(L, "expert_slowdown", c->expert_slowdown);
  set_expert_kernels(L, c->expert_kind);
  set_scales(L, "dense_scales", c->dense_scales);
  set_scales(L, "expert_scales", c->expert_scales);
  set_kernels_of(L, c);
  if (c->allreduce_of != NULL) {
    set_field_string(L, "allreduce_of", c->allreduce_of);
  }
  return 1;
}
