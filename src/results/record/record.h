/*
 * record.h - the record of a finished request: the fields of cluster/lists/record_fields.h.
 *
 * A blis_record contains all fields except the extra ones, which most requests do not have. The
 * recorder returns an extra field of a record by its index.
 */
#ifndef BLIS_RESULTS_RECORD_RECORD_H
#define BLIS_RESULTS_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/invariant.h"
#include "cluster/cluster.h"

/* Maximum number of different reasons in a run that records can distinguish. */
enum { BLIS_RECORD_REASON_MAX = (1 << 25) - 1 };

/* Negative times = not reached. Instance -1 = none. Reason 0 = none. */
typedef struct blis_record {
#define PLAIN(type, name, ...) type name;
#define BITS(bits, name, ...) uint32_t name : bits;
#define LABEL(name, ...) uint32_t name;
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, PLAIN, PLAIN, BITS, LABEL, BLIS_NO_FIELD)
#undef PLAIN
#undef BITS
#undef LABEL
} blis_record;

/* Returns the record of an ended request, without the reason, which is a number of the recorder. */
blis_record blis_record_of(const blis_request_end *end);

/* The fields, as a table. */

typedef enum blis_record_form {
#define XX(form, ...) BLIS_FORM_##form,
  BLIS_RECORD_FORM_MAP(XX)
#undef XX
} blis_record_form;

typedef struct blis_record_form_facts {
  const char *type; /* Lua type: "integer?" */
  int64_t least;
  int64_t most;
} blis_record_form_facts;

/* Static storage. */
const blis_record_form_facts *blis_record_form_facts_of(blis_record_form form);

/* Fields of a blis_record. */
typedef enum blis_record_member {
#define PLAIN(type, name, ...) BLIS_RECORD_##name,
#define NAMED(name, ...) BLIS_RECORD_##name,
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, PLAIN, PLAIN, PLAIN, NAMED, BLIS_NO_FIELD)
#undef PLAIN
#undef NAMED
} blis_record_member;

int64_t blis_record_value(const blis_record *record, blis_record_member member);

/* Sets a member. value must be within the limits of the form of the field. */
void blis_record_set(blis_record *record, blis_record_member member, int64_t value);

enum { BLIS_SURFACE_SAVED = 1, BLIS_SURFACE_EXPORTED = 2, BLIS_SURFACE_EVERYWHERE = 3 };

typedef struct blis_record_field {
  const char *name;
  enum { BLIS_FIELD_OTHER, BLIS_FIELD_MEMBER, BLIS_FIELD_EXTRA } kind;
  int number; /* blis_record_member or blis_record_extra; 0 for BLIS_FIELD_OTHER */
  blis_record_form form;
  const char *type; /* Lua type; NULL = the type of the form */
  int surfaces;
  const char *when; /* "" = always */
  const char *text;
} blis_record_field;

/* Returns the Lua type of a field, such as "integer?"; static storage. */
const char *blis_record_field_type(const blis_record_field *field);

/* Static storage. */
const blis_record_field *blis_record_fields(size_t *count);

/* Returns whether the request completed, including at the maximum model length. */
static inline bool blis_record_is_completed(const blis_record *record) {
  return blis_request_is_completed(record->state);
}

/*
 * The latencies of a completed request. Goodput and capacity targets share this definition.
 * XX(constant, name)
 */
#define BLIS_LATENCY_KIND_MAP(XX)                                                                  \
  XX(TTFT, "ttft")                                                                                 \
  XX(ITL, "itl")                                                                                   \
  XX(E2E, "e2e")                                                                                   \
  XX(SCHEDULING_DELAY, "scheduling_delay")

typedef enum blis_latency_kind {
#define XX(constant, name) BLIS_LATENCY_##constant,
  BLIS_LATENCY_KIND_MAP(XX)
#undef XX
      BLIS_LATENCY_KIND_COUNT
} blis_latency_kind;

/* Returns a latency in us. The inter-token latency is the mean of the request; 0 for a single
   token. */
static inline double blis_record_latency_us(const blis_record *record, blis_latency_kind kind) {
  BLIS_ASSERT(blis_record_is_completed(record));
  switch (kind) {
  case BLIS_LATENCY_TTFT:
    return (double)record->ttft_us;
  case BLIS_LATENCY_ITL:
    return record->itl_count == 0 ? 0 : (double)record->itl_sum_us / (double)record->itl_count;
  case BLIS_LATENCY_E2E:
    return (double)record->e2e_us;
  default:
    return (double)record->scheduling_delay_us;
  }
}

static inline bool blis_record_is_within(const blis_record *record, blis_latency_kind kind,
                                         double limit_ms) {
  return blis_record_latency_us(record, kind) / 1000 <= limit_ms;
}

/*
 * Returns the XXH3 hash of number, arrival, state, instance, prompt tokens, output tokens, TTFT,
 * scheduling delay, E2E, and sum and count of the inter-token latencies, each as 8 bytes,
 * little-endian. A result hash is the sum of these hashes.
 */
uint64_t blis_record_hash(const blis_record *record);

#endif
