#include "lua/engine/model_facts.h"

#include <stdio.h>
#include <string.h>

#include "latency/layers/totals.h"
#include "latency/model/layer_notation.h"
#include "lua/bind/bind.h"
#include "lua/engine/engine_model.h"

enum { TEXT_SIZE = 512 };

/* Sets a number of bytes or weights: an integer, or a float above 2^53. */
static void set_whole(lua_State *L, const char *name, double value) {
  if (value < 0x1p53) {
    set_field_integer(L, name, (int64_t)(value + 0.5));
  } else {
    set_field_number(L, name, value);
  }
}

/* Lists each format of the weights with its fraction of the parameters. */
static void describe_formats(const blis_layered_model *model, char text[TEXT_SIZE]) {
  double weights[BLIS_KIND_COUNT] = {0.0};
  double matrix = (double)model->vocabulary * (double)model->hidden_size;
  double all = matrix * (model->has_tied_embeddings ? 1.0 : 2.0);
  weights[BLIS_KIND_MODEL] = matrix;
  weights[model->head.kind] += all - matrix;
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_layer_run *run = &model->runs[i];
    blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
    size_t count = blis_layer_matrices(&run->layer, model->hidden_size, matrices);
    for (size_t j = 0; j < count; j++) {
      const blis_matrix *m = &matrices[j];
      double size = (double)run->count * m->copies * m->rows * m->columns;
      weights[m->is_small ? BLIS_KIND_MODEL : run->layer.formats[m->class].kind] += size;
      all += size;
    }
  }
  text[0] = '\0';
  for (int kind = BLIS_KIND_COUNT; kind-- > 0;) {
    size_t used = strlen(text);
    if (weights[kind] > 0.0005 * all) {
      (void)snprintf(text + used, TEXT_SIZE - used, "%s%.3g%% %s", used > 0 ? ", " : "",
                     100.0 * weights[kind] / all, blis_weight_kind_name((blis_weight_kind)kind));
    }
  }
}

static void set_totals(lua_State *L, const bind_engine_model *m) {
  const blis_layered_model *model = m->layered;
  const blis_sharding sharding = {m->parallelism.tp,
                                  m->parallelism.tp * m->parallelism.dp * m->sharing_ranks};
  blis_model_cache cache = blis_layered_cache(model, m->parallelism.tp);
  set_whole(L, "parameters", blis_layered_parameters(model));
  set_whole(L, "active_parameters", blis_layered_active_parameters(model));
  set_whole(L, "weight_bytes", blis_layered_weight_bytes(model));
  set_whole(L, "weight_bytes_per_gpu", blis_layered_weight_bytes_per_gpu(model, &sharding));
  set_field_number(L, "kv_bytes_per_token", cache.token_bytes);
  set_whole(L, "window_bytes_per_sequence", cache.window_bytes);
  set_whole(L, "state_bytes_per_sequence", cache.state_bytes);
}

int bind_model_facts(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_engine_model m;
  check_engine_model(L, 1, false, &m);
  if (m.layered == NULL) {
    lua_pushnil(L);
    return 1;
  }
  char text[TEXT_SIZE];
  lua_createtable(L, 0, 20);
  set_field_string(L, "model", m.id);
  set_totals(L, &m);
  blis_layered_model_describe(m.layered, text, sizeof text);
  set_field_string(L, "layers_text", text);
  describe_formats(m.layered, text);
  set_field_string(L, "precision", text);
  set_field_string(L, "quantization", m.layered->quantization);
  set_field_number(L, "kv_bits", 8.0 * blis_layered_widths(m.layered).kv);
  set_field_string(L, "notes", m.layered->notes);
  set_field_integer(L, "tp", m.parallelism.tp);
  set_field_integer(L, "dp", m.parallelism.dp);
  if (m.hardware != NULL) {
    set_field_string(L, "hardware", m.hardware->name);
  }
  blis_error error = {0};
  if (blis_layered_check_tp(m.layered, m.parallelism.tp, &error) != BLIS_OK) {
    set_field_string(L, "tp_problem", error.message);
  }
  return 1;
}

static int buffer_gc(lua_State *L) {
  blis_buffer_deinit(lua_touserdata(L, 1));
  return 0;
}

int bind_model_entry(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  bind_engine_model m;
  check_engine_model(L, 1, false, &m);
  if (m.layered == NULL) {
    lua_pushnil(L);
    return 1;
  }
  blis_alloc alloc = bind_alloc(L);
  blis_buffer *buffer = push_guarded(L, 1, sizeof *buffer, buffer_gc);
  blis_buffer_init(buffer, &alloc);
  blis_layer_notation_write(m.layered, m.id, buffer);
  check_status(L, blis_buffer_status(buffer), NULL);
  lua_pushlstring(L, buffer->data, buffer->length);
  return 1;
}
