/*
 * admission_entries.h - the built-in admission policies.
 *
 * To add one: write its file with a constant entry, and add its line below.
 */
#ifndef BLIS_POLICY_ADMISSION_ENTRIES_H
#define BLIS_POLICY_ADMISSION_ENTRIES_H

#include "policy/admission/admission.h"

/* XX(file-local name): the entry is blis__admission_<name>. */
#define BLIS__ADMISSION_MAP(XX)                                                \
  XX(always_admit)                                                             \
  XX(reject_all)                                                               \
  XX(token_bucket)                                                             \
  XX(rate_limit)                                                               \
  XX(tenant_quota)                                                             \
  XX(tier_shed)                                                                \
  XX(gaie_legacy)                                                              \
  XX(cognitora_admission)

#define XX(name) extern const blis_admission_entry blis__admission_##name;
BLIS__ADMISSION_MAP(XX)
#undef XX

#endif
