/*
 * params.h - the parameters of a built-in policy or scorer: what there are,
 * what they may be, and the values of one use.
 *
 * A registry entry lists its parameters once; validation, error texts, the
 * policy table and the reference page all come from that list.
 */
#ifndef BLIS_POLICY_CONTRACT_PARAMS_H
#define BLIS_POLICY_CONTRACT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum blis_param_kind {
  BLIS_PARAM_INTEGER,
  BLIS_PARAM_NUMBER,
  BLIS_PARAM_BOOLEAN,
  BLIS_PARAM_CHOICE,    /* one of a list of words */
  BLIS_PARAM_TABLE,     /* a number for each of some texts */
  BLIS_PARAM_TEXTS,     /* texts in their order */
  BLIS_PARAM_TEXT_LISTS /* texts in their order for each of some texts */
} blis_param_kind;

typedef struct blis_param_spec {
  const char *name;
  blis_param_kind kind;
  bool is_live;   /* may be changed during a run (blis_router_change) */
  double minimum; /* of integers and numbers, also those of a table */
  double maximum;
  double fallback;     /* default of integers, numbers and booleans */
  const char *choices; /* "a|b|c", the first is the default */
  const char *unit;    /* "" when it has none */
  const char *summary;
} blis_param_spec;

/*
 * One given parameter; text for choices and texts, number for the rest. A table
 * is given as one of them for every key, none of them being an empty table;
 * texts as one for each, an empty list as one "".
 */
typedef struct blis_param {
  const char *name;
  double number;
  const char *text;
  const char *key; /* of tables and lists by text; NULL for the rest */
} blis_param;

/* The given parameters of one use; borrowed during construction only. */
typedef struct blis_params {
  const blis_param *items;
  size_t count;
} blis_params;

/*
 * Every given parameter is in specs and allowed there; BLIS_ERR_INVALID names
 * owner ("scorer prefix-affinity"), parameter, value and what is allowed, and
 * for an unknown name the nearest valid one.
 */
BLIS_MUSTUSE blis_status blis_params_check(const blis_params *params,
                                           const blis_param_spec *specs,
                                           size_t spec_count, const char *owner,
                                           blis_error *error);

/*
 * The given parameter of that name, of a table the first one; NULL when it is
 * left at its default.
 */
const blis_param *blis_params_find(const blis_params *params, const char *name);

/* Value of a checked parameter, or its default. name must be in specs. */
double blis_params_number(const blis_params *params,
                          const blis_param_spec *specs, size_t spec_count,
                          const char *name);
/* Index of the chosen word. */
int blis_params_choice(const blis_params *params, const blis_param_spec *specs,
                       size_t spec_count, const char *name);

#endif
