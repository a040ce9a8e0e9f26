/* params.h - parameters of a built-in policy or scorer: descriptions, ranges, and values.
 *
 * A registry entry lists its parameters once. Validation, error messages, the policy table, and
 * the reference page use this list. */
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
  BLIS_PARAM_TABLE,     /* numbers, keyed by strings */
  BLIS_PARAM_TEXTS,     /* ordered strings */
  BLIS_PARAM_TEXT_LISTS /* lists of strings, keyed by strings */
} blis_param_kind;

/* Type of the member of a policy's state that stores a value (BLIS__INTO). */
typedef enum blis_param_member {
  BLIS_MEMBER_NONE,
  BLIS_MEMBER_DOUBLE,
  BLIS_MEMBER_BOOL,
  BLIS_MEMBER_INT32,
  BLIS_MEMBER_UINT32, /* also an enum that stores the index of a choice */
  BLIS_MEMBER_INT64
} blis_param_member;

typedef struct blis_param_spec {
  const char *name;
  blis_param_kind kind;
  bool is_live;   /* for routers: blis_router_change may change the member of the state during a
                     run */
  double minimum; /* for integers and numbers, including table values */
  double maximum;
  double fallback;     /* default of integers, numbers and booleans */
  const char *choices; /* "a|b|c", the first is the default */
  const char *unit;    /* "" if it has none */
  const char *summary;
  blis_param_member member; /* type of the member of the state that stores the value */
  size_t offset;
} blis_param_spec;

/*
 * One parameter per line. Further initializers may follow the summary, such as BLIS__INTO(type of
 * the state, member).
 */
#define BLIS__NUMBER(given_name, least, most, usual, given_unit, ...)                              \
  {                                                                                                \
    .name = (given_name), .kind = BLIS_PARAM_NUMBER, .minimum = (least), .maximum = (most),        \
    .fallback = (usual), .unit = (given_unit), .summary = __VA_ARGS__                              \
  }
#define BLIS__INTEGER(given_name, least, most, usual, given_unit, ...)                             \
  {                                                                                                \
    .name = (given_name), .kind = BLIS_PARAM_INTEGER, .minimum = (least), .maximum = (most),       \
    .fallback = (usual), .unit = (given_unit), .summary = __VA_ARGS__                              \
  }
#define BLIS__BOOLEAN(given_name, usual, ...)                                                      \
  {                                                                                                \
    .name = (given_name), .kind = BLIS_PARAM_BOOLEAN, .fallback = (usual), .unit = "",             \
    .summary = __VA_ARGS__                                                                         \
  }
#define BLIS__CHOICE(given_name, words, ...) BLIS__CHOICE_IN(given_name, words, "", __VA_ARGS__)
#define BLIS__CHOICE_IN(given_name, words, given_unit, ...)                                        \
  {                                                                                                \
    .name = (given_name), .kind = BLIS_PARAM_CHOICE, .choices = words, .unit = (given_unit),       \
    .summary = __VA_ARGS__                                                                         \
  }
#define BLIS__TABLE(given_name, least, most, given_unit, ...)                                      \
  {                                                                                                \
    .name = (given_name), .kind = BLIS_PARAM_TABLE, .minimum = (least), .maximum = (most),         \
    .unit = (given_unit), .summary = __VA_ARGS__                                                   \
  }
#define BLIS__TEXTS(given_name, ...)                                                               \
  { .name = (given_name), .kind = BLIS_PARAM_TEXTS, .unit = "", .summary = __VA_ARGS__ }
#define BLIS__TEXT_LISTS(given_name, ...)                                                          \
  { .name = (given_name), .kind = BLIS_PARAM_TEXT_LISTS, .unit = "", .summary = __VA_ARGS__ }

/* The member of the state that stores the value, or the index of a choice. */
#define BLIS__INTO(type, into)                                                                     \
  .member = _Generic(((type *)0)->into, double                                                     \
                     : BLIS_MEMBER_DOUBLE, bool                                                    \
                     : BLIS_MEMBER_BOOL, int32_t                                                   \
                     : BLIS_MEMBER_INT32, uint32_t                                                 \
                     : BLIS_MEMBER_UINT32, int64_t                                                 \
                     : BLIS_MEMBER_INT64),                                                         \
  .offset = offsetof(type, into)

/* Parameters that many policies have, each with its own default and summary. */
#define BLIS__BLOCK_SIZE_PARAM(usual, ...)                                                         \
  BLIS__INTEGER("block_size", 1, 1 << 20, usual, "tokens", __VA_ARGS__)
#define BLIS__PREFIX_TOKENS_PARAM(usual, ...)                                                      \
  BLIS__INTEGER("prefix_tokens", 0, 1 << 30, usual, "tokens", __VA_ARGS__)
/* Size of a prefix index. */
#define BLIS__INDEX_CAPACITY_PARAM(usual, ...)                                                     \
  BLIS__INTEGER("capacity", 1, 1 << 30, usual, "blocks", __VA_ARGS__)

/* One parameter that is set: text for choices and strings, number for all other kinds. A table
   has one entry per key (an empty table has none). A list of strings has one entry per string
   (an empty list has one entry, ""). */
typedef struct blis_param {
  const char *name;
  double number;
  const char *text;
  const char *key; /* key of tables and of lists keyed by strings; otherwise NULL */
} blis_param;

/* The parameters that are set for one use; borrowed during construction only. */
typedef struct blis_params {
  const blis_param *items;
  size_t count;
} blis_params;

/*
 * Checks that every set parameter is in specs and allowed there. The message of BLIS_ERR_INVALID
 * names the owner ("scorer prefix-affinity"), the parameter, its value, and the allowed values; for
 * an unknown name, it suggests the nearest valid name.
 */
BLIS_MUSTUSE blis_status blis_params_check(const blis_params *params, const blis_param_spec *specs,
                                           size_t spec_count, const char *owner, blis_error *error);

/*
 * Returns the parameter of that name if it is set (for a table, its first entry), otherwise NULL.
 */
const blis_param *blis_params_find(const blis_params *params, const char *name);

/* Returns NULL if the name is unknown. */
const blis_param_spec *blis_param_spec_find(const blis_param_spec *specs, size_t spec_count,
                                            const char *name);

/* Returns the value of a checked parameter or its default; for a choice, the index of the word. */
double blis_param_number(const blis_param_spec *spec, const blis_params *params);
int blis_param_choice(const blis_param_spec *spec, const blis_params *params);

/* Writes the value or the index into the member of a state. */
void blis_param_write(const blis_param_spec *spec, const blis_params *params, void *state);

#endif
