/*
 * defects.h - defects of a reference engine that an instance reproduces.
 *
 * All false is an engine without them. Each profile has a constant in its own
 * module. Defects lose requests, or never finish them.
 */
#ifndef BLIS_INSTANCE_CONFIG_DEFECTS_H
#define BLIS_INSTANCE_CONFIG_DEFECTS_H

#include <stdbool.h>

typedef struct blis_instance_defects {
  bool admits_too_long;     /* a request that outgrows the cache evicts itself forever instead of
                               being dropped as unservable */
  bool keeps_failed_claims; /* a failed partial reload keeps its blocks */
  bool admits_by_head;     /* requests that have their KV pass the head of the queue only if nothing
                              runs, and the head lacks blocks or has just given up its own */
  bool steps_empty;        /* without a batch, steps of 1 us pass until reserved KV arrives */
  bool starts_by_token;    /* a preempted request with reserved blocks starts with one token of its
                              prompt and finds nothing cached */
  bool meets_itself;       /* an instance may hand a request off to itself */
  bool has_plain_kv;       /* no kv_source and no KV groups */
  bool orders_ids_as_text; /* schedulers order equal keys by the bytes of ids, so that request_10 is
                              before request_2; else by number */
} blis_instance_defects;

#endif
