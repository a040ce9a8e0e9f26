/*
 * defects.h - defects of a reference engine that an instance reproduces.
 *
 * An engine without defects has all members false. Each profile has a constant in its own module.
 * Some defects lose requests or never finish them.
 */
#ifndef BLIS_INSTANCE_CONFIG_DEFECTS_H
#define BLIS_INSTANCE_CONFIG_DEFECTS_H

#include <stdbool.h>

typedef struct blis_instance_defects {
  /*
   * A request that outgrows the cache preempts itself forever instead of being dropped as
   * unservable.
   */
  bool admits_too_long;
  bool keeps_failed_claims; /* a failed partial reload keeps its blocks */
  /*
   * Requests that already have their KV may overtake the head of the queue only if nothing runs and
   * the head lacks blocks or has just given up its blocks.
   */
  bool admits_by_head;
  /* Without a batch, the engine runs steps of 1 us until reserved KV arrives. */
  bool steps_empty;
  /*
   * A preempted request with reserved blocks restarts with one token of its prompt and gets no
   * cache hits.
   */
  bool starts_by_token;
  bool meets_itself; /* an instance may hand a request off to itself */
  bool has_plain_kv; /* does not support kv_source or KV groups */
  /*
   * Schedulers break ties by the bytes of request IDs, so that request_10 precedes request_2;
   * otherwise by number.
   */
  bool orders_ids_as_text;
} blis_instance_defects;

#endif
