#include "latency/model/layer_notation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"
#include "latency/layers/layer_fields.h"
#include "latency/model/layered_spec.h"
#include "latency/spec/names.h"

static const char *const CLASS_NAMES[BLIS_WEIGHT_CLASS_COUNT] = {
    "attention", "attention_out", "indexer", "linear", "dense", "experts", "shared", "head"};

/* Keys of the whole model that are not in blis_model_spec. */
static const char *const FRAME_KEYS[] = {"weights", "kv_cache_dtype", "state_dtype",
                                         "other_weights", "layer_weights"};

static const blis_spec_field *find_field(const char *key, bool *is_attention) {
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  const blis_spec_field *field = blis_spec_find(fields, count, key);
  *is_attention = field != NULL;
  if (field == NULL) {
    fields = blis_ffn_fields(&count);
    field = blis_spec_find(fields, count, key);
  }
  return field;
}

bool blis_layer_notation_is_of_model(const char *key) {
  for (size_t i = 0; i < sizeof FRAME_KEYS / sizeof *FRAME_KEYS; i++) {
    if (strcmp(key, FRAME_KEYS[i]) == 0) {
      return true;
    }
  }
  return false;
}

bool blis_layer_notation_has_key(const char *key) {
  bool is_attention;
  return blis_layer_notation_is_of_model(key) || find_field(key, &is_attention) != NULL;
}

/* Formats. */

/*
 * Returns the format for a number of bytes. Values slightly above 1 are FP8 with scales for blocks
 * of 128 x 128, because INT8 with groups adds at least 1%.
 */
static blis_weight_kind kind_of_bytes(double bytes) {
  if (bytes > 1.0 && bytes < 1.001) {
    return BLIS_KIND_FP8_BLOCK;
  }
  return bytes < 1.0 ? BLIS_KIND_INT4 : BLIS_KIND_INT8;
}

static blis_status read_format(const blis_yaml_node *node, blis_weight_format *format,
                               blis_error *error) {
  double bytes = 0.0;
  if (blis_yaml_double(node, 0.0, 8.0, &bytes, NULL) == BLIS_OK) {
    *format = (blis_weight_format){kind_of_bytes(bytes), bytes};
    return BLIS_OK;
  }
  blis_slice name;
  BLIS_TRY(blis_yaml_text(node, &name, error));
  blis_error fault = {0};
  if (blis_weight_format_named(name.data, format, &fault) != BLIS_OK) {
    return blis_yaml_fail(node, fault.message, error);
  }
  return BLIS_OK;
}

static blis_status read_class(const blis_yaml_node *key, const blis_yaml_node *value,
                              blis_layer *layer, blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  blis_nearest nearest = {.wanted = name};
  for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
    if (strcmp(name, CLASS_NAMES[class]) == 0) {
      return read_format(value, &layer->formats[class], error);
    }
    blis_nearest_offer(&nearest, CLASS_NAMES[class]);
  }
  char text[640];
  (void)snprintf(text, sizeof text, "is an unknown class of weights%s",
                 blis_nearest_suggest(&nearest).text);
  return blis_yaml_fail(key, text, error);
}

/* Reads one format for all classes except the head, or formats by class. */
static blis_status read_weights(const blis_yaml_node *node, blis_layer *layer, blis_error *error) {
  if (blis_yaml_type_of(node) == BLIS_YAML_MAPPING) {
    for (size_t i = 0; i < blis_yaml_count(node); i++) {
      BLIS_TRY(read_class(blis_yaml_key(node, i), blis_yaml_item(node, i), layer, error));
    }
    return BLIS_OK;
  }
  blis_weight_format format;
  BLIS_TRY(read_format(node, &format, error));
  for (int class = 0; class < BLIS_WEIGHT_HEAD; class ++) {
    layer->formats[class] = format;
  }
  return BLIS_OK;
}

/* Layers. */

static blis_status read_size(const blis_yaml_node *node, const blis_spec_field *field, void *part,
                             blis_error *error) {
  if (field->kind == BLIS_SPEC_FLAG) {
    bool flag;
    BLIS_TRY(blis_yaml_bool(node, &flag, error));
    return blis_spec_set_number(part, field, flag ? 1.0 : 0.0, error);
  }
  int64_t value;
  BLIS_TRY(blis_yaml_int64(node, 0, INT32_MAX - 1, &value, error));
  return blis_spec_set_number(part, field, (double)value, error);
}

static blis_status read_kind(const blis_yaml_node *node, const char *(*name_of)(int), int count,
                             int *kind, blis_error *error) {
  blis_slice word;
  BLIS_TRY(blis_yaml_text(node, &word, error));
  blis_nearest nearest = {.wanted = word.data};
  for (int i = 0; i < count; i++) {
    if (strcmp(word.data, name_of(i)) == 0) {
      *kind = i;
      return BLIS_OK;
    }
    blis_nearest_offer(&nearest, name_of(i));
  }
  char text[640];
  (void)snprintf(text, sizeof text, "is an unknown kind%s", blis_nearest_suggest(&nearest).text);
  return blis_yaml_fail(node, text, error);
}

static const char *attention_name(int kind) {
  return blis_attention_kind_name((blis_attention_kind)kind);
}

static const char *ffn_name(int kind) {
  return blis_ffn_kind_name((blis_ffn_kind)kind);
}

/* `window: N` and `chunk: N` also set the kind. */
static blis_status read_span(const blis_yaml_node *node, blis_attention_kind kind,
                             blis_attention *a, blis_error *error) {
  a->kind = a->kind == BLIS_ATTENTION_COMPRESSED ? a->kind : kind;
  return blis_yaml_int64(node, 1, INT32_MAX - 1, &a->span, error);
}

static blis_status fail_key(const blis_yaml_node *key, blis_error *error) {
  static const char *const KEYS[] = {"count", "attention", "ffn",          "window",
                                     "chunk", "weights",   "layer_weights"};
  const char *name = blis_yaml_scalar(key).data;
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_nearest_offer(&nearest, KEYS[i]);
  }
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  for (size_t i = 0; i < count; i++) {
    blis_nearest_offer(&nearest, fields[i].name);
  }
  fields = blis_ffn_fields(&count);
  for (size_t i = 0; i < count; i++) {
    blis_nearest_offer(&nearest, fields[i].name);
  }
  char text[640];
  (void)snprintf(text, sizeof text, "is an unknown key of layers%s",
                 blis_nearest_suggest(&nearest).text);
  return blis_yaml_fail(key, text, error);
}

static blis_status read_run_key(const blis_yaml_node *key, const blis_yaml_node *value,
                                blis_layer_run *run, blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  blis_layer *layer = &run->layer;
  int kind = 0;
  bool is_attention;
  if (strcmp(name, "count") == 0) {
    return blis_yaml_int64(value, 1, 4096, &run->count, error);
  }
  if (strcmp(name, "attention") == 0) {
    BLIS_TRY(read_kind(value, attention_name, BLIS_ATTENTION_KIND_COUNT, &kind, error));
    layer->attention.kind = (blis_attention_kind)kind;
    return BLIS_OK;
  }
  if (strcmp(name, "ffn") == 0) {
    BLIS_TRY(read_kind(value, ffn_name, BLIS_FFN_KIND_COUNT, &kind, error));
    layer->ffn.kind = (blis_ffn_kind)kind;
    return BLIS_OK;
  }
  if (strcmp(name, "window") == 0) {
    return read_span(value, BLIS_ATTENTION_WINDOW, &layer->attention, error);
  }
  if (strcmp(name, "chunk") == 0) {
    return read_span(value, BLIS_ATTENTION_CHUNK, &layer->attention, error);
  }
  if (strcmp(name, "weights") == 0) {
    return read_weights(value, layer, error);
  }
  if (strcmp(name, "layer_weights") == 0) {
    return blis_yaml_double(value, 0.0, 1e15, &layer->other_weights, error);
  }
  const blis_spec_field *field = find_field(name, &is_attention);
  if (field == NULL) {
    return fail_key(key, error);
  }
  return read_size(value, field, is_attention ? (void *)&layer->attention : (void *)&layer->ffn,
                   error);
}

/* Clears sizes of linear and state-space layers. */
static void clear_linear(blis_attention *a) {
  a->key_heads = a->key_dim = a->value_heads = a->value_dim = 0;
  a->state_size = a->state_groups = a->time_rank = a->conv_kernel = 0;
  a->has_full_rank_gate = false;
}

/* Clears sizes of low-rank projections. */
static void clear_latent(blis_attention *a) {
  a->kv_rank = a->rope_dim = a->nope_dim = 0;
  a->output_rank = a->output_groups = a->ratio = 0;
}

/* Clears sizes that only layers with a key cache have. */
static void clear_cached(blis_attention *a) {
  clear_latent(a);
  a->query_rank = a->kv_heads = a->value_head_dim = a->gate_width = a->span = 0;
  a->index_heads = a->index_dim = a->index_key_bytes = a->attended_tokens = 0;
  a->has_no_value_matrix = a->reuses_kv = false;
}

/* Clears sizes from the whole model that the kind of the layer does not use. */
static void clear_unused_attention(blis_attention *a) {
  switch (a->kind) {
  case BLIS_ATTENTION_FULL:
  case BLIS_ATTENTION_WINDOW:
  case BLIS_ATTENTION_CHUNK:
    clear_linear(a);
    clear_latent(a);
    a->span = a->kind == BLIS_ATTENTION_FULL ? 0 : a->span;
    break;
  case BLIS_ATTENTION_LATENT:
    clear_linear(a);
    a->kv_heads = a->head_dim = a->span = 0;
    a->output_rank = a->output_groups = a->ratio = 0;
    break;
  case BLIS_ATTENTION_COMPRESSED:
    clear_linear(a);
    break;
  case BLIS_ATTENTION_PARALLEL:
    clear_latent(a);
    a->span = 0;
    break;
  case BLIS_ATTENTION_KDA:
  case BLIS_ATTENTION_LIGHTNING: {
    int64_t kernel = a->conv_kernel;
    bool has_gate = a->has_full_rank_gate;
    clear_cached(a);
    clear_linear(a);
    a->conv_kernel = a->kind == BLIS_ATTENTION_KDA ? kernel : 0;
    a->has_full_rank_gate = has_gate;
    break;
  }
  case BLIS_ATTENTION_GDN:
  case BLIS_ATTENTION_MAMBA2:
  case BLIS_ATTENTION_MAMBA1:
    clear_cached(a);
    a->heads = a->head_dim = 0;
    break;
  case BLIS_ATTENTION_SHORT_CONV:
    *a = (blis_attention){.kind = a->kind, .conv_kernel = a->conv_kernel};
    break;
  default:
    *a = (blis_attention){.kind = a->kind};
  }
}

static void clear_unused(blis_layer *layer) {
  clear_unused_attention(&layer->attention);
  blis_ffn *f = &layer->ffn;
  if (f->kind == BLIS_FFN_DENSE) {
    *f = (blis_ffn){.kind = f->kind, .width = f->width, .matrices = f->matrices};
  } else if (f->kind == BLIS_FFN_NONE) {
    *f = (blis_ffn){.kind = f->kind};
  } else if (f->kind == BLIS_FFN_MOE) {
    f->width = 0;
  }
}

/* Fills missing sizes with defaults: one KV head per query head, heads that divide the hidden
   state, gated feed-forward layers, and experts as wide as dense layers. */
static void fill_implied(blis_layer *layer, int64_t hidden_size) {
  blis_attention *a = &layer->attention;
  blis_ffn *f = &layer->ffn;
  bool has_heads = a->kind == BLIS_ATTENTION_FULL || a->kind == BLIS_ATTENTION_WINDOW ||
                   a->kind == BLIS_ATTENTION_CHUNK || a->kind == BLIS_ATTENTION_PARALLEL;
  if (has_heads && a->kv_heads == 0) {
    a->kv_heads = a->heads;
  }
  if (has_heads && a->head_dim == 0 && a->heads > 0 && hidden_size % a->heads == 0) {
    a->head_dim = hidden_size / a->heads;
  }
  if (f->kind != BLIS_FFN_NONE && f->matrices == 0) {
    f->matrices = 3;
  }
  if (f->experts > 0 && f->expert_width == 0) {
    f->expert_width = f->width;
  }
}

static blis_status need(const blis_yaml_node *node, const char *name, int64_t value,
                        blis_error *error) {
  if (value > 0) {
    return BLIS_OK;
  }
  char text[96];
  (void)snprintf(text, sizeof text, "needs %s, in the run or for the whole model", name);
  return blis_yaml_fail(node, text, error);
}

static blis_status check_attention(const blis_yaml_node *node, const blis_attention *a,
                                   blis_error *error) {
  switch (a->kind) {
  case BLIS_ATTENTION_WINDOW:
    BLIS_TRY(need(node, "window", a->span, error));
    break;
  case BLIS_ATTENTION_CHUNK:
    BLIS_TRY(need(node, "chunk", a->span, error));
    break;
  case BLIS_ATTENTION_LATENT:
    BLIS_TRY(need(node, "kv_lora_rank", a->kv_rank, error));
    return need(node, "qk_nope_head_dim", a->nope_dim, error);
  case BLIS_ATTENTION_GDN:
    BLIS_TRY(need(node, "linear_key_heads", a->key_heads, error));
    return need(node, "linear_value_heads", a->value_heads, error);
  case BLIS_ATTENTION_MAMBA2:
  case BLIS_ATTENTION_PARALLEL:
    BLIS_TRY(need(node, "linear_value_heads", a->value_heads, error));
    return need(node, "state_size", a->state_size, error);
  case BLIS_ATTENTION_MAMBA1:
    return need(node, "state_size", a->state_size, error);
  case BLIS_ATTENTION_SHORT_CONV:
    return need(node, "conv_kernel", a->conv_kernel, error);
  case BLIS_ATTENTION_NONE:
  case BLIS_ATTENTION_MATRIX:
    return BLIS_OK;
  default:
    break;
  }
  BLIS_TRY(need(node, "attention_heads", a->heads, error));
  return need(node, "head_dim", a->head_dim, error);
}

static blis_status check_ffn(const blis_yaml_node *node, const blis_ffn *f, blis_error *error) {
  if (f->kind == BLIS_FFN_DENSE || f->kind == BLIS_FFN_MOE_DENSE) {
    BLIS_TRY(need(node, "intermediate_size", f->width, error));
  }
  if (f->kind == BLIS_FFN_MOE || f->kind == BLIS_FFN_MOE_DENSE) {
    BLIS_TRY(need(node, "experts", f->experts, error));
    BLIS_TRY(need(node, "expert_intermediate_size", f->expert_width, error));
    if (f->experts_per_token > f->experts) {
      return blis_yaml_fail(node, "has more experts_per_token than experts", error);
    }
  }
  return BLIS_OK;
}

static blis_status read_run(const blis_yaml_node *node, const blis_layer *base,
                            blis_layered_model *model, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  blis_layer_run run = {.layer = *base};
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(read_run_key(blis_yaml_key(node, i), blis_yaml_item(node, i), &run, error));
  }
  if (run.count == 0) {
    return blis_yaml_fail(node, "needs the key count, the number of these layers", error);
  }
  fill_implied(&run.layer, model->hidden_size);
  clear_unused(&run.layer);
  BLIS_TRY(check_attention(node, &run.layer.attention, error));
  BLIS_TRY(check_ffn(node, &run.layer.ffn, error));
  return blis_layered_model_add(model, &run.layer, run.count, error);
}

/* Keys of the whole model. */

static blis_status read_bytes(const blis_yaml_node *node, double *bytes, blis_error *error) {
  blis_slice name;
  blis_error fault = {0};
  BLIS_TRY(blis_yaml_text(node, &name, error));
  if (blis_precision_kv_bytes(name.data, bytes, &fault) != BLIS_OK) {
    return blis_yaml_fail(node, fault.message, error);
  }
  return BLIS_OK;
}

static blis_status read_frame_key(const blis_yaml_node *key, const blis_yaml_node *value,
                                  blis_layered_model *model, blis_layer *base, blis_error *error) {
  const char *name = blis_yaml_scalar(key).data;
  bool is_attention;
  if (strcmp(name, "weights") == 0) {
    return read_weights(value, base, error);
  }
  if (strcmp(name, "kv_cache_dtype") == 0) {
    return read_bytes(value, &model->kv_bytes, error);
  }
  if (strcmp(name, "state_dtype") == 0) {
    return read_bytes(value, &model->recurrent_bytes, error);
  }
  if (strcmp(name, "other_weights") == 0) {
    return blis_yaml_double(value, 0.0, 1e15, &model->other_weights, error);
  }
  if (strcmp(name, "layer_weights") == 0) {
    return blis_yaml_double(value, 0.0, 1e15, &base->other_weights, error);
  }
  const blis_spec_field *field = find_field(name, &is_attention);
  if (field == NULL) {
    return BLIS_OK;
  }
  return read_size(value, field, is_attention ? (void *)&base->attention : (void *)&base->ffn,
                   error);
}

static blis_status check_frame(const blis_yaml_node *entry, const blis_layered_model *model,
                               blis_error *error) {
  BLIS_TRY(need(entry, "hidden_size", model->hidden_size, error));
  BLIS_TRY(need(entry, "vocab_size", model->vocabulary, error));
  if (!(model->model_bytes > 0.0)) {
    return blis_yaml_fail(entry, "needs bytes_per_param", error);
  }
  return BLIS_OK;
}

/* Returns whether the entry, or a run of its layers, contains weight formats. */
static bool states_weights(const blis_yaml_node *entry) {
  const blis_yaml_node *layers = blis_yaml_get(entry, "layers");
  bool is_list = layers != NULL && blis_yaml_type_of(layers) == BLIS_YAML_SEQUENCE;
  for (size_t i = 0; is_list && i < blis_yaml_count(layers); i++) {
    if (blis_yaml_get(blis_yaml_item(layers, i), "weights") != NULL) {
      return true;
    }
  }
  return blis_yaml_get(entry, "weights") != NULL;
}

/* Applies `quantization` to all weights of an entry that has no other weight formats. */
static blis_status apply_quantization(const blis_yaml_node *entry, const blis_model_spec *spec,
                                      blis_layered_model *model, blis_error *error) {
  if (spec->quantization[0] == '\0' || spec->weight_bytes_per_param > 0.0 ||
      states_weights(entry)) {
    return BLIS_OK;
  }
  blis_precision precision;
  blis_error fault = {0};
  if (blis_precision_override(&model->alloc, spec->quantization, 1,
                              blis_layered_model_has_experts(model), &precision,
                              &fault) != BLIS_OK) {
    return blis_yaml_fail(blis_yaml_get(entry, "quantization"), fault.message, error);
  }
  blis_layered_model_set_precision(model, &precision);
  blis_precision_free(&precision);
  return BLIS_OK;
}

/* Sets the default kinds of a run. */
static void set_usual_kinds(blis_layer *base) {
  base->attention.kind = base->attention.kv_rank > 0 ? BLIS_ATTENTION_LATENT : BLIS_ATTENTION_FULL;
  base->ffn.kind = base->ffn.experts > 0 ? BLIS_FFN_MOE : BLIS_FFN_DENSE;
}

static blis_status read_all(const blis_yaml_node *entry, const blis_model_spec *spec,
                            blis_layered_model *model, blis_error *error) {
  blis_model_spec_copy_frame(spec, model);
  blis_layer base = {0};
  const blis_layer equal = blis_model_spec_layer(spec);
  memcpy(base.formats, equal.formats, sizeof base.formats);
  for (size_t i = 0; i < blis_yaml_count(entry); i++) {
    BLIS_TRY(
        read_frame_key(blis_yaml_key(entry, i), blis_yaml_item(entry, i), model, &base, error));
  }
  set_usual_kinds(&base);
  model->head = base.formats[BLIS_WEIGHT_HEAD];
  base.formats[BLIS_WEIGHT_HEAD] = (blis_weight_format){0};
  BLIS_TRY(check_frame(entry, model, error));
  const blis_yaml_node *layers = blis_yaml_get(entry, "layers");
  BLIS_TRY(blis_yaml_need_sequence(layers, error));
  if (blis_yaml_count(layers) == 0) {
    return blis_yaml_fail(layers, "must have at least one run of layers", error);
  }
  for (size_t i = 0; i < blis_yaml_count(layers); i++) {
    BLIS_TRY(read_run(blis_yaml_item(layers, i), &base, model, error));
  }
  return apply_quantization(entry, spec, model, error);
}

blis_status blis_layer_notation_read(const blis_alloc *alloc, const blis_yaml_node *entry,
                                     const blis_model_spec *spec, blis_layered_model *model,
                                     blis_error *error) {
  blis_layered_model read;
  blis_layered_model_init(&read, alloc);
  blis_status status = read_all(entry, spec, &read, error);
  if (status != BLIS_OK) {
    blis_layered_model_free(&read);
    return status;
  }
  *model = read;
  return BLIS_OK;
}

/* Applies keys of the whole model to a number of identical layers. */
static blis_status read_equal(const blis_yaml_node *entry, const blis_model_spec *spec,
                              blis_layered_model *model, blis_error *error) {
  blis_layer base = {0};
  for (size_t i = 0; i < blis_yaml_count(entry); i++) {
    BLIS_TRY(
        read_frame_key(blis_yaml_key(entry, i), blis_yaml_item(entry, i), model, &base, error));
  }
  BLIS_TRY(apply_quantization(entry, spec, model, error));
  for (size_t i = 0; i < model->run_count; i++) {
    blis_layer *layer = &model->runs[i].layer;
    layer->other_weights += base.other_weights;
    if (blis_yaml_get(entry, "weights") != NULL) {
      memcpy(layer->formats, base.formats, sizeof layer->formats);
      layer->formats[BLIS_WEIGHT_HEAD] = (blis_weight_format){0};
      model->head = base.formats[BLIS_WEIGHT_HEAD];
    }
  }
  return BLIS_OK;
}

blis_status blis_layer_notation_read_equal(const blis_alloc *alloc, const blis_yaml_node *entry,
                                           const blis_model_spec *spec, blis_layered_model *model,
                                           blis_error *error) {
  blis_layered_model read;
  blis_error fault = {0};
  if (blis_model_spec_expand(alloc, spec, &read, &fault) != BLIS_OK) {
    return blis_yaml_fail(entry, fault.message, error);
  }
  blis_status status = read_equal(entry, spec, &read, error);
  if (status != BLIS_OK) {
    blis_layered_model_free(&read);
    return status;
  }
  *model = read;
  return BLIS_OK;
}

/* Writing. */

/* Writes a run, which contains only differences from the layer of the whole model. */
typedef struct writer {
  blis_buffer *buffer;
  const char *separator;
} writer;

static void begin_field(writer *w, const char *name) {
  blis_buffer_format(w->buffer, "%s%s: ", w->separator, name);
}

static void write_number(writer *w, const char *name, double value, bool is_flag) {
  begin_field(w, name);
  if (is_flag) {
    blis_buffer_string(w->buffer, value != 0.0 ? "true" : "false");
  } else {
    blis_buffer_double(w->buffer, value, BLIS_DOUBLE_JSON);
  }
}

static void write_format_value(blis_buffer *buffer, blis_weight_format format) {
  blis_weight_format named;
  const char *name = format.kind == BLIS_KIND_MODEL ? "none" : blis_weight_kind_name(format.kind);
  if (blis_weight_format_named(name, &named, NULL) == BLIS_OK && named.bytes == format.bytes) {
    blis_buffer_string(buffer, name);
  } else {
    blis_buffer_double(buffer, format.bytes, BLIS_DOUBLE_JSON);
  }
}

static bool is_same_format(blis_weight_format a, blis_weight_format b) {
  return a.kind == b.kind && a.bytes == b.bytes;
}

/* Writes the formats of a layer that differ from the base. */
static void write_formats(writer *w, const blis_layer *layer, const blis_layer *base,
                          int64_t hidden_size) {
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, hidden_size, matrices);
  const char *separator = "";
  bool is_written[BLIS_WEIGHT_CLASS_COUNT] = {false};
  for (size_t i = 0; i < count; i++) {
    blis_weight_class class = matrices[i].class;
    if (matrices[i].is_small || is_written[class] ||
        is_same_format(layer->formats[class], base->formats[class])) {
      continue;
    }
    if (separator[0] == '\0') {
      begin_field(w, "weights");
      blis_buffer_char(w->buffer, '{');
    }
    blis_buffer_format(w->buffer, "%s%s: ", separator, CLASS_NAMES[class]);
    write_format_value(w->buffer, layer->formats[class]);
    is_written[class] = true;
    separator = ", ";
  }
  if (separator[0] != '\0') {
    blis_buffer_char(w->buffer, '}');
  }
}

static void write_fields(writer *w, const void *part, const void *base,
                         const blis_spec_field *fields, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double value = blis_spec_get_number(part, &fields[i]);
    if (value != blis_spec_get_number(base, &fields[i])) {
      write_number(w, fields[i].name, value, fields[i].kind == BLIS_SPEC_FLAG);
    }
  }
}

/* Returns the layer that results from reading a run with only its kinds and its window. */
static blis_layer base_for(const blis_layer *base, const blis_layer *layer, int64_t hidden_size) {
  blis_layer made = *base;
  made.attention.kind = layer->attention.kind;
  made.attention.span = layer->attention.span;
  made.ffn.kind = layer->ffn.kind;
  fill_implied(&made, hidden_size);
  clear_unused(&made);
  made.attention.span = layer->attention.span;
  return made;
}

static void write_run(writer *w, const blis_layer_run *run, const blis_layer *base,
                      int64_t hidden_size) {
  const blis_layer *layer = &run->layer;
  const blis_attention *a = &layer->attention;
  blis_buffer_format(w->buffer, "      - {count: %" PRId64, run->count);
  w->separator = ", ";
  if (a->kind != base->attention.kind) {
    begin_field(w, "attention");
    blis_buffer_string(w->buffer, blis_attention_kind_name(a->kind));
  }
  if (a->span > 0) {
    begin_field(w, a->kind == BLIS_ATTENTION_CHUNK ? "chunk" : "window");
    blis_buffer_int64(w->buffer, a->span);
  }
  if (layer->ffn.kind != base->ffn.kind) {
    begin_field(w, "ffn");
    blis_buffer_string(w->buffer, blis_ffn_kind_name(layer->ffn.kind));
  }
  blis_layer start = base_for(base, layer, hidden_size);
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  write_fields(w, a, &start.attention, fields, count);
  fields = blis_ffn_fields(&count);
  write_fields(w, &layer->ffn, &start.ffn, fields, count);
  if (layer->other_weights != base->other_weights) {
    write_number(w, "layer_weights", layer->other_weights, false);
  }
  write_formats(w, layer, &start, hidden_size);
  blis_buffer_string(w->buffer, "}\n");
}

/* Fills fields that are 0 in `part` with the first other value among the runs. */
static void take_missing(void *part, const blis_layered_model *model, const blis_spec_field *fields,
                         size_t count, size_t offset) {
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < model->run_count; j++) {
      const void *other = (const char *)&model->runs[j].layer + offset;
      double value = blis_spec_get_number(other, &fields[i]);
      if (blis_spec_get_number(part, &fields[i]) == 0.0 && value != 0.0) {
        blis_status status = blis_spec_set_number(part, &fields[i], value, NULL);
        BLIS_ASSERT(status == BLIS_OK);
      }
    }
  }
}

/* Sets the layer of the whole model: the sizes of the longest run, completed with sizes of other
   runs. */
static void take_common(blis_layer *base, const blis_layered_model *model) {
  size_t best = 0;
  for (size_t i = 1; i < model->run_count; i++) {
    best = model->runs[i].count > model->runs[best].count ? i : best;
  }
  *base = model->runs[best].layer;
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  take_missing(&base->attention, model, fields, count, offsetof(blis_layer, attention));
  fields = blis_ffn_fields(&count);
  take_missing(&base->ffn, model, fields, count, offsetof(blis_layer, ffn));
  base->attention.span = 0;
  set_usual_kinds(base);
  memset(base->formats, 0, sizeof base->formats);
}

static void write_frame_fields(writer *w, const void *part, const blis_spec_field *fields,
                               size_t count) {
  for (size_t i = 0; i < count; i++) {
    double value = blis_spec_get_number(part, &fields[i]);
    bool is_implied = strcmp(fields[i].name, "ffn_matrices") == 0 && value == 3.0;
    if (value != 0.0 && !is_implied) {
      write_number(w, fields[i].name, value, fields[i].kind == BLIS_SPEC_FLAG);
    }
  }
}

static const char *type_name(double bytes) {
  return bytes == 4.0 ? "float32" : bytes == 2.0 ? "bfloat16" : bytes == 1.0 ? "fp8" : "nvfp4";
}

void blis_layer_notation_write(const blis_layered_model *model, const char *id,
                               blis_buffer *buffer) {
  writer w = {buffer, "\n    "};
  blis_layer base;
  take_common(&base, model);
  blis_buffer_format(buffer, "  - id: %s", id);
  write_number(&w, "hidden_size", (double)model->hidden_size, false);
  write_number(&w, "vocab_size", (double)model->vocabulary, false);
  write_number(&w, "bytes_per_param", model->model_bytes, false);
  if (model->has_tied_embeddings) {
    write_number(&w, "tie_word_embeddings", 1.0, true);
  }
  if (model->max_tokens > 0) {
    write_number(&w, "max_model_tokens", (double)model->max_tokens, false);
  }
  if (model->quantization[0] != '\0') {
    begin_field(&w, "quantization");
    blis_buffer_string(buffer, model->quantization);
  }
  if (model->kv_bytes > 0.0) {
    begin_field(&w, "kv_cache_dtype");
    blis_buffer_string(buffer, type_name(model->kv_bytes));
  }
  if (model->recurrent_bytes > 0.0) {
    begin_field(&w, "state_dtype");
    blis_buffer_string(buffer, type_name(model->recurrent_bytes));
  }
  if (model->other_weights > 0.0) {
    write_number(&w, "other_weights", model->other_weights, false);
  }
  bool has_head_format = !is_same_format(model->head, (blis_weight_format){0});
  if (has_head_format || model->quantization[0] != '\0') {
    begin_field(&w, "weights"); /* so that `quantization` only records the method of the files */
    blis_buffer_string(buffer, "{head: ");
    write_format_value(buffer, model->head);
    blis_buffer_char(buffer, '}');
  }
  if (base.other_weights > 0.0) {
    write_number(&w, "layer_weights", base.other_weights, false);
  }
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  write_frame_fields(&w, &base.attention, fields, count);
  fields = blis_ffn_fields(&count);
  write_frame_fields(&w, &base.ffn, fields, count);
  blis_buffer_string(buffer, "\n    layers:\n");
  for (size_t i = 0; i < model->run_count; i++) {
    write_run(&w, &model->runs[i], &base, model->hidden_size);
  }
}
