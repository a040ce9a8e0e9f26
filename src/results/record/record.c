#include "results/record/record.h"

#include <string.h>

#include "base/hash.h"

blis_record blis_record_of(const blis_request_end *end) {
  const blis_request *request = end->request;
  return (blis_record){
      .number = request->number,
      .arrival_us = request->arrival_us,
      .ttft_us = end->ttft_us,
      .e2e_us = end->e2e_us,
      .scheduling_delay_us = end->scheduling_delay_us,
      .itl_sum_us = end->itl_sum_us,
      .end_us = end->end_us,
      .itl_count = (uint32_t)end->itl_count,
      .prompt_tokens = request->prompt_tokens,
      .output_tokens = request->output_tokens,
      .instance = end->instance,
      .tenant = request->tenant,
      .slo_class = request->slo_class,
      .model = request->model,
      .adapter = request->adapter,
      .state = end->state & 15U,
      .was_counted = end->was_counted,
      .had_hit = end->had_hit,
  };
}

int64_t blis_record_value(const blis_record *record, blis_record_member member) {
  switch (member) {
#define NAMED(name, ...)                                                                           \
  case BLIS_RECORD_##name:                                                                         \
    return (int64_t)record->name;
#define PLAIN(type, ...) NAMED(__VA_ARGS__)
    BLIS_RECORD_FIELDS(BLIS_NO_FIELD, PLAIN, PLAIN, PLAIN, NAMED, BLIS_NO_FIELD)
#undef PLAIN
#undef NAMED
  }
  return 0;
}

void blis_record_set(blis_record *record, blis_record_member member, int64_t value) {
  switch (member) {
#define PLAIN(type, name, ...)                                                                     \
  case BLIS_RECORD_##name:                                                                         \
    record->name = (type)value;                                                                    \
    break;
#define BITS(bits, name, ...)                                                                      \
  case BLIS_RECORD_##name:                                                                         \
    record->name = (uint32_t)value & ((UINT32_C(1) << (bits)) - 1);                                \
    break;
#define LABEL(...) PLAIN(uint32_t, __VA_ARGS__)
    BLIS_RECORD_FIELDS(BLIS_NO_FIELD, PLAIN, PLAIN, BITS, LABEL, BLIS_NO_FIELD)
#undef PLAIN
#undef BITS
#undef LABEL
  }
}

const blis_record_form_facts *blis_record_form_facts_of(blis_record_form form) {
  static const blis_record_form_facts facts[] = {
#define XX(form, type, least, most) {type, least, most},
      BLIS_RECORD_FORM_MAP(XX)
#undef XX
  };
  return &facts[form];
}

const char *blis_record_field_type(const blis_record_field *field) {
  return field->type != NULL ? field->type : blis_record_form_facts_of(field->form)->type;
}

const blis_record_field *blis_record_fields(size_t *count) {
  static const blis_record_field fields[] = {
#define ROW(name, kind, number, form, type, surfaces, when, text)                                  \
  {#name, BLIS_FIELD_##kind, number, BLIS_FORM_##form, type, BLIS_SURFACE_##surfaces, when, text},
#define OTHER(name, type, ...) ROW(name, OTHER, 0, INTEGER, type, __VA_ARGS__)
#define NAMED(name, form, ...) ROW(name, MEMBER, BLIS_RECORD_##name, form, NULL, __VA_ARGS__)
#define PLAIN(type, ...) NAMED(__VA_ARGS__)
#define EXTRA(name, form, ...) ROW(name, EXTRA, BLIS_EXTRA_##name, form, NULL, __VA_ARGS__)
      BLIS_RECORD_FIELDS(OTHER, PLAIN, PLAIN, PLAIN, NAMED, EXTRA)
#undef ROW
#undef OTHER
#undef NAMED
#undef PLAIN
#undef EXTRA
  };
  *count = sizeof fields / sizeof *fields;
  return fields;
}

/* Returns the value whose bytes in memory are the little-endian bytes of value. */
static uint64_t to_little_endian(uint64_t value) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return value;
#else
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) {
    bytes[i] = (unsigned char)(value >> 8 * i);
  }
  memcpy(&value, bytes, sizeof value);
  return value;
#endif
}

uint64_t blis_record_hash(const blis_record *record) {
#define LITTLE(name) to_little_endian((uint64_t)record->name)
  const uint64_t values[] = {
      LITTLE(number),        LITTLE(arrival_us),    LITTLE(state),     LITTLE(instance),
      LITTLE(prompt_tokens), LITTLE(output_tokens), LITTLE(ttft_us),   LITTLE(scheduling_delay_us),
      LITTLE(e2e_us),        LITTLE(itl_sum_us),    LITTLE(itl_count),
  };
#undef LITTLE
  return blis_hash64(values, sizeof values, 0);
}
