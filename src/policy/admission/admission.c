#include "policy/admission/admission.h"

#include "policy/contract/entry.h"

BLIS__POLICY_FREE(admission)

const blis_policy_entry blis__admission_always_admit = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "always-admit",
    .summary = "admits every request",
    .source = "BLIS (Go); BLIS macro-level implementation plan",
};

static blis_status reject(const blis_question *q, blis_admission_decision *decision) {
  (void)q;
  *decision = (blis_admission_decision){.verdict = BLIS_REJECT, .reason = "reject-all"};
  return BLIS_OK;
}

const blis_policy_entry blis__admission_reject_all = {
    .kind = BLIS_POLICY_ADMISSION,
    .name = "reject-all",
    .summary = "rejects every request; for testing",
    .source = "BLIS (Go)",
    .ops = &(const blis_admission_ops){.decide = reject},
};
