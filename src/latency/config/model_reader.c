#include "latency/config/model_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/json.h"
#include "latency/config/attention.h"
#include "latency/config/feed_forward.h"
#include "latency/config/known_types.h"
#include "latency/layers/layer_fields.h"
#include "latency/spec/names.h"

enum { FILE_SIZE_MAX = 16 << 20 };

/* Types. */

static blis_status type_bytes(const char *source, const char *type, double *bytes,
                              blis_error *error) {
  static const struct {
    const char *name;
    double bytes;
  } TYPES[] = {{"float32", 4.0},       {"float", 4.0},       {"float16", 2.0}, {"half", 2.0},
               {"bfloat16", 2.0},      {"int8", 1.0},        {"uint8", 1.0},   {"fp8", 1.0},
               {"float8_e4m3fn", 1.0}, {"float8_e5m2", 1.0}, {"int4", 1.0},    {"nf4", 1.0}};
  const char *name = strncmp(type, "torch.", 6) == 0 ? type + 6 : type;
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (blis__equal_names(name, TYPES[i].name)) {
      *bytes = TYPES[i].bytes;
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%.160s: unknown dtype '%.40s'; expected bfloat16, float16, or float32", source,
                   type);
}

static const char *type_in(blis_json_value part) {
  const char *type = blis__text_of(blis_json_member(part, "torch_dtype"));
  return type[0] != '\0' ? type : blis__text_of(blis_json_member(part, "dtype"));
}

/* Returns the type of the text part, or of the root. If the text part is float32 and the root has
   another type, float32 is only a class default and is ignored. */
static const char *stated_type(const blis__config *config) {
  const char *inside = type_in(config->text);
  const char *type = type_in(config->root);
  bool is_default = blis__contains(inside, "float32") && type[0] != '\0';
  return inside[0] != '\0' && !is_default ? inside : type;
}

static void read_types(blis__config *config, blis_layered_model *model) {
  const char *type = stated_type(config);
  model->model_bytes = 2.0;
  if (type[0] == '\0' || strcmp(type, "auto") == 0) {
    blis_layered_model_note(model, "torch_dtype is not stated; bfloat16 is assumed");
  } else if (config->status == BLIS_OK) {
    config->status = type_bytes(config->source, type, &model->model_bytes, config->error);
  }
  const char *state = blis__config_text(config, "mamba_ssm_dtype");
  if (state[0] == '\0') {
    state = blis__config_text(config, "mamba_ssm_cache_dtype");
  }
  model->recurrent_bytes = strcmp(state, "float32") == 0 ? 4.0 : 0.0;
}

/* Weights that are in no matrix of blis_layer_matrices. */

/* Returns the width of per-layer inputs. The class of Gemma 4 has a default width. However, only
   its public models with shared KV layers have such inputs, and copies of the other files omit the
   key. */
static double layer_input_width(blis__config *config, blis_layered_model *model) {
  static const char key[] = "hidden_size_per_layer_input";
  int64_t width = blis__config_whole(config, BLIS__KEYS(key));
  bool is_large = blis__config_is(config, "gemma4") && blis__config_has(config, "hidden_size") &&
                  blis__config_whole(config, BLIS__KEYS("num_kv_shared_layers")) == 0;
  if (width > 0 && is_large && !blis__config_states(config, key)) {
    blis_layered_model_note(model, "%s is not stated: no inputs for each layer are counted", key);
    return 0.0;
  }
  return (double)width;
}

/* Adds the tables and projections of per-layer inputs, in Gemma 3n and small Gemma 4 models. */
static void read_layer_inputs(blis__config *config, const blis__sizes *sizes,
                              blis_layered_model *model, blis_layer *extra) {
  double width = layer_input_width(config, model);
  if (width == 0.0) {
    return;
  }
  double words = (double)blis__config_whole(config, BLIS__KEYS("vocab_size_per_layer_input"));
  double layers = (double)sizes->layers;
  double hidden = (double)sizes->hidden;
  model->other_weights += words * layers * width + hidden * layers * width;
  extra->other_weights += 2.0 * hidden * width;
}

/* Adds the weights for several copies of the hidden state in Gemma 3n. */
static void read_copies(blis__config *config, const blis__sizes *sizes, blis_layered_model *model,
                        blis_layer *extra) {
  double copies = (double)blis__config_whole(config, BLIS__KEYS("altup_num_inputs"));
  double rank = (double)blis__config_whole(config, BLIS__KEYS("laurel_rank"));
  double hidden = (double)sizes->hidden;
  if (copies > 1.0) {
    model->other_weights += 2.0 * (copies - 1.0) * hidden * hidden;
    extra->other_weights += copies * hidden;
  }
  extra->other_weights += 2.0 * rank * hidden;
}

/* Returns the number of biases of query, key, and value. */
static double bias_weights(const blis__config *config, const blis_attention *a) {
  bool has_biases =
      blis__config_is(config, "qwen2") || blis__config_flag(config, "attention_bias", false);
  return has_biases ? (double)(a->heads * a->head_dim + 2 * a->kv_heads * a->head_dim) : 0.0;
}

/*
 * Returns the number of weights of the hyper-connections of DeepSeek V4, which has several residual
 * streams.
 */
static double connection_weights(blis__config *config, const blis__sizes *sizes) {
  double streams = (double)blis__config_whole(config, BLIS__KEYS("hc_mult"));
  return 2.0 * (2.0 + streams) * streams * streams * (double)sizes->hidden *
         (streams > 0.0 ? 1.0 : 0.0);
}

/* Layers. */

static void check_fields(blis__config *config, const void *part, const blis_spec_field *fields,
                         size_t count, int64_t layer) {
  for (size_t i = 0; i < count; i++) {
    double value = blis_spec_get_number(part, &fields[i]);
    if (value < 0.0 || value >= (double)INT32_MAX) {
      blis__config_fail(config, "layer %" PRId64 ": %s must be from 0 to %" PRId32 ", got %.0f",
                        layer, fields[i].name, INT32_MAX - 1, value);
    }
  }
}

static void check_layer(blis__config *config, const blis_layer *layer, int64_t index) {
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  check_fields(config, &layer->attention, fields, count, index);
  fields = blis_ffn_fields(&count);
  check_fields(config, &layer->ffn, fields, count, index);
  const blis_ffn *f = &layer->ffn;
  if (f->experts_per_token > f->experts) {
    blis__config_fail(config,
                      "num_experts_per_tok (%" PRId64 ") must not be above the number of experts "
                      "(%" PRId64 ")",
                      f->experts_per_token, f->experts);
  }
}

/*
 * In checkpoints, KDA and lightning attention layers use the names of attention modules, so they
 * share their formats.
 */
static void share_formats(blis_layer *layer) {
  bool has_names_of_attention = layer->attention.kind == BLIS_ATTENTION_KDA ||
                                layer->attention.kind == BLIS_ATTENTION_LIGHTNING;
  if (has_names_of_attention && layer->formats[BLIS_WEIGHT_LINEAR].kind != BLIS_KIND_MODEL) {
    layer->formats[BLIS_WEIGHT_LINEAR] = layer->formats[BLIS_WEIGHT_ATTENTION];
  }
}

static blis_layer read_layer(blis__config *config, const blis__sizes *sizes, int64_t index,
                             const blis_layer *extra, const blis_precision *precision) {
  blis_layer layer = {.attention = blis__attention_read(config, sizes, index),
                      .ffn = blis__ffn_read(config, sizes, index),
                      .other_weights = extra->other_weights};
  if (config->status == BLIS_OK) {
    check_layer(config, &layer, index);
  }
  layer.other_weights += bias_weights(config, &layer.attention);
  for (int class = 0; class < BLIS_WEIGHT_HEAD; class ++) {
    layer.formats[class] = blis_precision_of(precision, index, (blis_weight_class) class);
  }
  share_formats(&layer);
  return layer;
}

static blis_status read_layers(blis__config *config, const blis__sizes *sizes,
                               const blis_precision *precision, blis_layered_model *model) {
  blis_layer extra = {.other_weights = connection_weights(config, sizes)};
  read_layer_inputs(config, sizes, model, &extra);
  read_copies(config, sizes, model, &extra);
  for (int64_t i = 0; i < sizes->layers && config->status == BLIS_OK; i++) {
    blis_layer layer = read_layer(config, sizes, i, &extra, precision);
    if (config->status == BLIS_OK) {
      config->status = blis_layered_model_add(model, &layer, 1, config->error);
    }
  }
  blis__check_unused_sizes(config, model);
  return config->status;
}

/* Notes. */

static void note_omissions(const blis__config *config, blis_layered_model *model) {
  if (config->defaults[0] != '\0') {
    blis_layered_model_note(model, "not stated, so the default of the class counts: %s",
                            config->defaults);
  }
  static const char *const DRAFTS[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers",
                                       "num_mtp_modules"};
  for (size_t i = 0; i < sizeof DRAFTS / sizeof *DRAFTS; i++) {
    int64_t layers = blis__whole_of(blis__config_member(config, DRAFTS[i]), 0);
    if (layers > 0) {
      blis_layered_model_note(model,
                              "%" PRId64 " layer%s of multi-token prediction (%s) not counted",
                              layers, layers == 1 ? "" : "s", DRAFTS[i]);
      break;
    }
  }
  static const char *const TOWERS[] = {"vision_config", "audio_config", "vision_encoder",
                                       "multimodal"};
  for (size_t i = 0; i < sizeof TOWERS / sizeof *TOWERS; i++) {
    if (blis__config_has(config, TOWERS[i])) {
      blis_layered_model_note(model, "the tower for images or sound is not counted");
      break;
    }
  }
  if (blis_json_count(blis__config_member(config, "cross_attention_layers")) > 0) {
    blis_layered_model_note(model, "layers of cross-attention count as full attention");
  }
  int64_t projection = blis__whole_of(blis__config_member(config, "word_embed_proj_dim"), 0);
  if (projection > 0 && projection != model->hidden_size) {
    blis_layered_model_note(model,
                            "word_embed_proj_dim is not counted: embeddings count hidden_size "
                            "columns");
  }
}

/* Adds a note if the name suggests another precision than the files. */
static void note_name(const char *name, blis_layered_model *model) {
  static const char *const WORDS[] = {"fp8", "nvfp4", "fp4",   "int4", "int8",
                                      "awq", "gptq",  "w4a16", "w8a8", "mxfp4"};
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS && model->quantization[0] == '\0'; i++) {
    if (blis__contains(name, WORDS[i])) {
      blis_layered_model_note(
          model,
          "the name contains '%s', but the files state no quantization: weights "
          "count in the model's type; --quantization states another",
          WORDS[i]);
      return;
    }
  }
}

static void note_experts(blis_layered_model *model) {
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_ffn *f = &model->runs[i].layer.ffn;
    if (f->experts > 0 && f->experts_per_token == 0) {
      blis_layered_model_note(model,
                              "num_experts_per_tok is not stated; active parameters count no "
                              "routed expert");
      return;
    }
  }
}

/* The complete list. */

static bool is_stated(const char *option) {
  return option != NULL && option[0] != '\0' && strcmp(option, "auto") != 0;
}

/* Accepts only the values of vLLM's --dtype. */
static blis_status check_dtype(const char *type, blis_error *error) {
  static const char *const TYPES[] = {"bfloat16", "float16", "half", "float32", "float"};
  const char *name = strncmp(type, "torch.", 6) == 0 ? type + 6 : type;
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (blis__equal_names(name, TYPES[i])) {
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown dtype '%.40s'; expected auto, bfloat16, float16, half, or float32; "
                   "--quantization states formats with fewer bits",
                   type);
}

static blis_status override_types(blis_layered_model *model, const blis_model_options *options,
                                  blis_error *error) {
  if (is_stated(options->dtype)) {
    BLIS_TRY(check_dtype(options->dtype, error));
    BLIS_TRY(type_bytes("dtype", options->dtype, &model->model_bytes, error));
  }
  if (is_stated(options->kv_cache_dtype)) {
    BLIS_TRY(blis_precision_kv_bytes(options->kv_cache_dtype, &model->kv_bytes, error));
  }
  return BLIS_OK;
}

blis_status blis_layered_model_override(blis_layered_model *model,
                                        const blis_model_options *options, blis_error *error) {
  if (options == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(override_types(model, options, error));
  if (!is_stated(options->quantization)) {
    return BLIS_OK;
  }
  blis_precision precision;
  BLIS_TRY(blis_precision_override(&model->alloc, options->quantization, 1,
                                   blis_layered_model_has_experts(model), &precision, error));
  blis_layered_model_set_precision(model, &precision);
  blis_precision_free(&precision);
  return BLIS_OK;
}

/* Reads the precision of the files. If the user selects a quantization, only the type of the KV
   cache is read, and only if blis supports the files. */
static blis_status read_precision(const blis_alloc *alloc, const blis_precision_files *files,
                                  int64_t layers, const blis_model_options *options,
                                  blis_precision *precision, blis_error *error) {
  bool is_overridden = options != NULL && is_stated(options->quantization);
  blis_error unread;
  blis_status status =
      blis_precision_read(alloc, files, layers, precision, is_overridden ? &unread : error);
  if (status == BLIS_ERR_INVALID && is_overridden) {
    return blis_precision_override(alloc, "none", layers, false, precision, error);
  }
  return status;
}

static blis_status read_model(blis__config *config, const blis_precision_files *files,
                              const blis_model_options *options, blis_layered_model *model) {
  blis__type_check(config, model);
  BLIS_TRY(config->status);
  blis__sizes sizes = blis__sizes_read(config);
  BLIS_TRY(config->status);
  model->hidden_size = sizes.hidden;
  model->vocabulary = sizes.vocabulary;
  model->max_tokens = sizes.max_tokens;
  model->has_tied_embeddings = sizes.has_tied_embeddings;
  (void)snprintf(model->type, sizeof model->type, "%s", config->type);
  read_types(config, model);
  blis_precision precision;
  BLIS_TRY(config->status);
  BLIS_TRY(read_precision(&model->alloc, files, sizes.layers, options, &precision, config->error));
  model->head = precision.head;
  model->kv_bytes = precision.kv_bytes;
  (void)snprintf(model->quantization, sizeof model->quantization, "%s", precision.method);
  blis_model_options chosen = options != NULL ? *options : (blis_model_options){0};
  if (is_stated(chosen.quantization) &&
      blis_precision_is_of_files(&precision, chosen.quantization)) {
    chosen.quantization = NULL;
  }
  blis_status status = read_layers(config, &sizes, &precision, model);
  blis_precision_free(&precision);
  BLIS_TRY(status);
  note_omissions(config, model);
  note_experts(model);
  return blis_layered_model_override(model, &chosen, config->error);
}

static blis_status read_trees(const blis_alloc *alloc, const char *source, const blis_json *json,
                              blis_json_value side_car, const char *name,
                              const blis_model_options *options, blis_layered_model *model,
                              blis_error *error) {
  blis__config config = blis__config_open(source, blis_json_root(json), error);
  BLIS_TRY(config.status);
  blis_precision_files files = {
      .text = config.text, .root = config.root, .side_car = side_car, .source = source};
  blis_layered_model read;
  blis_layered_model_init(&read, alloc);
  (void)snprintf(read.name, sizeof read.name, "%s", name);
  blis_status status = read_model(&config, &files, options, &read);
  if (status != BLIS_OK) {
    blis_layered_model_free(&read);
    return status;
  }
  note_name(name, &read);
  *model = read;
  return BLIS_OK;
}

static void open_json(blis_json *json, const blis_alloc *alloc) {
  blis_json_init(json, alloc);
  blis_json_allow_any_number(json);
}

blis_status blis_model_read_text(const blis_alloc *alloc, const char *source, blis_slice text,
                                 blis_slice side_car, const char *name,
                                 const blis_model_options *options, blis_layered_model *model,
                                 blis_error *error) {
  blis_json json;
  blis_json beside;
  open_json(&json, alloc);
  open_json(&beside, alloc);
  blis_status status = blis_json_parse(&json, source, 1, text, error);
  if (status == BLIS_OK && side_car.length > 0) {
    status = blis_json_parse(&beside, "hf_quant_config.json", 1, side_car, error);
  }
  if (status == BLIS_OK) {
    status = read_trees(alloc, source, &json, blis_json_root(&beside), name, options, model, error);
  }
  blis_json_deinit(&beside);
  blis_json_deinit(&json);
  return status;
}

/* The paths of one read operation. */
typedef struct file_set {
  const blis_alloc *alloc;
  const char *folder;
  size_t folder_length;
  const char *name;
  const blis_model_options *options;
} file_set;

/* Returns "FOLDER/FILE" as a new string of *size bytes. */
static char *path_of(const file_set *set, const char *file, size_t *size) {
  *size = set->folder_length + strlen(file) + 2;
  char *path = blis_alloc_new(set->alloc, *size);
  if (path != NULL) {
    (void)snprintf(path, *size, "%.*s/%s", (int)set->folder_length, set->folder, file);
  }
  return path;
}

/* Parses the first side-car file in the folder. If there is none, json has no tree. */
static blis_status read_side_car(const file_set *set, blis_json *json, char **path, size_t *size,
                                 blis_error *error) {
  static const char *const FILES[] = {"hf_quant_config.json", "quantize_config.json",
                                      "quant_config.json"};
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    *path = path_of(set, FILES[i], size);
    BLIS_TRY_NEW(*path, error);
    blis_error unread;
    blis_status status = blis_json_read_file(json, *path, FILE_SIZE_MAX, &unread);
    if (status != BLIS_ERR_IO) {
      if (status != BLIS_OK) {
        *error = unread;
      }
      return status;
    }
    blis_alloc_free(set->alloc, *path, *size);
    *path = NULL;
  }
  return BLIS_OK;
}

static blis_status read_file(const file_set *set, const char *path, blis_layered_model *model,
                             blis_error *error) {
  blis_json json;
  blis_json beside;
  open_json(&json, set->alloc);
  open_json(&beside, set->alloc);
  char *side_path = NULL;
  size_t side_size = 0;
  blis_status status = blis_json_read_file(&json, path, FILE_SIZE_MAX, error);
  if (status == BLIS_OK) {
    status = read_side_car(set, &beside, &side_path, &side_size, error);
  }
  if (status == BLIS_OK) {
    status = read_trees(set->alloc, path, &json, blis_json_root(&beside), set->name, set->options,
                        model, error);
  }
  blis_json_deinit(&beside);
  blis_json_deinit(&json);
  if (side_path != NULL) {
    blis_alloc_free(set->alloc, side_path, side_size);
  }
  return status;
}

blis_status blis_model_read_path(const blis_alloc *alloc, const char *path, const char *name,
                                 const blis_model_options *options, blis_layered_model *model,
                                 blis_error *error) {
  file_set set = {alloc, path, strlen(path), name, options};
  size_t size = 0;
  char *inside = path_of(&set, "config.json", &size);
  BLIS_TRY_NEW(inside, error);
  blis_status status = read_file(&set, inside, model, error);
  if (status == BLIS_ERR_IO) { /* Mistral's file; its name is shorter than config.json */
    (void)snprintf(inside, size, "%s/params.json", path);
    status = read_file(&set, inside, model, error);
  }
  if (status == BLIS_ERR_IO) {
    const char *slash = strrchr(path, '/');
    set.folder = slash != NULL ? path : ".";
    set.folder_length = slash != NULL ? (size_t)(slash - path) : 1;
    status = read_file(&set, path, model, error);
  }
  if (status == BLIS_ERR_IO) {
    status = blis_fail(error, status,
                       "no model configuration: can read neither %.200s/config.json nor the file "
                       "%.200s",
                       path, path);
  }
  blis_alloc_free(alloc, inside, size);
  return status;
}
