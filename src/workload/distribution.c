#include "workload/distribution.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { MAX_PARAMS = 5 };

/* Limits on the value of a parameter. */
typedef enum param_limit {
  ANY,
  NOT_NEGATIVE,
  POSITIVE,
  SHARE /* 0 to 1 */
} param_limit;

typedef struct param_rule {
  const char *name;
  bool is_required;
  param_limit limit;
} param_rule;

typedef struct type_rule {
  const char *name;
  blis_distribution_type type;
  param_rule params[MAX_PARAMS];
} type_rule;

static const type_rule type_rules[] = {
    {"gaussian",
     BLIS_DISTRIBUTION_GAUSSIAN,
     {{"mean", true, ANY},
      {"std_dev", true, NOT_NEGATIVE},
      {"min", true, ANY},
      {"max", true, ANY}}},
    {"exponential",
     BLIS_DISTRIBUTION_EXPONENTIAL,
     {{"mean", true, NOT_NEGATIVE}, {"min", false, ANY}, {"max", false, ANY}}},
    {"lognormal",
     BLIS_DISTRIBUTION_LOGNORMAL,
     {{"mu", true, ANY}, {"sigma", true, NOT_NEGATIVE}, {"min", false, ANY}, {"max", false, ANY}}},
    {"pareto_lognormal",
     BLIS_DISTRIBUTION_PARETO_LOGNORMAL,
     {{"alpha", true, POSITIVE},
      {"xm", true, NOT_NEGATIVE},
      {"mu", true, ANY},
      {"sigma", true, NOT_NEGATIVE},
      {"mix_weight", true, SHARE}}},
    {"constant", BLIS_DISTRIBUTION_CONSTANT, {{"value", true, NOT_NEGATIVE}}},
    {"empirical", BLIS_DISTRIBUTION_EMPIRICAL, {{NULL, false, ANY}}},
};

enum { TYPES = sizeof type_rules / sizeof *type_rules };

static const double limit_low[] = {-DBL_MAX, 0, DBL_TRUE_MIN, 0};
static const double limit_high[] = {DBL_MAX, DBL_MAX, DBL_MAX, 1};
static const char *const limit_text[] = {"a finite number", "a finite number, at least 0",
                                         "a finite number above 0", "a number from 0 to 1"};

/* Rounds toward zero and clamps to the range of int64_t. */
static int64_t truncate(double value) {
  if (value >= 0x1p63) {
    return INT64_MAX;
  }
  return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static blis_status find_type(const blis_distribution_spec *spec, const char *where,
                             const type_rule **rule, blis_error *error) {
  const char *type = spec->type != NULL ? spec->type : "";
  for (size_t i = 0; i < TYPES; i++) {
    if (strcmp(type_rules[i].name, type) == 0) {
      *rule = &type_rules[i];
      return BLIS_OK;
    }
  }
  blis_nearest nearest = {.wanted = type};
  for (size_t i = 0; i < TYPES; i++) {
    blis_nearest_offer(&nearest, type_rules[i].name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: unknown type '%s'%s", where, type,
                   blis_nearest_suggest(&nearest).text);
}

static blis_status check_value(const char *where, const char *name, double value, param_limit limit,
                               blis_error *error) {
  /* Written so that a NaN fails. */
  if (!(value >= limit_low[limit] && value <= limit_high[limit])) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is %g; it must be %s", where, name, value,
                     limit_text[limit]);
  }
  return BLIS_OK;
}

static const param_rule *find_param(const type_rule *rule, const char *name) {
  for (size_t i = 0; i < MAX_PARAMS && rule->params[i].name != NULL; i++) {
    if (strcmp(rule->params[i].name, name) == 0) {
      return &rule->params[i];
    }
  }
  return NULL;
}

static blis_status fail_unknown_param(const type_rule *rule, const char *where, const char *name,
                                      blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  for (size_t i = 0; i < MAX_PARAMS && rule->params[i].name != NULL; i++) {
    blis_nearest_offer(&nearest, rule->params[i].name);
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: %s has no parameter '%s'%s", where, rule->name,
                   name, blis_nearest_suggest(&nearest).text);
}

/* Returns the value of a parameter; 0 if it is not set. */
static double param_value(const blis_distribution_spec *spec, const char *name, bool *is_given) {
  *is_given = false;
  double value = 0;
  for (size_t i = 0; i < spec->param_count; i++) {
    if (strcmp(spec->params[i].name, name) == 0) {
      *is_given = true;
      value = spec->params[i].value;
    }
  }
  return value;
}

static double value_of(const blis_distribution_spec *spec, const char *name) {
  bool is_given;
  return param_value(spec, name, &is_given);
}

static blis_status check_params(const blis_distribution_spec *spec, const type_rule *rule,
                                const char *where, blis_error *error) {
  for (size_t i = 0; i < spec->param_count; i++) {
    const param_rule *param = find_param(rule, spec->params[i].name);
    if (param == NULL) {
      return fail_unknown_param(rule, where, spec->params[i].name, error);
    }
    BLIS_TRY(check_value(where, param->name, spec->params[i].value, param->limit, error));
  }
  for (size_t i = 0; i < MAX_PARAMS && rule->params[i].name != NULL; i++) {
    bool is_given;
    param_value(spec, rule->params[i].name, &is_given);
    if (rule->params[i].is_required && !is_given) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s: %s needs the parameter '%s'", where,
                       rule->name, rule->params[i].name);
    }
  }
  return BLIS_OK;
}

/* Checks min and max. For exponential and lognormal distributions, a limit of 0 or less means no
   limit. */
static blis_status check_range(const blis_distribution *d, const char *where, blis_error *error) {
  bool is_gaussian = d->type == BLIS_DISTRIBUTION_GAUSSIAN;
  if (d->min > d->max && (is_gaussian || (d->min > 0 && d->max > 0))) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: min is %lld and max %lld; min must not be above max", where,
                     (long long)d->min, (long long)d->max);
  }
  if (is_gaussian && d->max < 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: max is %lld; it must be at least 0", where,
                     (long long)d->max);
  }
  return BLIS_OK;
}

/* Digits only: "12abc", "-3" and "" are not lengths. */
static bool parse_length(const char *text, int64_t *length) {
  int64_t value = 0;
  if (*text == '\0') {
    return false;
  }
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9' || value > INT64_MAX / 10 - 1) {
      return false;
    }
    value = value * 10 + (*text - '0');
  }
  *length = value;
  return true;
}

/* Keeps the bins sorted by length; cumulative temporarily contains the weight. */
static blis_status add_bin(blis_distribution *d, const char *where,
                           const blis_distribution_param *param, blis_error *error) {
  int64_t length;
  if (!parse_length(param->name, &length)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: '%s' is not a length; the parameters of empirical "
                     "are whole numbers of tokens with their weights",
                     where, param->name);
  }
  BLIS_TRY(check_value(where, param->name, param->value, NOT_NEGATIVE, error));
  size_t i = d->bin_count;
  for (; i > 0 && d->bins[i - 1].length > length; i--) {
    d->bins[i] = d->bins[i - 1];
  }
  if (i > 0 && d->bins[i - 1].length == length) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: the length %lld is given "
                     "twice",
                     where, (long long)length);
  }
  d->bins[i] = (blis_distribution_bin){.length = length, .cumulative = param->value};
  d->bin_count++;
  return BLIS_OK;
}

/* Drops bins without weight and converts weights to cumulative probabilities. */
static void accumulate(blis_distribution *d) {
  double total = 0;
  for (size_t i = 0; i < d->bin_count; i++) {
    total += d->bins[i].cumulative;
  }
  size_t kept = 0;
  double sum = 0;
  for (size_t i = 0; i < d->bin_count; i++) {
    if (d->bins[i].cumulative > 0) {
      sum += d->bins[i].cumulative / total;
      d->bins[kept].length = d->bins[i].length;
      d->bins[kept++].cumulative = sum;
    }
  }
  d->bin_count = kept;
  if (kept > 0) {
    d->bins[kept - 1].cumulative = 1;
  }
}

static blis_status init_bins(blis_distribution *d, const blis_alloc *alloc,
                             const blis_distribution_spec *spec, const char *where,
                             blis_error *error) {
  if (spec->param_count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: empirical needs at least one length with its weight", where);
  }
  d->bins = blis_alloc_zeroed(alloc, spec->param_count, sizeof *d->bins);
  BLIS_TRY_NEW(d->bins, error);
  d->bin_capacity = spec->param_count;
  for (size_t i = 0; i < spec->param_count; i++) {
    blis_status status = add_bin(d, where, &spec->params[i], error);
    if (status != BLIS_OK) {
      blis_distribution_deinit(d, alloc);
      return status;
    }
  }
  accumulate(d);
  return BLIS_OK;
}

blis_status blis_distribution_init(blis_distribution *distribution, const blis_alloc *alloc,
                                   const blis_distribution_spec *spec, const char *where,
                                   blis_error *error) {
  const type_rule *rule = NULL;
  BLIS_TRY(find_type(spec, where, &rule, error));
  blis_distribution d = {.type = rule->type};
  if (d.type == BLIS_DISTRIBUTION_EMPIRICAL) {
    BLIS_TRY(init_bins(&d, alloc, spec, where, error));
    *distribution = d;
    return BLIS_OK;
  }
  BLIS_TRY(check_params(spec, rule, where, error));
  /* At most one parameter in each sum belongs to the type; the others are 0. */
  d.first = value_of(spec, "mean") + value_of(spec, "mu") + value_of(spec, "value");
  d.spread = value_of(spec, "std_dev") + value_of(spec, "sigma");
  d.alpha = value_of(spec, "alpha");
  d.xm = value_of(spec, "xm");
  d.mix_weight = value_of(spec, "mix_weight");
  d.min = truncate(value_of(spec, "min"));
  d.max = truncate(value_of(spec, "max"));
  BLIS_TRY(check_range(&d, where, error));
  *distribution = d;
  return BLIS_OK;
}

void blis_distribution_deinit(blis_distribution *distribution, const blis_alloc *alloc) {
  blis_alloc_free(alloc, distribution->bins,
                  distribution->bin_capacity * sizeof *distribution->bins);
  *distribution = (blis_distribution){0};
}

static int64_t at_least_one(int64_t length) {
  return length < 1 ? 1 : length;
}

bool blis_distribution_needs_random(const blis_distribution *distribution) {
  switch (distribution->type) {
  case BLIS_DISTRIBUTION_CONSTANT:
    return false;
  case BLIS_DISTRIBUTION_GAUSSIAN:
    return distribution->min != distribution->max;
  case BLIS_DISTRIBUTION_EMPIRICAL:
    return distribution->bin_count >= 2;
  case BLIS_DISTRIBUTION_EXPONENTIAL:
  case BLIS_DISTRIBUTION_LOGNORMAL:
  case BLIS_DISTRIBUTION_PARETO_LOGNORMAL:
    break;
  }
  return true;
}

static int64_t draw_gaussian(const blis_distribution *d, blis_random *random) {
  if (!blis_distribution_needs_random(d)) {
    return d->min;
  }
  double value = blis_random_normal(random) * d->spread + d->first;
  value = fmin((double)d->max, fmax((double)d->min, value));
  return at_least_one(truncate(round(value)));
}

static int64_t clip(const blis_distribution *d, double value) {
  int64_t length = truncate(round(value));
  if (d->min > 0 && length < d->min) {
    length = d->min;
  }
  if (d->max > 0 && length > d->max) {
    length = d->max;
  }
  return at_least_one(length);
}

static int64_t draw_lognormal(const blis_distribution *d, blis_random *random) {
  double value = exp(d->first + d->spread * blis_random_normal(random));
  if (!isfinite(value)) {
    return d->min > 0 ? d->min : 1;
  }
  return clip(d, value);
}

static int64_t draw_pareto_lognormal(const blis_distribution *d, blis_random *random) {
  double value;
  if (blis_random_float64(random) < d->mix_weight) {
    double u = blis_random_float64(random);
    value = d->xm / pow(u == 0 ? DBL_TRUE_MIN : u, 1 / d->alpha);
  } else {
    value = exp(d->first + d->spread * blis_random_normal(random));
  }
  return isfinite(value) ? at_least_one(truncate(round(value))) : 1;
}

/* Returns the length of the first bin whose cumulative probability reaches u. */
static int64_t draw_empirical(const blis_distribution *d, blis_random *random) {
  if (!blis_distribution_needs_random(d)) {
    return d->bin_count == 1 ? d->bins[0].length : 1;
  }
  double u = blis_random_float64(random);
  size_t low = 0;
  size_t high = d->bin_count - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (d->bins[middle].cumulative >= u) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return d->bins[low].length;
}

int64_t blis_distribution_draw(const blis_distribution *distribution, blis_random *random) {
  switch (distribution->type) {
  case BLIS_DISTRIBUTION_GAUSSIAN:
    return draw_gaussian(distribution, random);
  case BLIS_DISTRIBUTION_EXPONENTIAL:
    return clip(distribution, blis_random_exp(random) * distribution->first);
  case BLIS_DISTRIBUTION_LOGNORMAL:
    return draw_lognormal(distribution, random);
  case BLIS_DISTRIBUTION_PARETO_LOGNORMAL:
    return draw_pareto_lognormal(distribution, random);
  case BLIS_DISTRIBUTION_CONSTANT:
    return at_least_one(truncate(distribution->first));
  case BLIS_DISTRIBUTION_EMPIRICAL:
    break;
  }
  return draw_empirical(distribution, random);
}
