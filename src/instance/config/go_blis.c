#include "instance/config/go_blis.h"

/* BLIS (Go) admits every request with reserved blocks as a decode, and runs steps of 1 us while it
   waits for KV. */
const blis_instance_defects blis_instance_go_blis = {
    .admits_too_long = true,
    .keeps_failed_claims = true,
    .admits_by_head = true,
    .steps_empty = true,
    .starts_by_token = true,
    .meets_itself = true,
    .has_plain_kv = true,
    .orders_ids_as_text = true,
};
