#include "policy/contract/entry.h"

#include <stdio.h>
#include <string.h>

#include "base/format/key.h"
#include "base/invariant.h"
#include "base/nearest.h"

BLIS__POLICY_FREE(filter)
BLIS__POLICY_FREE(scorer)
BLIS__POLICY_FREE(picker)
BLIS__POLICY_FREE(router)

const char *blis_policy_kind_text(blis_policy_kind kind) {
  static const char *const texts[BLIS_POLICY_KIND_COUNT] = {
      "filter",          "scorer",  "picker",     "routing policy",      "admission policy",
      "priority policy", "cascade", "autoscaler", "saturation detector", "usage limit",
      "decider"};
  return texts[kind];
}

/* Writes the parameters that have a member in the state. */
static void write_params(const blis_policy_setup *setup) {
  for (size_t i = 0; i < setup->entry->param_count; i++) {
    const blis_param_spec *spec = &setup->entry->params[i];
    if (spec->member != BLIS_MEMBER_NONE) {
      blis_param_write(spec, setup->params, setup->state);
    }
  }
}

blis_status blis_policy_check(const blis_policy_entry *entry, const blis_params *params,
                              blis_error *error) {
  char owner[64];
  snprintf(owner, sizeof owner, "%s %s", blis_policy_kind_text(entry->kind), entry->name);
  return blis_params_check(params, entry->params, entry->param_count, owner, error);
}

blis_status blis_policy_make(blis_policy_setup *setup, const blis_policy_entry *entry,
                             const blis_alloc *alloc, const blis_params *params,
                             const blis_policy_context *context, blis_error *error) {
  *setup = (blis_policy_setup){.entry = entry,
                               .alloc = alloc,
                               .params = params,
                               .context = context,
                               .ops = entry->ops,
                               .needs = entry->needs,
                               .is_blind = entry->is_blind};
  BLIS_TRY(blis_policy_check(entry, params, error));
  if (entry->state_size > 0) {
    setup->state = blis_alloc_zeroed(alloc, 1, entry->state_size);
    BLIS_TRY_NEW(setup->state, error);
    write_params(setup);
  }
  return entry->init == NULL ? BLIS_OK : entry->init(setup->state, setup, error);
}

static const blis_param_spec *spec_of(const blis_policy_setup *setup, const char *name) {
  const blis_param_spec *spec =
      blis_param_spec_find(setup->entry->params, setup->entry->param_count, name);
  BLIS_ASSERT(spec != NULL);
  return spec;
}

bool blis_setup_has(const blis_policy_setup *setup, const char *name) {
  return blis_params_find(setup->params, name) != NULL;
}

/* Returns the profile's default of a parameter that is not set; NULL = none. */
static const blis_policy_default *default_of(const blis_policy_setup *setup, const char *name) {
  const blis_policy_profile *profile = setup->context->profile;
  for (size_t i = 0; profile != NULL && i < profile->default_count; i++) {
    const blis_policy_default *d = &profile->defaults[i];
    if (d->kind == (int)setup->entry->kind && strcmp(d->policy, setup->entry->name) == 0 &&
        strcmp(d->parameter, name) == 0) {
      return blis_setup_has(setup, name) ? NULL : d;
    }
  }
  return NULL;
}

double blis_setup_number(const blis_policy_setup *setup, const char *name) {
  const blis_policy_default *d = default_of(setup, name);
  if (d == NULL) {
    return blis_param_number(spec_of(setup, name), setup->params);
  }
  return d->number == BLIS_DEFAULT_KV_BLOCK_SIZE ? (double)setup->context->kv_block_size_tokens
                                                 : d->number;
}

int blis_setup_choice(const blis_policy_setup *setup, const char *name) {
  const blis_policy_default *d = default_of(setup, name);
  return d != NULL ? (int)d->number : blis_param_choice(spec_of(setup, name), setup->params);
}

double blis_setup_number_or(const blis_policy_setup *setup, const char *name, bool is_profile,
                            double profile_default) {
  return is_profile && !blis_setup_has(setup, name) ? profile_default
                                                    : blis_setup_number(setup, name);
}

int blis_setup_choice_or(const blis_policy_setup *setup, const char *name, bool is_profile,
                         int profile_default) {
  return is_profile && !blis_setup_has(setup, name) ? profile_default
                                                    : blis_setup_choice(setup, name);
}

static blis_tie_rule tie_rule(const blis_policy_setup *setup) {
  const blis_param *given = blis_params_find(setup->params, "tie");
  return blis_tie_rule_of(given != NULL ? given->text : spec_of(setup, "tie")->choices);
}

void blis_setup_tie(const blis_policy_setup *setup, blis_tie *tie) {
  blis_tie_init_of(tie, tie_rule(setup), setup->context->seed, setup->entry->name);
}

void blis_setup_router_tie(const blis_policy_setup *setup, blis_tie *tie) {
  const blis_policy_profile *profile = setup->context->profile;
  bool is_random = profile != NULL && profile->has_random_ties && !blis_setup_has(setup, "tie");
  blis_tie_init(tie, is_random ? BLIS_TIE_RANDOM : tie_rule(setup), setup->context->seed,
                setup->context->ties == NULL ? "router" : setup->context->ties);
}

void blis_setup_random(const blis_policy_setup *setup, blis_random *random) {
  blis_policy_random_init(random, setup->context->seed, setup->entry->name);
}

static bool is_named(const blis_policy_entry *entry, const char *name) {
  if (strcmp(name, entry->name) == 0) {
    return true;
  }
  return entry->aliases != NULL && blis_key_choice(entry->aliases, name) >= 0;
}

const blis_policy_entry *blis_policy_list_find(const blis_policy_list *list, const char *name,
                                               blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  char names[1536] = "";
  for (size_t i = 0; i < list->count; i++) {
    const blis_policy_entry *entry = list->entries[i];
    if (is_named(entry, name)) {
      return entry;
    }
    blis_nearest_offer(&nearest, entry->name);
    blis_word_list_add(names, sizeof names, entry->name);
  }
  char all[1600];
  snprintf(all, sizeof all, "known are %s", names);
  blis_fail(error, BLIS_ERR_INVALID, "unknown %s '%s'%s",
            blis_policy_kind_text(list->entries[0]->kind), name,
            blis_nearest_suggest_or(&nearest, all).text);
  return NULL;
}
