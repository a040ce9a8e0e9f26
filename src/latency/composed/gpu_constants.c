#include "latency/composed/gpu_constants.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#include "base/nearest.h"
#include "latency/spec/names.h"

/* Scales of classes without a fit: dense layers, and experts. */
static const blis__scales DENSE_UNFITTED = {1, 1.05};
static const blis__scales EXPERTS_UNFITTED = {0.92, 1.6};

#define FIELD(member) offsetof(blis__gpu_constants, member)

static const struct {
  const char *key;
  size_t offset;
  bool is_optional;
} NUMBERS[] = {
    {"bandwidth_tb_s", FIELD(bandwidth_tb_s), true},
    {"layer_us", FIELD(layer_us), false},
    {"quantised_layer_us", FIELD(quantised_layer_us), false},
    {"expert_layer_us", FIELD(expert_layer_us), false},
    {"reduce_us", FIELD(reduce_us), false},
    {"step_us", FIELD(step_us), false},
    {"sampling_reads", FIELD(sampling_reads), false},
    {"router_share", FIELD(router_share), false},
    {"expert_balance", FIELD(expert_balance), false},
    {"elementwise_share", FIELD(elementwise_share), false},
    {"attention_us", FIELD(attention_us), false},
    {"attention_head_us", FIELD(attention_head_us), false},
    {"kv_share", FIELD(kv_share), false},
    {"kv_fp8_share", FIELD(kv_fp8_share), false},
    {"latent_share", FIELD(latent_share), false},
    {"prefill_layer_us", FIELD(prefill_layer_us), false},
    {"prefill_bytes", FIELD(prefill_bytes), false},
    {"prefill_share", FIELD(prefill_share), false},
    {"old_expert_scale", FIELD(old_expert_scale), true},
    {"old_mxfp4_scale", FIELD(old_mxfp4_scale), true},
    {"old_dense_launch_us", FIELD(old_dense_launch_us), true},
    {"old_expert_launch_us", FIELD(old_expert_launch_us), true},
    {"allreduce_factor", FIELD(allreduce_factor), true},
    {"fuses_dense_reduces", FIELD(fuses_dense_reduces), true},
};

enum { NUMBER_COUNT = sizeof NUMBERS / sizeof *NUMBERS };

/* Stores `count` numbers of a sequence. */
static blis_status read_numbers(const blis_yaml_node *node, double *values, size_t count,
                                blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(node, error));
  if (blis_yaml_count(node) != count) {
    return blis_yaml_fail(node, count == 4 ? "must hold four numbers" : "must hold two numbers",
                          error);
  }
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(blis_yaml_double(blis_yaml_item(node, i), 0.0, DBL_MAX, &values[i], error));
  }
  return BLIS_OK;
}

static blis_status read_kernel(const blis_yaml_node *node, blis__kernel *kernel,
                               blis_error *error) {
  double values[4];
  BLIS_TRY(read_numbers(node, values, 4, error));
  if (!(values[1] > 0 && values[1] <= 1 && values[2] > 0 && values[2] <= 1 && values[3] >= 1)) {
    return blis_yaml_fail(
        node,
        "must be a launch time, two shares above 0 and at most 1, and a sharpness of at least 1",
        error);
  }
  *kernel = (blis__kernel){values[0], values[1], values[2], values[3]};
  return BLIS_OK;
}

/* Parses a key as the name of a format. */
static blis_status format_of(const blis_yaml_node *key, size_t *format, blis_error *error) {
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    if (blis_slice_equals(blis_yaml_scalar(key), blis__table_format_name((blis_weight_kind)i))) {
      *format = i;
      return BLIS_OK;
    }
  }
  return blis_yaml_fail(key, "must be one of bf16, fp8, fp8_block, int8, mxfp8, nvfp4, mxfp4, int4",
                        error);
}

typedef blis_status read_value(const blis_yaml_node *node, blis__gpu_constants *c, size_t format,
                               blis_error *error);

static blis_status read_product(const blis_yaml_node *node, blis__gpu_constants *c, size_t format,
                                blis_error *error) {
  c->has_product[format] = true;
  return read_kernel(node, &c->products[format], error);
}

static blis_status read_experts(const blis_yaml_node *node, blis__gpu_constants *c, size_t format,
                                blis_error *error) {
  c->has_experts[format] = true;
  return read_kernel(node, &c->experts[format], error);
}

static blis_status read_speedup(const blis_yaml_node *node, blis__gpu_constants *c, size_t format,
                                blis_error *error) {
  return blis_yaml_double(node, 0.1, 100, &c->speedup[format], error);
}

static blis_status read_slowdown(const blis_yaml_node *node, blis__gpu_constants *c, size_t format,
                                 blis_error *error) {
  return blis_yaml_double(node, 0.1, 100, &c->expert_slowdown[format], error);
}

static blis_status read_expert_kind(const blis_yaml_node *node, blis__gpu_constants *c,
                                    size_t format, blis_error *error) {
  size_t kind = 0;
  BLIS_TRY(format_of(node, &kind, error));
  c->expert_kind[format] = (blis_weight_kind)kind;
  return BLIS_OK;
}

static blis_status read_scales(const blis_yaml_node *node, blis__scales *scales,
                               blis_error *error) {
  double values[2];
  BLIS_TRY(read_numbers(node, values, 2, error));
  *scales = (blis__scales){values[0], values[1]};
  return BLIS_OK;
}

static blis_status read_dense_scales(const blis_yaml_node *node, blis__gpu_constants *c,
                                     size_t format, blis_error *error) {
  return read_scales(node, &c->dense_scales[format], error);
}

static blis_status read_expert_scales(const blis_yaml_node *node, blis__gpu_constants *c,
                                      size_t format, blis_error *error) {
  return read_scales(node, &c->expert_scales[format], error);
}

static blis_status read_by_format(const blis_yaml_node *map, blis__gpu_constants *c,
                                  read_value *read, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(map, error));
  for (size_t i = 0; i < blis_yaml_count(map); i++) {
    size_t format = 0;
    BLIS_TRY(format_of(blis_yaml_key(map, i), &format, error));
    BLIS_TRY(read(blis_yaml_item(map, i), c, format, error));
  }
  return BLIS_OK;
}

static const struct {
  const char *key;
  read_value *read;
} MAPS[] = {
    {"products", read_product},
    {"experts", read_experts},
    {"speedup", read_speedup},
    {"expert_slowdown", read_slowdown},
    {"expert_kernel", read_expert_kind},
    {"dense_scales", read_dense_scales},
    {"expert_scales", read_expert_scales},
};

enum { MAP_COUNT = sizeof MAPS / sizeof *MAPS };

static blis_status read_name(blis_arena *arena, const blis_yaml_node *node, const char **name,
                             blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_yaml_text(node, &text, error));
  *name = blis_arena_text(arena, text.data, text.length);
  return *name == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

static blis_status read_also(blis_arena *arena, const blis_yaml_node *node, blis__gpu_constants *c,
                             blis_error *error) {
  BLIS_TRY(blis_yaml_need_sequence(node, error));
  size_t count = blis_yaml_count(node);
  if (count > BLIS__ALSO_MAX) {
    return blis_yaml_fail(node, "must hold at most eight names", error);
  }
  c->also_count = 0;
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(read_name(arena, blis_yaml_item(node, i), &c->also[i], error));
    c->also_count++;
  }
  return BLIS_OK;
}

/* Reads the GPUs that have rows in the tables, and their rates. */
static blis_status read_kernels_of(blis_arena *arena, const blis_yaml_node *map,
                                   blis__gpu_constants *c, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(map, error));
  size_t count = blis_yaml_count(map);
  if (count > BLIS__MEASURED_GPUS_MAX) {
    return blis_yaml_fail(map, "must hold at most four names", error);
  }
  for (size_t i = 0; i < count; i++) {
    double rates[2];
    BLIS_TRY(read_name(arena, blis_yaml_key(map, i), &c->kernels_of[i].name, error));
    BLIS_TRY(read_numbers(blis_yaml_item(map, i), rates, 2, error));
    if (!(rates[0] > 0 && rates[1] > 0)) {
      return blis_yaml_fail(blis_yaml_item(map, i), "must be two rates above 0", error);
    }
    c->kernels_of[i].bandwidth = rates[0] * 1e6;
    c->kernels_of[i].peak = rates[1] * 1e6;
  }
  c->kernels_of_count = count;
  return BLIS_OK;
}

static blis_status fail_unknown(const blis_yaml_node *key, blis_error *error) {
  blis_nearest nearest = {.wanted = blis_yaml_scalar(key).data};
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    blis_nearest_offer(&nearest, NUMBERS[i].key);
  }
  for (size_t i = 0; i < MAP_COUNT; i++) {
    blis_nearest_offer(&nearest, MAPS[i].key);
  }
  blis_suggestion suggestion = blis_nearest_suggest(&nearest);
  return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: unknown key '%.60s'%s", blis_yaml_file(key),
                   (long long)blis_yaml_line(key), nearest.wanted, suggestion.text);
}

static blis_status read_key(blis_arena *arena, const blis_yaml_node *key,
                            const blis_yaml_node *value, blis__gpu_constants *c, bool *has_number,
                            blis_error *error) {
  blis_slice name = blis_yaml_scalar(key);
  if (blis_slice_equals(name, "gpu")) {
    return read_name(arena, value, &c->gpu, error);
  }
  if (blis_slice_equals(name, "allreduce_of")) {
    c->allreduce_of = NULL;
    return blis_yaml_is_null(value) ? BLIS_OK : read_name(arena, value, &c->allreduce_of, error);
  }
  if (blis_slice_equals(name, "also")) {
    return read_also(arena, value, c, error);
  }
  if (blis_slice_equals(name, "kernels_of")) {
    return read_kernels_of(arena, value, c, error);
  }
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    if (blis_slice_equals(name, NUMBERS[i].key)) {
      has_number[i] = true;
      double *number = (double *)((char *)c + NUMBERS[i].offset);
      return blis_yaml_double(value, 0.0, DBL_MAX, number, error);
    }
  }
  for (size_t i = 0; i < MAP_COUNT; i++) {
    if (blis_slice_equals(name, MAPS[i].key)) {
      return read_by_format(value, c, MAPS[i].read, error);
    }
  }
  return fail_unknown(key, error);
}

static blis_status check_complete(const blis_yaml_node *node, const blis__gpu_constants *c,
                                  const bool *has_number, blis_error *error) {
  const char *missing = c->gpu == NULL                     ? "gpu"
                        : !c->has_product[BLIS_KIND_MODEL] ? "products: bf16"
                        : !c->has_experts[BLIS_KIND_MODEL] ? "experts: bf16"
                                                           : NULL;
  for (size_t i = 0; i < NUMBER_COUNT && missing == NULL; i++) {
    missing = has_number[i] || NUMBERS[i].is_optional ? NULL : NUMBERS[i].key;
  }
  return missing == NULL
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: an entry needs the key '%s'",
                         blis_yaml_file(node), (long long)blis_yaml_line(node), missing);
}

/* Copies the constants and replaces the values that are in the mapping. */
static blis_status read_with_tables(blis_arena *arena, const blis_yaml_node *node,
                                    blis__gpu_constants *constants, blis_error *error) {
  if (node == NULL || blis_yaml_is_null(node)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  blis__gpu_constants *copy = blis_arena_new(arena, sizeof *copy);
  if (copy == NULL) {
    return blis_fail_nomem(error);
  }
  *copy = *constants;
  bool has_number[NUMBER_COUNT] = {0};
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    BLIS_TRY(
        read_key(arena, blis_yaml_key(node, i), blis_yaml_item(node, i), copy, has_number, error));
  }
  constants->with_tables = copy;
  return BLIS_OK;
}

blis_status blis__gpu_constants_read(blis_arena *arena, const blis_yaml_node *node,
                                     blis__gpu_constants *constants, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  *constants = (blis__gpu_constants){.allreduce_factor = 1};
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    constants->speedup[i] = 1;
    constants->expert_slowdown[i] = 1;
    constants->expert_kind[i] = (blis_weight_kind)i;
  }
  bool has_number[NUMBER_COUNT] = {0};
  const blis_yaml_node *with_tables = NULL;
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis_yaml_node *key = blis_yaml_key(node, i);
    if (blis_slice_equals(blis_yaml_scalar(key), "with_tables")) {
      with_tables = blis_yaml_item(node, i);
    } else {
      BLIS_TRY(read_key(arena, key, blis_yaml_item(node, i), constants, has_number, error));
    }
  }
  BLIS_TRY(check_complete(node, constants, has_number, error));
  return read_with_tables(arena, with_tables, constants, error);
}

void blis__gpu_constants_each_number(const blis__gpu_constants *constants,
                                     void (*show)(void *ud, const char *key, double value),
                                     void *ud) {
  for (size_t i = 0; i < NUMBER_COUNT; i++) {
    show(ud, NUMBERS[i].key, *(const double *)((const char *)constants + NUMBERS[i].offset));
  }
}

bool blis__gpu_constants_are_of(const blis__gpu_constants *constants, const char *gpu) {
  for (size_t i = 0; i < constants->also_count; i++) {
    if (blis__equal_names(constants->also[i], gpu)) {
      return true;
    }
  }
  return blis__equal_names(constants->gpu, gpu);
}

/*
 * Returns the format that supplies the constants for a format without constants. It has the same
 * width and speed.
 */
static blis_weight_kind stand_in(blis_weight_kind kind) {
  return kind == BLIS_KIND_INT8    ? BLIS_KIND_FP8
         : kind == BLIS_KIND_MXFP8 ? BLIS_KIND_FP8_BLOCK
                                   : BLIS_KIND_MODEL;
}

/* Fills the kernel of each format from the format itself, its stand-in, or the 16-bit kernel. */
static bool fill_kernels(const blis__kernel *from, const bool *is_there, blis__kernel *to,
                         blis_weight_kind used) {
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    blis_weight_kind other = stand_in((blis_weight_kind)i);
    to[i] = is_there[i] ? from[i] : is_there[other] ? from[other] : from[BLIS_KIND_MODEL];
  }
  return is_there[used];
}

static void fill_speedups(const blis__gpu_constants *c, double *speedup) {
  for (size_t i = 0; i < BLIS_KIND_COUNT; i++) {
    bool is_stated = c->speedup[i] != 1 || c->has_product[i];
    speedup[i] = c->speedup[is_stated ? i : (size_t)stand_in((blis_weight_kind)i)];
  }
}

static bool pick_scales(const blis__gpu_constants *c, const blis__composed_class *class,
                        blis__scales *scales) {
  const blis__scales *fitted =
      class->has_experts ? &c->expert_scales[class->mlp] : &c->dense_scales[class->mlp];
  bool is_fitted = fitted->decode > 0;
  *scales = is_fitted ? *fitted : class->has_experts ? EXPERTS_UNFITTED : DENSE_UNFITTED;
  return is_fitted;
}

static bool is_before(const blis__composed_class *class, int64_t number) {
  return class->backend_number > 0 && class->backend_number < number;
}

/*
 * Returns how much longer the layers take in an old engine version; 0 = same as in the latest
 * version.
 */
static double old_scale_of(const blis__gpu_constants *c, const blis__composed_class *class) {
  if (!class->has_experts) {
    return 0;
  }
  return class->mlp == BLIS_KIND_FP8_BLOCK && is_before(class, 18) ? c->old_expert_scale
         : class->mlp == BLIS_KIND_MXFP4 && is_before(class, 12)   ? c->old_mxfp4_scale
                                                                   : 0;
}

static double engine_scale_of(const blis__gpu_constants *c, const blis__composed_class *class) {
  double old = old_scale_of(c, class);
  return class->engine_scale > 0 ? class->engine_scale : old > 0 ? old : 1;
}

static double launch_bound_of(const blis__gpu_constants *c, const blis__composed_class *class) {
  return !is_before(class, 12) ? 0
         : class->has_experts  ? c->old_expert_launch_us
                               : c->old_dense_launch_us;
}

bool blis__composed_constants_of(const blis__gpu_constants *constants,
                                 const blis__composed_class *class, double peak_tflops,
                                 double bandwidth_tb_s, blis__composed_constants *out) {
  const blis__gpu_constants *c = constants;
  double bandwidth = c->bandwidth_tb_s > 0 ? c->bandwidth_tb_s : bandwidth_tb_s;
  bool is_quantised = class->attention != BLIS_KIND_MODEL;
  *out = (blis__composed_constants){
      .bandwidth = bandwidth * 1e6,
      .peak = peak_tflops * 1e6,
      .engine_scale = engine_scale_of(c, class),
      .layer_us = is_quantised ? c->quantised_layer_us : c->layer_us,
      .expert_layer_us = c->expert_layer_us,
      .reduce_us = c->reduce_us,
      .step_us = c->step_us,
      .sampling_reads = c->sampling_reads,
      .router_share = c->router_share,
      .expert_balance = c->expert_balance,
      .elementwise_efficiency = c->elementwise_share,
      .attention_us = c->attention_us,
      .attention_head_us = c->attention_head_us,
      .kv_efficiency = class->has_fp8_kv ? c->kv_fp8_share : c->kv_share,
      .latent_efficiency = c->latent_share,
      .prefill_layer_us = c->prefill_layer_us,
      .prefill_bytes = c->prefill_bytes,
      .prefill_efficiency = c->prefill_share,
      .launch_bound_us = launch_bound_of(c, class),
  };
  fill_speedups(c, out->product_speedup);
  memcpy(out->expert_kind, c->expert_kind, sizeof out->expert_kind);
  memcpy(out->expert_slowdown, c->expert_slowdown, sizeof out->expert_slowdown);
  bool is_fitted = fill_kernels(c->products, c->has_product, out->products, class->attention);
  bool has_experts = fill_kernels(c->experts, c->has_experts, out->experts,
                                  class->has_experts ? class->mlp : BLIS_KIND_MODEL);
  bool has_scales = pick_scales(c, class, &out->scales);
  return is_fitted && has_experts && has_scales;
}
