#include "workload/hash_id.h"

#include "base/hash.h"
#include "base/number.h"

uint64_t blis__hash_id_of_integer(int64_t number) {
  return (uint64_t)number & INT64_MAX;
}

uint64_t blis__hash_id_of_text(blis_slice text) {
  int64_t number;
  return blis_parse_int64(text, &number) == BLIS_NUMBER_OK
             ? blis__hash_id_of_integer(number)
             : blis_hash64(text.data, text.length, 1) & INT64_MAX;
}

blis_status blis__hash_id(blis_json_value value, uint64_t *key, blis_error *error) {
  if (blis_json_type_of(value) == BLIS_JSON_TEXT) {
    blis_slice text;
    BLIS_TRY(blis_json_text(value, &text, error));
    *key = blis__hash_id_of_text(text);
  } else {
    BLIS_TRY(blis_json_id64(value, key, error));
    *key &= INT64_MAX;
  }
  return BLIS_OK;
}
