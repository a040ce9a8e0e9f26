/*
 * held.h - what a policy holds for requests that have left their engines, until the clients have
 * the last tokens: the end of a request (end_us) can be later than its last step.
 */
#ifndef BLIS_POLICY_CONTRACT_HELD_H
#define BLIS_POLICY_CONTRACT_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"

typedef struct blis_held_item {
  int64_t end_us;
  int64_t value; /* the policy's own */
} blis_held_item;

/* In no order. All zero is empty. */
typedef struct blis_held {
  BLIS_ARRAY(blis_held_item) items;
} blis_held;

void blis_held_deinit(blis_held *held, const blis_alloc *alloc);

/* Holds a value until end_us. Returns false if nothing is to be held (end_us <= now_us, or no
   memory): the caller releases it at once. */
bool blis_held_add(blis_held *held, const blis_alloc *alloc, int64_t now_us, int64_t end_us,
                   int64_t value);

/* Removes one value whose end is at most now_us; returns false if there is none. */
bool blis_held_take_due(blis_held *held, int64_t now_us, int64_t *value);

#endif
