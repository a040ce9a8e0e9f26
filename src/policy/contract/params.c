#include "policy/contract/params.h"

#include <stdio.h>
#include <string.h>

#include "base/format/key.h"
#include "base/invariant.h"
#include "base/nearest.h"

const blis_param_spec *blis_param_spec_find(const blis_param_spec *specs, size_t spec_count,
                                            const char *name) {
  for (size_t i = 0; i < spec_count; i++) {
    if (strcmp(specs[i].name, name) == 0) {
      return &specs[i];
    }
  }
  return NULL;
}

const blis_param *blis_params_find(const blis_params *params, const char *name) {
  for (size_t i = 0; params != NULL && i < params->count; i++) {
    if (strcmp(params->items[i].name, name) == 0) {
      return &params->items[i];
    }
  }
  return NULL;
}

static blis_status fail_unknown(const char *name, const blis_param_spec *specs, size_t spec_count,
                                const char *owner, blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < spec_count; i++) {
    blis_nearest_offer(&nearest, specs[i].name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: unknown parameter '%s'%s", owner, name,
                   blis_nearest_suggest(&nearest).text);
}

static blis_status check_number(const blis_param *param, const blis_param_spec *spec,
                                const char *owner, blis_error *error) {
  double value = param->number;
  if (spec->kind == BLIS_PARAM_BOOLEAN) {
    if (value != 0 && value != 1) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is %g; expected true or false", owner,
                       param->name, value);
    }
    return BLIS_OK;
  }
  char name[128];
  snprintf(name, sizeof name, "%.60s%s%.60s", param->name, param->key == NULL ? "" : " of ",
           param->key == NULL ? "" : param->key);
  const blis_key key = {.name = name,
                        .minimum = spec->minimum,
                        .maximum = spec->maximum,
                        .is_whole = spec->kind == BLIS_PARAM_INTEGER};
  char where[80];
  snprintf(where, sizeof where, "%.70s: ", owner);
  return blis_key_check_number(&key, where, value, error);
}

/* Returns whether the parameter was already set. Entries of a table with different keys are not
   duplicates. */
static bool is_given_before(const blis_params *params, size_t index) {
  const blis_param *param = &params->items[index];
  for (size_t i = 0; i < index; i++) {
    const blis_param *earlier = &params->items[i];
    if (strcmp(earlier->name, param->name) == 0 &&
        (param->key == NULL || earlier->key == NULL || strcmp(earlier->key, param->key) == 0)) {
      return true;
    }
  }
  return false;
}

static bool is_list(const blis_param_spec *spec) {
  return spec->kind == BLIS_PARAM_TEXTS || spec->kind == BLIS_PARAM_TEXT_LISTS;
}

/* Describes the value that was expected of an invalid parameter. */
static const char *expected(const blis_param_spec *spec, const blis_param *param) {
  switch (spec->kind) {
  case BLIS_PARAM_TABLE:
    return "a table of numbers";
  case BLIS_PARAM_TEXTS:
    return "a list of strings";
  case BLIS_PARAM_TEXT_LISTS:
    return "a table of lists of strings";
  case BLIS_PARAM_CHOICE:
    return param->key != NULL ? "a value" : "one of ";
  default:
    return param->key != NULL ? "a value" : "a number";
  }
}

static blis_status check_one(const blis_param *param, const blis_param_spec *spec,
                             const char *owner, blis_error *error) {
  bool has_keys = spec->kind == BLIS_PARAM_TABLE || spec->kind == BLIS_PARAM_TEXT_LISTS;
  bool is_text = spec->kind == BLIS_PARAM_CHOICE || is_list(spec);
  if (has_keys != (param->key != NULL) || is_text != (param->text != NULL)) {
    bool is_choice = spec->kind == BLIS_PARAM_CHOICE && param->key == NULL;
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s must be %s%s", owner, param->name,
                     expected(spec, param), is_choice ? spec->choices : "");
  }
  if (!is_text) {
    return check_number(param, spec, owner, error);
  }
  if (spec->kind == BLIS_PARAM_CHOICE && blis_key_choice(spec->choices, param->text) < 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is '%s'; expected one of %s", owner,
                     param->name, param->text, spec->choices);
  }
  return BLIS_OK;
}

blis_status blis_params_check(const blis_params *params, const blis_param_spec *specs,
                              size_t spec_count, const char *owner, blis_error *error) {
  for (size_t i = 0; params != NULL && i < params->count; i++) {
    const blis_param *param = &params->items[i];
    const blis_param_spec *spec = blis_param_spec_find(specs, spec_count, param->name);
    if (spec == NULL) {
      return fail_unknown(param->name, specs, spec_count, owner, error);
    }
    if (!is_list(spec) && is_given_before(params, i)) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s: %s%s%s is given twice", owner, param->name,
                       param->key == NULL ? "" : " of ", param->key == NULL ? "" : param->key);
    }
    BLIS_TRY(check_one(param, spec, owner, error));
  }
  return BLIS_OK;
}

double blis_param_number(const blis_param_spec *spec, const blis_params *params) {
  BLIS_ASSERT(spec->kind != BLIS_PARAM_CHOICE);
  const blis_param *param = blis_params_find(params, spec->name);
  return param != NULL ? param->number : spec->fallback;
}

int blis_param_choice(const blis_param_spec *spec, const blis_params *params) {
  BLIS_ASSERT(spec->kind == BLIS_PARAM_CHOICE);
  const blis_param *param = blis_params_find(params, spec->name);
  return param != NULL ? blis_key_choice(spec->choices, param->text) : 0;
}

void blis_param_write(const blis_param_spec *spec, const blis_params *params, void *state) {
  double value = spec->kind == BLIS_PARAM_CHOICE ? blis_param_choice(spec, params)
                                                 : blis_param_number(spec, params);
  void *member = (char *)state + spec->offset;
  switch (spec->member) {
  case BLIS_MEMBER_NONE:
    break;
  case BLIS_MEMBER_DOUBLE:
    *(double *)member = value;
    break;
  case BLIS_MEMBER_BOOL:
    *(bool *)member = value != 0;
    break;
  case BLIS_MEMBER_INT32:
    *(int32_t *)member = (int32_t)value;
    break;
  case BLIS_MEMBER_UINT32:
    *(uint32_t *)member = (uint32_t)value;
    break;
  case BLIS_MEMBER_INT64:
    *(int64_t *)member = (int64_t)value;
    break;
  }
}
