#include "policy/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const blis_filter_entry *const filters[] = {
#define XX(name) &blis__filter_##name,
    BLIS__FILTER_MAP(XX)
#undef XX
};

static const blis_scorer_entry *const scorers[] = {
#define XX(name) &blis__scorer_##name,
    BLIS__SCORER_MAP(XX)
#undef XX
};

static const blis_picker_entry *const pickers[] = {
#define XX(name) &blis__picker_##name,
    BLIS__PICKER_MAP(XX)
#undef XX
};

static const blis_router_entry *const routers[] = {
#define XX(name) &blis__router_##name,
    BLIS__ROUTER_MAP(XX)
#undef XX
};

bool blis__policy_is_named(const char *name, const char *entry_name,
                           const char *aliases) {
  if (strcmp(name, entry_name) == 0) {
    return true;
  }
  size_t length = strlen(name);
  while (*aliases != '\0') {
    size_t part = strcspn(aliases, "|");
    if (part == length && memcmp(aliases, name, length) == 0) {
      return true;
    }
    aliases += part + (aliases[part] == '|');
  }
  return false;
}

void blis__policy_fail_unknown(const char *kind, const char *name,
                               const blis_nearest *nearest, const char *names,
                               blis_error *error) {
  char all[1600];
  snprintf(all, sizeof all, "known are %s", names);
  blis_fail(error, BLIS_ERR_INVALID, "unknown %s '%s'%s", kind, name,
            blis_nearest_suggest_or(nearest, all).text);
}

/* The functions of registry.h for the entries of one kind. */
#define REGISTRY_OF(kind, kind_text)                                           \
  size_t blis_##kind##_entry_count(void) {                                     \
    return COUNT_OF(kind##s);                                                  \
  }                                                                            \
                                                                               \
  const blis_##kind##_entry *blis_##kind##_entry_at(size_t index) {            \
    return kind##s[index];                                                     \
  }                                                                            \
                                                                               \
  const blis_##kind##_entry *blis_##kind##_entry_find(const char *name,        \
                                                      blis_error *error) {     \
    blis_nearest nearest = {.wanted = name};                                   \
    char names[1536] = "";                                                     \
    for (size_t i = 0; i < COUNT_OF(kind##s); i++) {                           \
      if (blis__policy_is_named(name, kind##s[i]->name,                        \
                                kind##s[i]->aliases)) {                        \
        return kind##s[i];                                                     \
      }                                                                        \
      blis_nearest_offer(&nearest, kind##s[i]->name);                          \
      blis_word_list_add(names, sizeof names, kind##s[i]->name);               \
    }                                                                          \
    blis__policy_fail_unknown(kind_text, name, &nearest, names, error);        \
    return NULL;                                                               \
  }                                                                            \
                                                                               \
  blis_status blis_##kind##_create(const blis_alloc *alloc, const char *name,  \
                                   const blis_params *params,                  \
                                   const blis_policy_context *context,         \
                                   blis_##kind *kind, blis_error *error) {     \
    const blis_##kind##_entry *entry = blis_##kind##_entry_find(name, error);  \
    if (entry == NULL) {                                                       \
      return BLIS_ERR_INVALID;                                                 \
    }                                                                          \
    char owner[64];                                                            \
    snprintf(owner, sizeof owner, kind_text " %s", entry->name);               \
    BLIS_TRY(blis_params_check(params, entry->params, entry->param_count,      \
                               owner, error));                                 \
    return entry->create(alloc, params, context, kind, error);                 \
  }

REGISTRY_OF(filter, "filter")
REGISTRY_OF(scorer, "scorer")
REGISTRY_OF(picker, "picker")
REGISTRY_OF(router, "routing policy")

static blis_status check_is_live(const blis_router_entry *entry,
                                 const char *name, blis_error *error) {
  char live[256] = "";
  for (size_t i = 0; i < entry->param_count; i++) {
    const blis_param_spec *spec = &entry->params[i];
    if (spec->is_live && strcmp(spec->name, name) == 0) {
      return BLIS_OK;
    }
    if (spec->is_live) {
      blis_word_list_add(live, sizeof live, spec->name);
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "routing policy %s: %s is fixed for the run; %s can be "
                   "changed",
                   entry->name, name, live);
}

blis_status blis_router_change(const blis_router *router,
                               const blis_params *params, blis_error *error) {
  if (router->ops->change == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy %s: no parameter of it can be changed "
                     "during a run",
                     router->name);
  }
  const blis_router_entry *entry = blis_router_entry_find(router->name, error);
  BLIS_ASSERT(entry != NULL);
  char owner[64];
  snprintf(owner, sizeof owner, "routing policy %s", entry->name);
  BLIS_TRY(blis_params_check(params, entry->params, entry->param_count, owner,
                             error));
  for (size_t i = 0; i < params->count; i++) {
    BLIS_TRY(check_is_live(entry, params->items[i].name, error));
  }
  return router->ops->change(router->state, params, error);
}

blis_tie_rule blis__tie_param(const blis_params *params,
                              const blis_param_spec *specs, size_t spec_count,
                              const blis_policy_context *context) {
  if (context->go_blis && blis_params_find(params, "tie") == NULL) {
    return BLIS_TIE_RANDOM;
  }
  return (blis_tie_rule)blis_params_choice(params, specs, spec_count, "tie");
}

blis_tie_rule blis__tie_first_param(const blis_params *params,
                                    const blis_param_spec *specs,
                                    size_t spec_count) {
  static const blis_tie_rule rules[] = {BLIS_TIE_FIRST, BLIS_TIE_LOWEST_ID,
                                        BLIS_TIE_RANDOM, BLIS_TIE_LAST,
                                        BLIS_TIE_ROTATE};
  return rules[blis_params_choice(params, specs, spec_count, "tie")];
}
