/*
 * encode.h - the encode stage of multimodal requests: separate instances turn
 * images, sound, and video into tokens before anything else is computed.
 *
 * A request that needs it is routed among the encode instances, and waits there,
 * first come, first served. An instance encodes one request at a time. Time:
 *
 *   base_us + us_per_token * (image + audio + video tokens)
 *
 * The time is rounded up; the user sets both parameters. The request is routed
 * afterwards like any other, and its times still count from its arrival. Encoded
 * data is not transferred over links, and needs no memory.
 *
 * While it waits or is encoded, it counts as pending and in flight there.
 */
#ifndef BLIS_CLUSTER_ENCODE_ENCODE_H
#define BLIS_CLUSTER_ENCODE_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "policy/contract/router.h"

/* The requests that are encoded. */
typedef enum blis_encode_rule {
  BLIS_ENCODES_NOBODY,
  BLIS_ENCODES_ALL,
  BLIS_ENCODES_MULTIMODAL /* requests with tokens other than text */
} blis_encode_rule;

typedef struct blis_encode_stage {
  blis_router router; /* ops NULL: the router of the cluster */
  bool as_prefill;    /* ops NULL: the router of the prefill stage, if there is one */
  blis_encode_rule rule;
  double base_us;      /* >= 0, finite, as the next one */
  double us_per_token; /* other than text */
  bool chooses_only;   /* an instance is chosen once the request has been routed; nothing is
                          encoded and no time passes */
} blis_encode_stage;

typedef struct blis_encode_counts {
  int64_t encoded;
  int64_t timed_out; /* with their request, before they were encoded */
  int64_t lost;      /* with an instance; some were encoded by another instance */
  double wait_us;    /* of the encoded, added up, as the next one */
  double busy_us;
} blis_encode_counts;

/*
 * Takes the router of *stage (even on failure), once, before the first event and
 * after the disaggregation. BLIS_ERR_INVALID: no instance encodes, or the named
 * cost is out of range.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_encode_stage(blis_cluster *cluster,
                                                       blis_encode_stage *stage, blis_error *error);

/* All zero without an encode stage. */
void blis_cluster_get_encodes(const blis_cluster *cluster, blis_encode_counts *counts);

#endif
