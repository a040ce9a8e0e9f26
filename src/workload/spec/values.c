/*
 * Written forms of distributions and arrivals. In a file:
 *
 *   {type: gaussian, params: {mean: 512, std_dev: 256, min: 2, max: 7000}}
 *   {process: gamma, cv: 3}
 *
 * Scripts may use shorter forms: a number for a constant length, {"gaussian", mean
 * = 512, ...}, "poisson", {"gamma", cv = 3}.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "workload/spec/keys.h"
#include "workload/workload.h"

/* Key of the first unnamed value of a table. */
static const char first_value[] = "[1]";

static const char *const distribution_keys[] = {"type", "params"};
static const char *const arrival_keys[] = {"process", "cv", "shape", "scale"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Writes the position of a node as the start of a message, without the last colon. */
static void name_place(const blis_yaml_node *node, char where[464]) {
  snprintf(where, 464, "%s", blis_yaml_place_of(node).text);
  where[strlen(where) - 1] = '\0';
}

static blis_status check_distribution(blis__spec_reader *reader, const blis_yaml_node *node,
                                      const blis_distribution_spec *spec, blis_error *error) {
  char where[464];
  name_place(node, where);
  blis_distribution ready = {0};
  BLIS_TRY(blis_distribution_init(&ready, reader->alloc, spec, where, error));
  blis_distribution_deinit(&ready, reader->alloc);
  return BLIS_OK;
}

static blis_status add_param(blis__spec_reader *reader, const blis_yaml_node *name,
                             const blis_yaml_node *value, blis_distribution_param *params,
                             blis_distribution_spec *spec, blis_error *error) {
  blis_distribution_param *param = &params[spec->param_count++];
  BLIS_TRY(blis__spec_read_text(reader, name, &param->name, error));
  return blis_yaml_double(value, -DBL_MAX, DBL_MAX, &param->value, error);
}

static blis_distribution_param *new_params(blis__spec_reader *reader, size_t count) {
  return blis_arena_new(reader->arena, (count + 1) * sizeof(blis_distribution_param));
}

static blis_status read_params(blis__spec_reader *reader, const blis_yaml_node *node,
                               blis_distribution_spec *spec, blis_error *error) {
  BLIS_TRY(blis_yaml_need_mapping(node, error));
  size_t count = blis_yaml_count(node);
  blis_distribution_param *params = new_params(reader, count);
  BLIS_TRY_NEW(params, error);
  spec->params = params;
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(
        add_param(reader, blis_yaml_key(node, i), blis_yaml_item(node, i), params, spec, error));
  }
  return BLIS_OK;
}

/* {"gaussian", mean = 512, ...} */
static blis_status read_short(blis__spec_reader *reader, const blis_yaml_node *node,
                              blis_distribution_spec *spec, blis_error *error) {
  size_t count = blis_yaml_count(node);
  blis_distribution_param *params = new_params(reader, count);
  BLIS_TRY_NEW(params, error);
  spec->params = params;
  for (size_t i = 0; i < count; i++) {
    const blis_yaml_node *key = blis_yaml_key(node, i);
    const blis_yaml_node *value = blis_yaml_item(node, i);
    BLIS_TRY(blis_slice_equals(blis_yaml_scalar(key), first_value)
                 ? blis__spec_read_text(reader, value, &spec->type, error)
                 : add_param(reader, key, value, params, spec, error));
  }
  return BLIS_OK;
}

/* {type: , params: } */
static blis_status read_long(blis__spec_reader *reader, const blis_yaml_node *node,
                             blis_distribution_spec *spec, blis_error *error) {
  for (size_t i = 0; i < blis_yaml_count(node); i++) {
    const blis_yaml_node *key = blis_yaml_key(node, i);
    const blis_yaml_node *value = blis_yaml_item(node, i);
    blis_slice name = blis_yaml_scalar(key);
    if (blis_yaml_is_null(value)) {
      continue;
    }
    if (blis_slice_equals(name, "type")) {
      BLIS_TRY(blis__spec_read_text(reader, value, &spec->type, error));
    } else if (blis_slice_equals(name, "params")) {
      BLIS_TRY(read_params(reader, value, spec, error));
    } else if (blis_slice_equals(name, "file")) {
      return blis_yaml_fail(value, "is not read; write the lengths under 'params'", error);
    } else {
      return blis__spec_fail_key(key, "distribution", distribution_keys, COUNT(distribution_keys),
                                 error);
    }
  }
  return BLIS_OK;
}

static bool is_short(const blis__spec_reader *reader, const blis_yaml_node *node) {
  return reader->is_script && blis_yaml_get(node, first_value) != NULL;
}

/* A plain number is a constant. */
static blis_status read_constant(blis__spec_reader *reader, const blis_yaml_node *node,
                                 blis_distribution_spec *spec, blis_error *error) {
  blis_distribution_param *param = new_params(reader, 1);
  BLIS_TRY_NEW(param, error);
  int64_t length;
  BLIS_TRY(blis_yaml_int64(node, 0, BLIS_WORKLOAD_MAX_TOKENS, &length, error));
  param->value = (double)length;
  param->name = "value";
  *spec = (blis_distribution_spec){"constant", param, 1};
  return BLIS_OK;
}

blis_status blis__spec_read_distribution(blis__spec_reader *reader, const blis_yaml_node *node,
                                         blis_distribution_spec *distribution, blis_error *error) {
  bool is_scalar = blis_yaml_type_of(node) == BLIS_YAML_SCALAR;
  if (reader->is_script && is_scalar) {
    BLIS_TRY(read_constant(reader, node, distribution, error));
  } else {
    BLIS_TRY(blis_yaml_need_mapping(node, error));
    BLIS_TRY(is_short(reader, node) ? read_short(reader, node, distribution, error)
                                    : read_long(reader, node, distribution, error));
  }
  return check_distribution(reader, node, distribution, error);
}

static blis_status read_arrival_key(blis__spec_reader *reader, const blis_yaml_node *key,
                                    const blis_yaml_node *value, blis_arrival_spec *arrival,
                                    blis_error *error) {
  blis_slice name = blis_yaml_scalar(key);
  bool is_first = reader->is_script && blis_slice_equals(name, first_value);
  if (is_first || blis_slice_equals(name, "process")) {
    return blis__spec_read_text(reader, value, &arrival->process, error);
  }
  const struct {
    const char *name;
    double *value;
    bool *is_given;
  } numbers[] = {{"cv", &arrival->cv, &arrival->has_cv},
                 {"shape", &arrival->shape, &arrival->has_shape},
                 {"scale", &arrival->scale, &arrival->has_scale}};
  for (size_t i = 0; i < COUNT(numbers); i++) {
    if (blis_slice_equals(name, numbers[i].name)) {
      *numbers[i].is_given = true;
      return blis_yaml_double(value, -DBL_MAX, DBL_MAX, numbers[i].value, error);
    }
  }
  return blis__spec_fail_key(key, "arrival", arrival_keys, COUNT(arrival_keys), error);
}

blis_status blis__spec_read_arrival(blis__spec_reader *reader, const blis_yaml_node *node,
                                    blis_arrival_spec *arrival, blis_error *error) {
  bool is_scalar = blis_yaml_type_of(node) == BLIS_YAML_SCALAR;
  if (reader->is_script && is_scalar) {
    BLIS_TRY(blis__spec_read_text(reader, node, &arrival->process, error));
  } else {
    BLIS_TRY(blis_yaml_need_mapping(node, error));
    for (size_t i = 0; i < blis_yaml_count(node); i++) {
      const blis_yaml_node *value = blis_yaml_item(node, i);
      if (!blis_yaml_is_null(value)) {
        BLIS_TRY(read_arrival_key(reader, blis_yaml_key(node, i), value, arrival, error));
      }
    }
  }
  if (arrival->process == NULL || *arrival->process == '\0') {
    return BLIS_OK; /* users need none; all others are checked later */
  }
  char where[464];
  name_place(node, where);
  return blis_arrival_check(arrival, where, error);
}
