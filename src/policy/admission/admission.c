#include "policy/admission/admission.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "policy/admission/entries.h"

void blis_admission_free(blis_admission *admission) {
  if (admission->ops != NULL && admission->ops->free != NULL) {
    admission->ops->free(&admission->alloc, admission->state);
  }
  *admission = (blis_admission){0};
}

static blis_status create_always_admit(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_admission *admission,
                                       blis_error *error) {
  (void)params, (void)context, (void)error;
  *admission = (blis_admission){.alloc = *alloc, .name = "always-admit"};
  return BLIS_OK;
}

const blis_admission_entry blis__admission_always_admit = {
    .name = "always-admit",
    .aliases = "",
    .summary = "every request is let in",
    .source = "BLIS (Go); BLIS macro-level implementation plan",
    .create = create_always_admit,
};

static blis_status reject(void *state, const blis_routing_request *request,
                          const blis_routing_view *view,
                          blis_admission_decision *decision,
                          blis_error *error) {
  (void)state, (void)request, (void)view, (void)error;
  *decision =
      (blis_admission_decision){.verdict = BLIS_REJECT, .reason = "reject-all"};
  return BLIS_OK;
}

static const blis_admission_ops reject_all_ops = {.decide = reject};

static blis_status create_reject_all(const blis_alloc *alloc,
                                     const blis_params *params,
                                     const blis_policy_context *context,
                                     blis_admission *admission,
                                     blis_error *error) {
  (void)params, (void)context, (void)error;
  *admission = (blis_admission){
      .ops = &reject_all_ops, .alloc = *alloc, .name = "reject-all"};
  return BLIS_OK;
}

const blis_admission_entry blis__admission_reject_all = {
    .name = "reject-all",
    .aliases = "",
    .summary = "no request is let in: for trying out what is counted",
    .source = "BLIS (Go)",
    .create = create_reject_all,
};

static const blis_admission_entry *const entries[] = {
#define XX(name) &blis__admission_##name,
    BLIS__ADMISSION_MAP(XX)
#undef XX
};

enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

size_t blis_admission_entry_count(void) {
  return ENTRY_COUNT;
}

const blis_admission_entry *blis_admission_entry_at(size_t index) {
  return entries[index];
}

static const blis_admission_entry *find_entry(const char *name,
                                              blis_error *error) {
  blis_nearest nearest = {.wanted = name};
  char names[256] = "";
  for (size_t i = 0; i < ENTRY_COUNT; i++) {
    if (blis__policy_is_named(name, entries[i]->name, entries[i]->aliases)) {
      return entries[i];
    }
    blis_nearest_offer(&nearest, entries[i]->name);
    blis_word_list_add(names, sizeof names, entries[i]->name);
  }
  blis__policy_fail_unknown("admission policy", name, &nearest, names, error);
  return NULL;
}

blis_status blis_admission_create(const blis_alloc *alloc, const char *name,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_admission *admission,
                                  blis_error *error) {
  const blis_admission_entry *entry = find_entry(name, error);
  if (entry == NULL) {
    return BLIS_ERR_INVALID;
  }
  char owner[64];
  snprintf(owner, sizeof owner, "admission policy %s", entry->name);
  BLIS_TRY(blis_params_check(params, entry->params, entry->param_count, owner,
                             error));
  return entry->create(alloc, params, context, admission, error);
}
