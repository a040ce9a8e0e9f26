#include "workload/hash_id.h"

#include "base/hash.h"
#include "base/number.h"

blis_status blis__hash_id(blis_json_value value, uint64_t *key, blis_error *error) {
  uint64_t bits;
  if (blis_json_type_of(value) == BLIS_JSON_TEXT) {
    blis_slice text;
    int64_t number;
    BLIS_TRY(blis_json_text(value, &text, error));
    bool is_number = blis_parse_int64(text, &number) == BLIS_NUMBER_OK;
    bits = is_number ? (uint64_t)number : blis_hash64(text.data, text.length, 1);
  } else {
    BLIS_TRY(blis_json_id64(value, &bits, error));
  }
  *key = bits & INT64_MAX;
  return BLIS_OK;
}
