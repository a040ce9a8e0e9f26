#include "latency/precision/methods.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "latency/spec/names.h"

static const blis_weight_format MODEL = {BLIS_KIND_MODEL, 0};
static const blis_weight_format FP8 = {BLIS_KIND_FP8, 1};
static const blis_weight_format INT8 = {BLIS_KIND_INT8, 1};
static const blis_weight_format MXFP8 = {BLIS_KIND_MXFP8, 1 + 1.0 / 32};
static const blis_weight_format NVFP4 = {BLIS_KIND_NVFP4, 0.5 + 1.0 / 16};
static const blis_weight_format MXFP4 = {BLIS_KIND_MXFP4, 0.5 + 1.0 / 32};

static const char *text_of(blis_json_value value) {
  blis_slice text;
  return blis_json_text(value, &text, NULL) == BLIS_OK ? text.data : "";
}

/* Returns an integer, which may be in quotes; otherwise `absent`. */
static int64_t whole_of(blis_json_value value, int64_t absent) {
  blis_slice text;
  int64_t whole;
  if (blis_json_text(value, &text, NULL) == BLIS_OK) {
    return blis_parse_int64(text, &whole) == BLIS_NUMBER_OK ? whole : absent;
  }
  return blis_json_int64(value, INT32_MIN, INT32_MAX, &whole, NULL) == BLIS_OK ? whole : absent;
}

static bool is_true(blis_json_value value) {
  bool flag = false;
  return blis_json_bool(value, &flag, NULL) == BLIS_OK && flag;
}

blis_weight_format blis__integer_format(int64_t bits, int64_t group, double bytes_per_group) {
  double bytes = (double)bits / 8;
  if (group > 0) {
    bytes += bytes_per_group / (double)group;
  }
  return (blis_weight_format){bits >= 8 ? BLIS_KIND_INT8 : BLIS_KIND_INT4, bytes};
}

blis_weight_format blis__block_format(int64_t rows, int64_t columns, double scale_bytes) {
  double block = (double)rows * (double)columns;
  return (blis_weight_format){BLIS_KIND_FP8_BLOCK, 1 + (block > 0 ? scale_bytes / block : 0)};
}

bool blis__modelopt_format(const char *algorithm, int64_t group, blis_weight_format *format) {
  static const struct {
    const char *prefix;
    const blis_weight_format *format;
  } FORMATS[] = {
      {"FP8_PB", NULL},  {"FP8", &FP8},   {"MXFP8", &MXFP8},  {"NVFP4", &NVFP4},
      {"MXFP4", &MXFP4}, {"INT8", &INT8}, {"W8A8_SQ", &INT8}, {"W8A16", &INT8},
  };
  if (algorithm[0] == '\0') {
    return false;
  }
  if (blis__starts_with(algorithm, "W4") || blis__starts_with(algorithm, "INT4")) {
    *format = blis__contains(algorithm, "NVFP4") ? NVFP4
              : blis__contains(algorithm, "MXFP4")
                  ? MXFP4
                  : blis__integer_format(4, group > 0 ? group : 128, 2);
    return true;
  }
  for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
    if (blis__starts_with(algorithm, FORMATS[i].prefix)) {
      *format = FORMATS[i].format != NULL ? *FORMATS[i].format : blis__block_format(128, 128, 4);
      return true;
    }
  }
  return false;
}

static bool compressed_float(blis_json_value weights, int64_t bits, int64_t group,
                             blis_weight_format *format) {
  if (bits == 4) {
    *format = group == 32 ? MXFP4 : NVFP4;
    return true;
  }
  if (bits != 8) {
    return false;
  }
  blis_json_value block = blis_json_member(weights, "block_structure");
  if (strcmp(text_of(blis_json_member(weights, "strategy")), "block") == 0) {
    int64_t rows = whole_of(blis_json_item(block, 0), 128);
    *format = blis__block_format(rows, whole_of(blis_json_item(block, 1), 128), 4);
  } else {
    *format = group == 32 ? MXFP8 : FP8;
  }
  return true;
}

bool blis__compressed_format(blis_json_value weights, blis_weight_format *format) {
  int64_t bits = whole_of(blis_json_member(weights, "num_bits"), 0);
  int64_t group = whole_of(blis_json_member(weights, "group_size"), 0);
  const char *type = text_of(blis_json_member(weights, "type"));
  if (strcmp(type, "float") == 0) {
    return compressed_float(weights, bits, group, format);
  }
  if (bits < 1 || bits > 16) {
    return false;
  }
  bool flag;
  bool is_symmetric =
      blis_json_bool(blis_json_member(weights, "symmetric"), &flag, NULL) != BLIS_OK || flag;
  *format = blis__integer_format(bits, group, is_symmetric ? 2 : 2 + (double)bits / 8);
  return true;
}

static blis_status fail_unknown(const char *source, const char *what, const char *name,
                                blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%.160s: unknown %s '%.60s'; --quantization states the format "
                   "(fp8, fp8_block, int8, mxfp8, nvfp4, mxfp4, int4, or none)",
                   source, what, name);
}

/* Reads the object of a method. Returns false if it lacks required members. */
typedef bool read_method(blis_json_value quantization, blis__method *out);

static bool read_fp8(blis_json_value q, blis__method *out) {
  blis_json_value block = blis_json_member(q, "weight_block_size");
  bool is_short = strcmp(text_of(blis_json_member(q, "scale_fmt")), "ue8m0") == 0;
  if (blis_json_count(block) == 2) {
    int64_t rows = whole_of(blis_json_item(block, 0), 128);
    int64_t columns = whole_of(blis_json_item(block, 1), 128);
    out->format = blis__block_format(rows, columns, is_short ? 1 : 4);
  } else {
    out->format = FP8;
  }
  return true;
}

static bool read_integer(blis_json_value q, blis__method *out) {
  int64_t bits = whole_of(blis_json_member(q, "bits"), whole_of(blis_json_member(q, "w_bit"), 4));
  int64_t group = whole_of(blis_json_member(q, "group_size"),
                           whole_of(blis_json_member(q, "q_group_size"), 128));
  out->format = blis__integer_format(bits, group, 2 + (double)bits / 8);
  if (blis_json_count(blis_json_member(q, "modules_in_block_to_quantize")) > 0) {
    out->scope = BLIS__SCOPE_NAMED;
  }
  return bits >= 1 && bits <= 16;
}

static bool read_bitsandbytes(blis_json_value q, blis__method *out) {
  if (is_true(blis_json_member(q, "load_in_8bit")) ||
      is_true(blis_json_member(q, "_load_in_8bit"))) {
    out->format = INT8;
    return true;
  }
  bool is_double = is_true(blis_json_member(q, "bnb_4bit_use_double_quant"));
  out->format = (blis_weight_format){BLIS_KIND_INT4, is_double ? 0.516 : 0.5625};
  return true;
}

static bool read_fbgemm(blis_json_value q, blis__method *out) {
  (void)q;
  out->format = FP8;
  return true;
}

static bool read_int8(blis_json_value q, blis__method *out) {
  (void)q;
  out->format = INT8;
  return true;
}

static bool read_mxfp4(blis_json_value q, blis__method *out) {
  (void)q;
  *out = (blis__method){MXFP4, BLIS__SCOPE_EXPERTS};
  return true;
}

static bool read_mxfp8(blis_json_value q, blis__method *out) {
  (void)q;
  out->format = MXFP8;
  return true;
}

static bool read_quark(blis_json_value q, blis__method *out) {
  blis_json_value weight = blis_json_member(blis_json_member(q, "global_quant_config"), "weight");
  if (blis_json_type_of(weight) == BLIS_JSON_ARRAY) {
    weight = blis_json_item(weight, 0);
  }
  const char *type = text_of(blis_json_member(weight, "dtype"));
  int64_t group = whole_of(blis_json_member(weight, "group_size"), 0);
  if (blis__starts_with(type, "fp8")) {
    out->format = FP8;
  } else if (blis__starts_with(type, "fp4")) {
    out->format = group == 16 ? NVFP4 : MXFP4;
  } else if (blis__starts_with(type, "int8") || blis__starts_with(type, "uint8")) {
    out->format = INT8;
  } else if (blis__starts_with(type, "int4") || blis__starts_with(type, "uint4")) {
    out->format = blis__integer_format(4, group > 0 ? group : 128, 2);
  } else {
    return false;
  }
  return true;
}

/* Returns torchao's configuration of the weights: a name, or an object with its class and members.
   If there are formats per module, returns the default. */
static blis_json_value torchao_config(blis_json_value type) {
  blis_json_value inner = blis_json_member(type, "default");
  blis_json_value config = blis_json_has(inner) ? inner : type;
  blis_json_value modules =
      blis_json_member(blis_json_member(config, "_data"), "module_fqn_to_config");
  blis_json_value otherwise = blis_json_member(modules, "_default");
  return blis_json_has(otherwise) ? otherwise : config;
}

/* Returns the type of the weights if the name of the configuration does not contain it: "int4" or
   "torch.int4", possibly inside an object. */
static const char *torchao_weights(blis_json_value data) {
  blis_json_value type = blis_json_member(data, "weight_dtype");
  blis_json_value inner = blis_json_member(type, "_data");
  return text_of(blis_json_has(inner) ? inner : type);
}

static bool read_torchao(blis_json_value q, blis__method *out) {
  blis_json_value config = torchao_config(blis_json_member(q, "quant_type"));
  blis_json_value data = blis_json_member(config, "_data");
  bool is_object = blis_json_type_of(config) == BLIS_JSON_OBJECT;
  const char *type = text_of(is_object ? blis_json_member(config, "_type") : config);
  blis_json_value arguments = blis_json_member(q, "quant_type_kwargs");
  int64_t group = whole_of(blis_json_member(data, "group_size"),
                           whole_of(blis_json_member(arguments, "group_size"), 128));
  if (blis__contains(type, "intx")) {
    type = torchao_weights(data);
  }
  if (blis__contains(type, "int4") || blis__contains(type, "uint4")) {
    out->format = blis__integer_format(4, group, 4);
  } else if (blis__contains(type, "float8") || blis__contains(type, "fp8")) {
    out->format = FP8;
  } else if (blis__contains(type, "int8")) {
    out->format = INT8;
  } else {
    return false;
  }
  return true;
}

/* Returns the parameters for all modules, or those of the first module. */
static blis_json_value hqq_parameters(blis_json_value config) {
  static const char key[] = "weight_quant_params";
  const char *name = NULL;
  blis_json_value module = blis_json_member(config, key);
  if (blis_json_has(module)) {
    return module;
  }
  while (blis_json_next(config, &name, &module)) {
    if (blis_json_has(blis_json_member(module, key))) {
      return blis_json_member(module, key);
    }
  }
  return blis_json_member(config, key);
}

static bool read_hqq(blis_json_value q, blis__method *out) {
  blis_json_value parameters = hqq_parameters(blis_json_member(q, "quant_config"));
  int64_t bits = whole_of(blis_json_member(parameters, "nbits"), 0);
  out->format =
      blis__integer_format(bits, whole_of(blis_json_member(parameters, "group_size"), 64), 4);
  return bits >= 1 && bits <= 8;
}

static bool read_modelopt(blis_json_value q, blis__method *out) {
  const char *algorithm = text_of(blis_json_member(q, "quant_algo"));
  out->scope = BLIS__SCOPE_HEAD;
  if (strcmp(algorithm, "MIXED_PRECISION") == 0) {
    *out = (blis__method){MODEL, BLIS__SCOPE_NAMED};
    return true;
  }
  return blis__modelopt_format(algorithm, whole_of(blis_json_member(q, "group_size"), 0),
                               &out->format);
}

static bool read_modelopt_fp4(blis_json_value q, blis__method *out) {
  if (read_modelopt(q, out)) {
    return true;
  }
  *out = (blis__method){NVFP4, BLIS__SCOPE_HEAD};
  return true;
}

/* The groups are read later, with their targets. A file may quantize only the KV cache. */
static bool read_compressed(blis_json_value q, blis__method *out) {
  *out = (blis__method){MODEL, BLIS__SCOPE_NAMED};
  bool has_only_kv = blis_json_has(blis_json_member(q, "kv_cache_scheme")) &&
                     !blis_json_has(blis_json_member(q, "sparsity_config"));
  return has_only_kv || blis_json_count(blis_json_member(q, "config_groups")) > 0;
}

static const struct {
  const char *name;
  read_method *read;
} METHODS[] = {
    {"fp8", read_fp8},
    {"finegrained_fp8", read_fp8},
    {"modelopt", read_modelopt},
    {"modelopt_mixed", read_modelopt},
    {"modelopt_fp4", read_modelopt_fp4},
    {"modelopt_mxfp8", read_mxfp8},
    {"nvfp4", read_modelopt_fp4},
    {"petit_nvfp4", read_modelopt_fp4},
    {"compressed-tensors", read_compressed},
    {"compressed_tensors", read_compressed},
    {"mxfp4", read_mxfp4},
    {"mxfp8", read_mxfp8},
    {"awq", read_integer},
    {"awq_marlin", read_integer},
    {"gptq", read_integer},
    {"gptq_marlin", read_integer},
    {"auto-round", read_integer},
    {"auto_round", read_integer},
    {"intel/auto-round", read_integer},
    {"inc", read_integer},
    {"moe_wna16", read_integer},
    {"bitsandbytes", read_bitsandbytes},
    {"fbgemm_fp8", read_fbgemm},
    {"ptpc_fp8", read_fbgemm},
    {"w8a8_fp8", read_fbgemm},
    {"w8a8_int8", read_int8},
    {"experts_int8", read_int8},
    {"tpu_int8", read_int8},
    {"int8", read_int8},
    {"quark", read_quark},
    {"torchao", read_torchao},
    {"hqq", read_hqq},
};

bool blis__method_is_known(const char *method) {
  for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
    if (blis__equal_names(method, METHODS[i].name)) {
      return true;
    }
  }
  return false;
}

blis_status blis__method_read(const char *source, blis_json_value quantization, const char *method,
                              blis__method *out, blis_error *error) {
  *out = (blis__method){MODEL, BLIS__SCOPE_ALL};
  for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
    if (!blis__equal_names(method, METHODS[i].name)) {
      continue;
    }
    if (METHODS[i].read(quantization, out)) {
      return BLIS_OK;
    }
    const char *algorithm = text_of(blis_json_member(quantization, "quant_algo"));
    if (algorithm[0] != '\0') {
      return fail_unknown(source, "quantization algorithm", algorithm, error);
    }
    return fail_unknown(source, "kind of the quantization method", method, error);
  }
  return fail_unknown(source, "quantization method", method, error);
}
