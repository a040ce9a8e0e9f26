/*
 * record_fields.h - every field of a request record, by name.
 *
 * This table is used for C structs, the record store, Lua records, saved results, exports,
 * annotations, and the reference. To add a field, add a line here and set its value where the
 * request ends. Set an extra field with blis_record_extras_set, and any other field in
 * blis_record_of (results/record/record.c).
 *
 * Lines are in the order of the columns in saved results and exports. The first word of a line is
 * the storage class of the value.
 *
 *   OTHER  not in the C structs; src/lua/results/record_table.c sets the Lua value
 *   WIDE   8 bytes of every record
 *   WORD   4 bytes of every record; the few records with larger values are stored in full
 *   BITS   some bits of every record
 *   LABEL  an ID in the workload's string table; records with equal labels share the labels
 *   EXTRA  a separate column that is created by the first record that sets the field. A run that
 *          never sets the field has no overhead. Otherwise, the field takes 4 bytes per record, or
 *          8 bytes if any value does not fit in 32 bits. Values are at least 0.
 *
 * A new field should be EXTRA unless every run sets it: a record has 56 bytes, and a test limits
 * the memory of a finished request to 72 bytes.
 *
 * The other columns of a line:
 *
 *   form       representation in Lua, see BLIS_RECORD_FORM_MAP
 *   surfaces   SAVED (in files of blis.save), EXPORTED (in CSV and JSON lines), or EVERYWHERE
 *   when       the results that have the column in files, such as those with the part
 *              "energy.kwh" or with "handoffs.encoded > 0"; "" = all results
 *   text       description
 */
#ifndef BLIS_CLUSTER_LISTS_RECORD_FIELDS_H
#define BLIS_CLUSTER_LISTS_RECORD_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/invariant.h"

/* XX(name, form, surfaces, when, text) */
#define BLIS_ENCODE_RECORD_FIELDS(EXTRA)                                                           \
  EXTRA(encode_instance, INSTANCE, SAVED, "handoffs.encoded > 0",                                  \
        "encoder of the request, with an encode stage; then also:")                                \
  EXTRA(encode_start_us, MAYBE, SAVED, "handoffs.encoded > 0", "start of its encoding")            \
  EXTRA(encode_end_us, MAYBE, SAVED, "handoffs.encoded > 0",                                       \
        "end of its encoding; it is routed then")

#define BLIS_HANDOFF_RECORD_FIELDS(EXTRA)                                                          \
  EXTRA(prefill_instance, INSTANCE, SAVED, "handoffs",                                             \
        "instance that computed its prompt, if the request decoded on another one; then also:")    \
  EXTRA(prefill_admitted_us, MAYBE, SAVED, "handoffs", "first admission to a batch there")         \
  EXTRA(prefill_end_us, MAYBE, SAVED, "handoffs", "end of its prefill")                            \
  EXTRA(transfer_start_us, MAYBE, SAVED, "handoffs", "start of its KV transfer")                   \
  EXTRA(transfer_end_us, MAYBE, SAVED, "handoffs",                                                 \
        "end of its KV transfer; it waits to decode from then on")                                 \
  EXTRA(moved_bytes, MAYBE, SAVED, "handoffs", "size of the transferred KV, per GPU")              \
  EXTRA(prefill_e2e_us, MAYBE, SAVED, "handoffs",                                                  \
        "profile go-blis, where a prefill is a request: from the arrival to its end")              \
  EXTRA(decode_e2e_us, MAYBE, SAVED, "handoffs",                                                   \
        "profile go-blis, where a decode is a request: from the start of decoding to its end")

#define BLIS_REGION_RECORD_FIELDS(EXTRA)                                                           \
  EXTRA(client_region, NAME, EVERYWHERE, "regions", "with regions: region of its client")          \
  EXTRA(region, NAME, EVERYWHERE, "regions", "region of its last gateway and its instance")        \
  EXTRA(forwards, SMALL, EVERYWHERE, "regions", "times that a gateway sent it to another region")  \
  EXTRA(client_ttft_us, MAYBE, EVERYWHERE, "regions",                                              \
        "from its start at the client to the first token there: ttft_us and all ways")             \
  EXTRA(client_e2e_us, MAYBE, EVERYWHERE, "regions",                                               \
        "from its start at the client to the last token there, if it was completed")

#define BLIS_RECORD_FIELDS(OTHER, WIDE, WORD, BITS, LABEL, EXTRA)                                  \
  OTHER(id, "string", EXPORTED, "", "\"request_17\"")                                              \
  WORD(int64_t, number, INTEGER, EVERYWHERE, "", "number of the request in its workload, from 0")  \
  BITS(4, state, STATE, EVERYWHERE, "",                                                            \
       "\"completed\" or another state of blis.Outcome; \"still_running\", \"still_queued\", or "  \
       "\"still_arriving\" at the end of the run")                                                 \
  WORD(int32_t, instance, INSTANCE, EVERYWHERE, "", "last instance of the request")                \
  WIDE(int64_t, arrival_us, US, EVERYWHERE, "", "time of arrival")                                 \
  WORD(int64_t, ttft_us, MAYBE, EVERYWHERE, "", "from the arrival to the last first token")        \
  WORD(int64_t, scheduling_delay_us, MAYBE, EVERYWHERE, "",                                        \
       "from the arrival to the last admission to a batch")                                        \
  WORD(int64_t, e2e_us, MAYBE, EVERYWHERE, "", "from the arrival to the last token")               \
  WORD(int64_t, end_us, US, EVERYWHERE, "", "time when the request ended")                         \
  WORD(int64_t, itl_sum_us, US, EVERYWHERE, "", "sum of its inter-token latencies")                \
  WORD(uint32_t, itl_count, COUNT, EVERYWHERE, "", "number of its inter-token latencies")          \
  WORD(uint32_t, prompt_tokens, COUNT, EVERYWHERE, "", "length of its prompt")                     \
  WORD(uint32_t, output_tokens, COUNT, EVERYWHERE, "", "planned length of its output")             \
  LABEL(tenant, TEXT, EVERYWHERE, "", "its tenant, or \"\"")                                       \
  LABEL(slo_class, TEXT, EVERYWHERE, "", "its SLO class, or \"\"")                                 \
  LABEL(model, TEXT, EVERYWHERE, "", "its model, or \"\"")                                         \
  EXTRA(session, TEXT, EVERYWHERE, "", "its session, or \"\"")                                     \
  EXTRA(round_index, SMALL, EVERYWHERE, "", "turn of its session, from 0")                         \
  BITS(1, was_counted, FLAG, EVERYWHERE, "",                                                       \
       "the request reached a wait queue, or timed out on the way; percentiles count it")          \
  BITS(25, reason, REASON, EVERYWHERE, "", "reason of a rejection or failure")                     \
  BITS(1, had_hit, FLAG, EVERYWHERE, "",                                                           \
       "part of its prompt was cached when it was first admitted")                                 \
  EXTRA(gateway_wait_us, MAYBE, EVERYWHERE, "queue",                                               \
        "wait in the gateway queue, part of ttft_us; nil if it was never dispatched")              \
  OTHER(status_code, "integer?", EXPORTED, "queue",                                                \
        "HTTP status of a rejection by the gateway of llm-d: 429 or 503")                          \
  EXTRA(frontend_us, MAYBE, EVERYWHERE, "setup.has_front_end",                                     \
        "time in the API server (cluster.frontend) before the wait queue, part of ttft_us")        \
  LABEL(adapter, NAME, EVERYWHERE, "lora", "its LoRA adapter")                                     \
  EXTRA(adapter_wait_us, MAYBE, EVERYWHERE, "lora",                                                \
        "wait for its LoRA adapter, if it was admitted with one: all waits, in both stages of a "  \
        "hand-off and after preemptions; part of e2e_us, and of ttft_us if before the first "      \
        "token")                                                                                   \
  EXTRA(drafted_tokens, MAYBE, EVERYWHERE, "speculation",                                          \
        "draft tokens on its last instance, with cluster.speculation")                             \
  EXTRA(accepted_tokens, MAYBE, EVERYWHERE, "speculation", "draft tokens that were accepted")      \
  BLIS_HANDOFF_RECORD_FIELDS(EXTRA)                                                                \
  BLIS_ENCODE_RECORD_FIELDS(EXTRA)                                                                 \
  EXTRA(cached_tokens, MAYBE, EVERYWHERE, "kv_tiers",                                              \
        "with kv_tiers: prompt tokens in the cache of its instance at the first admission")        \
  OTHER(tier_tokens, "integer[]?", EVERYWHERE, "kv_tiers",                                         \
        "with kv_tiers: prompt tokens loaded before that from each tier of "                       \
        "result.kv_tiers.tiers; the rest of the prompt was computed")                              \
  EXTRA(energy_j, NANO, EVERYWHERE, "energy.kwh",                                                  \
        "its share of the energy of the steps that computed its tokens, if power is known")        \
  EXTRA(carbon_g, PICO, EVERYWHERE, "energy.carbon_g",                                             \
        "carbon emitted by the facility for that energy at the times of these steps, if known")    \
  OTHER(priority, "number?", EVERYWHERE, "requests.1.priority",                                    \
        "its priority, if requests differ in priority; higher is more urgent")                     \
  OTHER(attempts, "blis.Attempt[]?", SAVED, "cascade", "its attempts, with a cascade")             \
  OTHER(steps, "integer?", EXPORTED, "cascade", "number of its attempts, with a cascade")          \
  OTHER(model_used, "string?", EXPORTED, "cascade", "model of its last attempt, with a cascade")   \
  OTHER(verdict, "string?", EXPORTED, "cascade", "verdict about its last attempt, with a cascade") \
  BLIS_REGION_RECORD_FIELDS(EXTRA)                                                                 \
  EXTRA(program, NAME, EVERYWHERE, "tasks", "its session graph")

/*
 * The representation of values in Lua: XX(form, Lua type, minimum, maximum). If the type ends with
 * "?", an unset value is nil; otherwise, it is 0 or "".
 */
#define BLIS_RECORD_FORM_MAP(XX)                                                                   \
  XX(INTEGER, "integer", INT64_MIN, INT64_MAX)                                                     \
  XX(US, "integer", 0, INT64_C(1) << 53) /* 285 years: sums do not overflow */                     \
  XX(COUNT, "integer", 0, UINT32_MAX)                                                              \
  XX(MAYBE, "integer?", 0, INT64_C(1) << 53) /* below 0 = not set */                               \
  XX(SMALL, "integer?", 0, INT32_MAX)                                                              \
  XX(NANO, "number?", 0, INT64_C(1) << 53)                 /* shown times 1e-9 */                  \
  XX(PICO, "number?", 0, INT64_C(8000000) * 1000000000000) /* shown times 1e-12 */                 \
  XX(TEXT, "string", 0, 0)                                 /* string ID */                         \
  XX(NAME, "string?", 0, 0)                                /* string ID; 0 = not set */            \
  XX(INSTANCE, "string?", 0, 0)                            /* "instance_3"; below 0 = not set */   \
  XX(STATE, "string", 0, 0)                                /* blis_request_state */                \
  XX(REASON, "string?", 0, 0) /* the recorder's number; 0 = not set */                             \
  XX(FLAG, "boolean", 0, 1)

/* Ignores a line of the table. */
#define BLIS_NO_FIELD(...)

/* The extra fields. */
typedef enum blis_record_extra {
#define EXTRA(name, ...) BLIS_EXTRA_##name,
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD,
                     EXTRA)
#undef EXTRA
      BLIS_EXTRA_COUNT
} blis_record_extra;

_Static_assert(BLIS_EXTRA_COUNT <= 64, "one bit each");

/* The extra fields of a request; all-zero = none is set. */
typedef struct blis_record_extras {
  uint64_t set; /* one bit per field */
  int64_t values[BLIS_EXTRA_COUNT];
} blis_record_extras;

/* Sets a field. value >= 0. */
static inline void blis_record_extras_set(blis_record_extras *extras, blis_record_extra extra,
                                          int64_t value) {
  BLIS_ASSERT(value >= 0);
  extras->set |= UINT64_C(1) << extra;
  extras->values[extra] = value;
}

/* Sets a field unless the value is negative. */
static inline void blis_record_extras_set_known(blis_record_extras *extras, blis_record_extra extra,
                                                int64_t value) {
  if (value >= 0) {
    blis_record_extras_set(extras, extra, value);
  }
}

/* Returns the value of a field; -1 = not set. */
static inline int64_t blis_record_extras_get(const blis_record_extras *extras,
                                             blis_record_extra extra) {
  return (extras->set >> extra & 1U) != 0 ? extras->values[extra] : -1;
}

#endif
