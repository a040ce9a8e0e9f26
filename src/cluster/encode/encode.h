/*
 * encode.h - the encode stage of multimodal requests: separate instances convert images, audio, and
 * video to tokens before anything else is computed.
 *
 * A request that needs encoding is routed to an encode instance, where requests wait in FIFO order.
 * An instance encodes one request at a time. The time is
 *
 *   base_us + us_per_token * (image + audio + video tokens)
 *
 * rounded up. The user sets both parameters. Afterwards, the request is routed like any other, and
 * its times still count from its arrival. Encoded data is not transferred over links and needs no
 * memory.
 *
 * While a request waits or is encoded, it counts as pending and in flight on the encode instance.
 */
#ifndef BLIS_CLUSTER_ENCODE_ENCODE_H
#define BLIS_CLUSTER_ENCODE_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "policy/contract/router.h"

/* Selects the requests that are encoded. */
typedef enum blis_encode_rule {
  BLIS_ENCODES_NOBODY,
  BLIS_ENCODES_ALL,
  BLIS_ENCODES_MULTIMODAL /* requests with non-text tokens */
} blis_encode_rule;

typedef struct blis_encode_stage {
  blis_router router; /* ops NULL = the router of the cluster */
  bool as_prefill;    /* if ops is NULL, use the router of the prefill stage, if any */
  blis_encode_rule rule;
  double base_us;      /* >= 0, finite; also us_per_token */
  double us_per_token; /* per non-text token */
  /*
   * Only choose an encode instance after the request has been routed; nothing is encoded and no
   * time passes.
   */
  bool chooses_only;
} blis_encode_stage;

typedef struct blis_encode_counts {
  int64_t encoded;
  int64_t timed_out; /* requests that timed out before they were encoded */
  /* Lost with an instance; some of these were then encoded by another instance. */
  int64_t lost;
  double wait_us; /* total wait of the encoded requests */
  double busy_us;
} blis_encode_counts;

/*
 * Takes ownership of the router of *stage, even on failure. Call it at most once, before the first
 * event and after blis_cluster_set_disaggregation. BLIS_ERR_INVALID if no instance encodes or if
 * the named cost is out of range.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_encode_stage(blis_cluster *cluster,
                                                       blis_encode_stage *stage, blis_error *error);

/* Stores the counters; all zero without an encode stage. */
void blis_cluster_get_encodes(const blis_cluster *cluster, blis_encode_counts *counts);

#endif
