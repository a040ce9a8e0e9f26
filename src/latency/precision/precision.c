#include "latency/precision/precision.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "latency/precision/methods.h"
#include "latency/precision/modules.h"
#include "latency/spec/names.h"

enum { LAYERS_MAX = 4096 };

static const char *const KIND_NAMES[BLIS_KIND_COUNT] = {"model", "fp8",   "fp8_block", "int8",
                                                        "mxfp8", "nvfp4", "mxfp4",     "int4"};

const char *blis_weight_kind_name(blis_weight_kind kind) {
  BLIS_ASSERT(kind >= 0 && kind < BLIS_KIND_COUNT);
  return KIND_NAMES[kind];
}

static const char *text_of(blis_json_value value) {
  blis_slice text;
  return blis_json_text(value, &text, NULL) == BLIS_OK ? text.data : "";
}

static blis_weight_format *cell(const blis_precision *p, int64_t layer, blis_weight_class class) {
  return &p->formats[layer * BLIS_WEIGHT_CLASS_COUNT + (int64_t) class];
}

blis_weight_format blis_precision_of(const blis_precision *precision, int64_t layer,
                                     blis_weight_class class) {
  if (class == BLIS_WEIGHT_HEAD) {
    return precision->head;
  }
  BLIS_ASSERT(layer >= 0 && layer < precision->layers);
  return *cell(precision, layer, class);
}

void blis_precision_free(blis_precision *precision) {
  if (precision->formats != NULL) {
    size_t cells = (size_t)precision->layers * BLIS_WEIGHT_CLASS_COUNT;
    blis_alloc_free(&precision->alloc, precision->formats, cells * sizeof *precision->formats);
  }
  *precision = (blis_precision){0};
}

static blis_status open_table(const blis_alloc *alloc, int64_t layers, blis_precision *p,
                              blis_error *error) {
  BLIS_ASSERT(layers >= 1);
  if (layers > LAYERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "a model has at most %d layers, got %lld", LAYERS_MAX,
                     (long long)layers);
  }
  *p = (blis_precision){.layers = layers, .alloc = *alloc};
  size_t cells = (size_t)layers * BLIS_WEIGHT_CLASS_COUNT;
  p->formats = blis_alloc_zeroed(alloc, cells, sizeof *p->formats);
  return p->formats == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

/* The format that a visitor stores for the modules it is called for. */
typedef struct painter {
  blis_precision *precision;
  blis_weight_format format;
} painter;

static void paint(void *ud, int64_t layer, blis_weight_class class) {
  painter *p = ud;
  if (class == BLIS_WEIGHT_HEAD) {
    p->precision->head = p->format;
  } else {
    *cell(p->precision, layer, class) = p->format;
  }
}

static void paint_scope(blis_precision *p, blis_weight_format format, blis__quantised_scope scope) {
  painter to = {p, format};
  for (int64_t layer = 0; layer < p->layers; layer++) {
    for (int class = 0; class < BLIS_WEIGHT_HEAD; class ++) {
      bool is_quantised = scope != BLIS__SCOPE_EXPERTS || class == BLIS_WEIGHT_EXPERTS;
      if (is_quantised && scope != BLIS__SCOPE_NAMED) {
        paint(&to, layer, (blis_weight_class) class);
      }
    }
  }
  if (scope == BLIS__SCOPE_HEAD) {
    p->head = format;
  }
}

/* Handles one entry, or each entry of a list. */
static blis_status paint_entries(blis_json_value entries, painter *to, blis_error *error) {
  if (blis_json_type_of(entries) == BLIS_JSON_TEXT) {
    return blis__modules_visit(text_of(entries), to->precision->layers, paint, to, error);
  }
  for (size_t i = 0; i < blis_json_count(entries); i++) {
    const char *entry = text_of(blis_json_item(entries, i));
    BLIS_TRY(blis__modules_visit(entry, to->precision->layers, paint, to, error));
  }
  return BLIS_OK;
}

/* Sets the modules that a quantization ignores to `format`: the model's type, or the format of the
   enclosing method. */
static blis_status paint_ignored(blis_json_value quantization, blis_precision *p,
                                 blis_weight_format format, blis_error *error) {
  static const char *const KEYS[] = {
      "ignore",         "modules_to_not_convert", "exclude_modules", "exclude",
      "ignored_layers", "llm_int8_skip_modules",  "skip_modules"};
  painter to = {p, format};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    BLIS_TRY(paint_entries(blis_json_member(quantization, KEYS[i]), &to, error));
  }
  return BLIS_OK;
}

static bool is_linear(blis_json_value targets) {
  for (size_t i = 0; i < blis_json_count(targets); i++) {
    if (strcmp(text_of(blis_json_item(targets, i)), "Linear") == 0) {
      return true;
    }
  }
  return !blis_json_has(targets);
}

/* Groups for all linear layers are painted first, so that groups for named modules override
   them. */
static blis_status paint_groups(const char *source, blis_json_value groups, blis_precision *p,
                                bool wants_linear, blis_error *error) {
  const char *key = NULL;
  blis_json_value group;
  while (blis_json_next(groups, &key, &group)) {
    blis_json_value targets = blis_json_member(group, "targets");
    if (is_linear(targets) != wants_linear) {
      continue;
    }
    painter to = {.precision = p};
    blis_json_value weights = blis_json_member(group, "weights");
    if (blis_json_has(weights) && !blis__compressed_format(weights, &to.format)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%.160s: config_groups: %.60s: weights are of a kind that blis does not "
                       "read; --quantization states the format (fp8, nvfp4, int4, ...)",
                       source, key);
    }
    if (wants_linear) {
      paint_scope(p, to.format, BLIS__SCOPE_HEAD);
    } else {
      BLIS_TRY(paint_entries(targets, &to, error));
    }
  }
  return BLIS_OK;
}

/* Handles ModelOpt's list of modules, each with its algorithm. */
static blis_status paint_named(const char *source, blis_json_value quantization, blis_precision *p,
                               blis_error *error) {
  const char *key = NULL;
  blis_json_value module;
  blis_json_value modules = blis_json_member(quantization, "quantized_layers");
  while (blis_json_next(modules, &key, &module)) {
    painter to = {.precision = p};
    const char *algorithm = text_of(blis_json_member(module, "quant_algo"));
    int64_t group;
    if (blis_json_int64(blis_json_member(module, "group_size"), 0, INT32_MAX, &group, NULL) !=
        BLIS_OK) {
      group = 0;
    }
    if (!blis__modelopt_format(algorithm, group, &to.format)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%.160s: unknown quantization algorithm '%.60s' of '%.100s'; "
                       "--quantization states the format (fp8, nvfp4, int4, ...)",
                       source, algorithm, key);
    }
    BLIS_TRY(blis__modules_visit(key, p->layers, paint, &to, error));
  }
  return BLIS_OK;
}

/* Handles quark's exceptions: a name or glob with its own configuration. */
static blis_status paint_quark(const char *source, blis_json_value quantization, blis_precision *p,
                               blis_error *error) {
  const char *key = NULL;
  blis_json_value layer;
  blis_json_value layers = blis_json_member(quantization, "layer_quant_config");
  while (blis_json_next(layers, &key, &layer)) {
    const char *type = text_of(blis_json_member(blis_json_member(layer, "weight"), "dtype"));
    painter to = {.precision = p};
    if (type[0] != '\0' && !blis__modelopt_format(type, 0, &to.format)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%.160s: unknown dtype '%.60s' of '%.100s'; --quantization states the "
                       "format (fp8, nvfp4, int4, ...)",
                       source, type, key);
    }
    BLIS_TRY(blis__modules_visit(key, p->layers, paint, &to, error));
  }
  return BLIS_OK;
}

/* Handles GPTQ's lists, by block, of the modules that it quantizes. */
static blis_status paint_blocks(blis_json_value quantization, blis_precision *p,
                                blis_weight_format format, blis_error *error) {
  blis_json_value blocks = blis_json_member(quantization, "modules_in_block_to_quantize");
  painter to = {p, format};
  for (size_t i = 0; i < blis_json_count(blocks); i++) {
    BLIS_TRY(paint_entries(blis_json_item(blocks, i), &to, error));
  }
  return BLIS_OK;
}

static int64_t bits_of(blis_json_value value, const char *key, int64_t absent) {
  int64_t whole;
  return blis_json_int64(blis_json_member(value, key), -1, INT32_MAX, &whole, NULL) == BLIS_OK
             ? whole
             : absent;
}

/*
 * Returns the format of a module with its own bits and groups. 16 bits or more mean the model's
 * type.
 */
static blis_weight_format module_format(blis_json_value module) {
  int64_t bits = bits_of(module, "bits", 16);
  int64_t group = bits_of(module, "group_size", 128);
  return bits >= 16 ? (blis_weight_format){0}
                    : blis__integer_format(bits, group, 2 + (double)bits / 8);
}

/* Handles exceptions of GPTQ and AutoRound. In GPTQ's `dynamic`, "-:" keeps modules in the model's
   type; "+:" or no mark changes their bits. AutoRound uses `extra_config`. */
static blis_status paint_changes(blis_json_value changes, bool are_patterns, blis_precision *p,
                                 blis_error *error) {
  const char *key = NULL;
  blis_json_value module;
  while (blis_json_next(changes, &key, &module)) {
    bool is_skipped = are_patterns && strncmp(key, "-:", 2) == 0;
    bool has_mark = is_skipped || (are_patterns && strncmp(key, "+:", 2) == 0);
    painter to = {p, is_skipped ? (blis_weight_format){0} : module_format(module)};
    char entry[512];
    (void)snprintf(entry, sizeof entry, "%s%s", are_patterns ? "re:" : "",
                   key + (has_mark ? 2 : 0));
    BLIS_TRY(blis__modules_visit(entry, p->layers, paint, &to, error));
  }
  return BLIS_OK;
}

static blis_status read_exceptions(const char *source, blis_json_value quantization,
                                   blis_precision *p, blis_weight_format format,
                                   blis_error *error) {
  BLIS_TRY(paint_blocks(quantization, p, format, error));
  BLIS_TRY(paint_changes(blis_json_member(quantization, "dynamic"), true, p, error));
  BLIS_TRY(paint_changes(blis_json_member(quantization, "extra_config"), false, p, error));
  if (blis__contains(p->method, "compressed")) {
    blis_json_value groups = blis_json_member(quantization, "config_groups");
    BLIS_TRY(paint_groups(source, groups, p, true, error));
    BLIS_TRY(paint_groups(source, groups, p, false, error));
  }
  if (blis__equal_names(p->method, "quark")) {
    BLIS_TRY(paint_quark(source, quantization, p, error));
  }
  return BLIS_OK;
}

/*
 * Returns whether the experts are FP4. The first published files of DeepSeek V4 have no
 * expert_dtype, for which vLLM assumes FP4.
 */
static bool has_fp4_experts(const blis_precision_files *files) {
  const char *inside = text_of(blis_json_member(files->text, "model_type"));
  const char *type =
      inside[0] != '\0' ? inside : text_of(blis_json_member(files->root, "model_type"));
  return blis__starts_with(type, "deepseek_v4");
}

/* Handles FP4 experts inside an FP8 model (DeepSeek V4), and ModelOpt's separate format of experts
   in addition to another method. */
static blis_status read_experts(const blis_precision_files *files, blis_json_value quantization,
                                blis_precision *p, blis_error *error) {
  const char *algorithm = text_of(blis_json_member(quantization, "moe_quant_algo"));
  const char *type = text_of(blis_json_member(files->text, "expert_dtype"));
  if (type[0] == '\0') {
    type = text_of(blis_json_member(files->root, "expert_dtype"));
  }
  if (type[0] == '\0') {
    type = text_of(blis_json_member(quantization, "expert_dtype"));
  }
  bool is_own_method = blis__equal_names(p->method, "fp8");
  bool is_fp4 = blis__equal_names(type, "fp4") || (type[0] == '\0' && has_fp4_experts(files));
  if (algorithm[0] == '\0' && is_own_method) {
    algorithm = is_fp4 ? "MXFP4" : "";
  }
  blis_weight_format format;
  if (algorithm[0] == '\0') {
    return BLIS_OK;
  }
  if (!blis__modelopt_format(algorithm, 0, &format)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%.160s: unknown quantization algorithm '%.60s' of the experts; "
                     "--quantization states the format (fp8, nvfp4, int4, ...)",
                     files->source, algorithm);
  }
  paint_scope(p, format, BLIS__SCOPE_EXPERTS);
  return BLIS_OK;
}

static const char *method_of(blis_json_value quantization, bool is_side_car) {
  const char *method = text_of(blis_json_member(quantization, "quant_method"));
  if (method[0] != '\0') {
    return method;
  }
  /* In Mistral's params.json. */
  const char *format = text_of(blis_json_member(quantization, "qformat_weight"));
  if (format[0] != '\0') {
    return blis__starts_with(format, "fp8") ? "fp8" : format;
  }
  const char *producer =
      text_of(blis_json_member(blis_json_member(quantization, "producer"), "name"));
  bool has_algorithm = blis_json_has(blis_json_member(quantization, "quant_algo"));
  if (has_algorithm || blis__equal_names(producer, "modelopt")) {
    return "modelopt";
  }
  bool has_bits = blis_json_has(blis_json_member(quantization, "bits")) ||
                  blis_json_has(blis_json_member(quantization, "w_bit"));
  return is_side_car && has_bits ? "gptq" : "";
}

typedef struct stated {
  blis_json_value quantization; /* missing = the model's type */
  bool is_side_car;
} stated;

/* Finds the first quantization in the files. params.json uses the key `quantization`. */
static stated find_stated(const blis_precision_files *files) {
  static const char *const KEYS[] = {"quantization_config", "compression_config", "quantization"};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    blis_json_value inside = blis_json_member(files->text, KEYS[i]);
    blis_json_value value = blis_json_has(inside) ? inside : blis_json_member(files->root, KEYS[i]);
    bool is_value = blis_json_has(value) && blis_json_type_of(value) != BLIS_JSON_OBJECT;
    if (blis_json_count(value) > 0 || (is_value && i < 2)) {
      return (stated){value, false};
    }
  }
  blis_json_value inner = blis_json_member(files->side_car, "quantization");
  return (stated){blis_json_has(inner) ? inner : files->side_car, true};
}

/*
 * Returns the bytes of a KV cache type, given as an object with num_bits or as the name of a type.
 */
static double kv_bytes_of(blis_json_value value) {
  int64_t bits;
  if (blis_json_int64(blis_json_member(value, "num_bits"), 1, 32, &bits, NULL) == BLIS_OK) {
    return bits == 4 ? 0.5 + 1.0 / 16 : (double)bits / 8;
  }
  double bytes = 0;
  return blis_precision_kv_bytes(text_of(value), &bytes, NULL) == BLIS_OK ? bytes : 0;
}

/* Returns the KV bytes for quark, which specifies the output type of the key projections. */
static double quark_kv_bytes(blis_json_value quantization) {
  static const char *const KEYS[] = {"kv_cache_quant_config", "layer_quant_config"};
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    const char *key = NULL;
    blis_json_value module;
    blis_json_value modules = blis_json_member(quantization, KEYS[i]);
    while (blis_json_next(modules, &key, &module)) {
      blis_json_value outputs = blis_json_member(module, "output_tensors");
      if (blis__contains(key, "k_proj") &&
          blis__starts_with(text_of(blis_json_member(outputs, "dtype")), "fp8")) {
        return 1.0;
      }
    }
  }
  return 0.0;
}

static void read_kv(const blis_precision_files *files, blis_json_value quantization,
                    blis_precision *p) {
  blis_json_value side_car = blis_json_member(files->side_car, "quantization");
  const blis_json_value places[] = {
      blis_json_member(quantization, "kv_cache_scheme"),
      blis_json_member(quantization, "kv_cache_quant_algo"),
      blis_json_member(side_car, "kv_cache_quant_algo"),
  };
  for (size_t i = 0; i < sizeof places / sizeof *places && p->kv_bytes == 0; i++) {
    p->kv_bytes = kv_bytes_of(places[i]);
  }
  if (p->kv_bytes == 0) {
    p->kv_bytes = quark_kv_bytes(quantization);
  }
}

static blis_status read_stated(const blis_precision_files *files, stated from, blis_precision *p,
                               blis_error *error) {
  blis_json_value q = from.quantization;
  const char *method = method_of(q, from.is_side_car);
  if (method[0] == '\0') {
    return from.is_side_car
               ? BLIS_OK
               : blis_fail(error, BLIS_ERR_INVALID,
                           "%.160s: quantization_config names no quant_method; --quantization "
                           "states the format (fp8, nvfp4, int4, ..., or none)",
                           files->source);
  }
  (void)snprintf(p->method, sizeof p->method, "%s", method);
  blis__method found;
  BLIS_TRY(blis__method_read(files->source, q, method, &found, error));
  paint_scope(p, found.format, found.scope);
  BLIS_TRY(read_exceptions(files->source, q, p, found.format, error));
  BLIS_TRY(read_experts(files, q, p, error));
  BLIS_TRY(paint_named(files->source, q, p, error));
  /* If ModelOpt is applied in addition to FP8, the modules that it ignores stay in FP8. */
  bool is_on_top =
      blis__equal_names(method, "fp8") && blis_json_has(blis_json_member(q, "moe_quant_algo"));
  return is_on_top ? BLIS_OK : paint_ignored(q, p, (blis_weight_format){0}, error);
}

blis_status blis_precision_read(const blis_alloc *alloc, const blis_precision_files *files,
                                int64_t layers, blis_precision *precision, blis_error *error) {
  blis_precision read;
  BLIS_TRY(open_table(alloc, layers, &read, error));
  stated from = find_stated(files);
  blis_status status = read_stated(files, from, &read, error);
  if (status != BLIS_OK) {
    blis_precision_free(&read);
    return status;
  }
  read_kv(files, from.quantization, &read);
  *precision = read;
  return BLIS_OK;
}

/* Formats by the names that users and vLLM use. */
static const struct {
  const char *name;
  blis_weight_format format;
  blis__quantised_scope scope;
} NAMED[] = {
    {"none", {BLIS_KIND_MODEL, 0}, BLIS__SCOPE_ALL},
    {"fp8", {BLIS_KIND_FP8, 1}, BLIS__SCOPE_ALL},
    {"fp8_block", {BLIS_KIND_FP8_BLOCK, 1 + 4.0 / 16384}, BLIS__SCOPE_ALL},
    {"int8", {BLIS_KIND_INT8, 1}, BLIS__SCOPE_ALL},
    {"mxfp8", {BLIS_KIND_MXFP8, 1 + 1.0 / 32}, BLIS__SCOPE_ALL},
    {"nvfp4", {BLIS_KIND_NVFP4, 0.5625}, BLIS__SCOPE_ALL},
    {"mxfp4", {BLIS_KIND_MXFP4, 0.53125}, BLIS__SCOPE_EXPERTS},
    {"int4", {BLIS_KIND_INT4, 0.5 + 2.0 / 128}, BLIS__SCOPE_ALL},
    {"awq", {BLIS_KIND_INT4, 0.5 + 2.5 / 128}, BLIS__SCOPE_ALL},
    {"awq_marlin", {BLIS_KIND_INT4, 0.5 + 2.5 / 128}, BLIS__SCOPE_ALL},
    {"gptq", {BLIS_KIND_INT4, 0.5 + 2.5 / 128}, BLIS__SCOPE_ALL},
    {"gptq_marlin", {BLIS_KIND_INT4, 0.5 + 2.5 / 128}, BLIS__SCOPE_ALL},
    {"bitsandbytes", {BLIS_KIND_INT4, 0.5625}, BLIS__SCOPE_ALL},
    {"modelopt", {BLIS_KIND_FP8, 1}, BLIS__SCOPE_ALL},
    {"modelopt_fp4", {BLIS_KIND_NVFP4, 0.5625}, BLIS__SCOPE_ALL},
    {"fbgemm_fp8", {BLIS_KIND_FP8, 1}, BLIS__SCOPE_ALL},
    {"ptpc_fp8", {BLIS_KIND_FP8, 1}, BLIS__SCOPE_ALL},
    {"experts_int8", {BLIS_KIND_INT8, 1}, BLIS__SCOPE_EXPERTS},
};

enum { NAMED_COUNT = sizeof NAMED / sizeof *NAMED };

/* Returns the index of a name, or NAMED_COUNT. */
static size_t find_named(const char *name) {
  size_t i = 0;
  while (i < NAMED_COUNT && !blis__equal_names(name, NAMED[i].name)) {
    i++;
  }
  return i;
}

bool blis_precision_is_of_files(const blis_precision *precision, const char *name) {
  size_t length = strlen(precision->method);
  bool is_variant = length > 0 && blis__starts_with(name, precision->method) &&
                    blis__equal_names(name + length, "_marlin");
  return length > 0 && (is_variant || blis__equal_names(name, precision->method));
}

static blis_status fail_unnamed(const char *name, blis_error *error) {
  if (blis__method_is_known(name)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "quantization '%.60s' needs a model whose files state it; expected a format "
                     "(none, fp8, fp8_block, int8, mxfp8, nvfp4, mxfp4, or int4)",
                     name);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown quantization '%.60s'; expected none, fp8, fp8_block, int8, mxfp8, "
                   "nvfp4, mxfp4, int4, or one of vLLM's names (awq, gptq, bitsandbytes, modelopt, "
                   "modelopt_fp4, fbgemm_fp8, ptpc_fp8, experts_int8)",
                   name);
}

blis_status blis_weight_format_named(const char *name, blis_weight_format *format,
                                     blis_error *error) {
  size_t found = find_named(name);
  if (found == NAMED_COUNT) {
    return fail_unnamed(name, error);
  }
  *format = NAMED[found].format;
  return BLIS_OK;
}

blis_status blis_precision_override(const blis_alloc *alloc, const char *name, int64_t layers,
                                    bool has_experts, blis_precision *precision,
                                    blis_error *error) {
  size_t found = find_named(name);
  if (found == NAMED_COUNT) {
    return fail_unnamed(name, error);
  }
  blis_precision made;
  BLIS_TRY(open_table(alloc, layers, &made, error));
  (void)snprintf(made.method, sizeof made.method, "%s", found == 0 ? "" : NAMED[found].name);
  paint_scope(&made, NAMED[found].format, has_experts ? NAMED[found].scope : BLIS__SCOPE_ALL);
  *precision = made;
  return BLIS_OK;
}

blis_status blis_precision_kv_bytes(const char *name, double *bytes, blis_error *error) {
  static const struct {
    const char *name;
    double bytes;
  } TYPES[] = {{"auto", 0},    {"bfloat16", 2},   {"bf16", 2}, {"float16", 2},   {"fp16", 2},
               {"half", 2},    {"float32", 4},    {"fp8", 1},  {"fp8_e4m3", 1},  {"fp8_e5m2", 1},
               {"fp8_inc", 1}, {"fp8_ds_mla", 1}, {"int8", 1}, {"nvfp4", 0.5625}};
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (blis__equal_names(name, TYPES[i].name)) {
      *bytes = TYPES[i].bytes;
      return BLIS_OK;
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "unknown KV cache type '%.60s'; expected auto, bfloat16, float16, fp8, "
                   "fp8_e4m3, fp8_e5m2, int8, or nvfp4",
                   name);
}
