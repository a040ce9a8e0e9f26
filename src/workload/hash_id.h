/*
 * hash_id.h - ids of KV blocks in traces and session graphs.
 *
 * Ids are integers >= 0, such as hashes of 64 or more bits, numbers in quotes, or other strings.
 */
#ifndef BLIS_WORKLOAD_HASH_ID_H
#define BLIS_WORKLOAD_HASH_ID_H

#include <stdint.h>

#include "base/error.h"
#include "base/format/json.h"

/*
 * Computes the key of an id, below 2^63. Equal ids have equal keys. Numbers up to 2^63 - 1 are
 * their own keys. Only numbers that differ by 2^63, and strings with the same hash, share a key.
 * For any other value, returns BLIS_ERR_PARSE with the value in *error.
 */
BLIS_MUSTUSE blis_status blis__hash_id(blis_json_value value, uint64_t *key, blis_error *error);

/* Computes the key of a text: that of its number, or of its bytes if it is no integer. */
uint64_t blis__hash_id_of_text(blis_slice text);

/* Computes the key of an integer; negative integers stand for the upper half of 64 bits. */
uint64_t blis__hash_id_of_integer(int64_t number);

#endif
