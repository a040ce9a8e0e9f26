/*
 * regions.h - regions of clients, gateways, and instances, with the latency between them.
 *
 * A request starts at a client of its origin region. A rule chooses the gateway region, and the
 * request arrives there after one way and the handshakes. From then on, arrival_us of the request
 * is that time, so all its times are those that the gateway measures. Its routing policy sees only
 * the instances of the region. A gateway may forward the request to another region, at most
 * max_hops times. The response takes the same path back.
 *
 *   one way to   = floor(RTT / 2); one way back = RTT - floor(RTT / 2)
 *   inbound      = one way to the gateway + handshakes * RTT
 *   client TTFT  = inbound + TTFT + one way back of each part of the path
 *
 * A part of the path between two different regions is billed to the region that sends.
 *
 * Cost: nothing without regions. Otherwise O(regions) per request, and O(candidates) per routing
 * decision for the view of a region. Without rules that read the load, instances may still lag
 * behind the clock.
 */
#ifndef BLIS_CLUSTER_REGIONS_REGIONS_H
#define BLIS_CLUSTER_REGIONS_REGIONS_H

#include "base/containers/sketch.h"
#include "cluster/cluster.h"

enum { BLIS_REGIONS_MAX = 64, BLIS_REGION_HOPS_MAX = 8 };

typedef struct blis_region {
  const char *name;
  double weight;            /* share of the requests with BLIS_REGIONS_WEIGHTED, >= 0 */
  double egress_usd_per_gb; /* price of data that leaves the region, >= 0 */
  uint64_t may_serve_in;    /* bit r: region r may serve requests from this region; not 0 */
} blis_region;

/* Ties go to the nearest region, then to the first. Full regions are chosen only if all are full.
 */
typedef enum blis_region_rule {
  BLIS_REGIONS_NEAREST,    /* least RTT to the client */
  BLIS_REGIONS_LEAST_COST, /* least mean cost_per_hour of its instances */
  BLIS_REGIONS_WEIGHTED,   /* in rotation, by weight */
  BLIS_REGIONS_PREFIX,     /* the region that last served the prompt's first segment */
  BLIS_REGIONS_FUNCTION
} blis_region_rule;

/* A region as a function sees it. */
typedef struct blis_region_look {
  uint32_t region;
  const char *name;
  int64_t rtt_us;       /* to the client */
  int64_t in_flight;    /* requests on their way to the region or in it */
  int64_t instances;    /* instances in service */
  double cost_per_hour; /* mean over its instances */
  bool is_full;
} blis_region_look;

typedef struct blis_region_functions {
  void *ud;
  /* Sets *origin to a region; NULL = the origin has the name of the tenant. */
  blis_status (*origin)(void *ud, const blis_routing_request *request, int64_t now_us,
                        uint32_t *origin, blis_error *error);
  /* Sets *chosen to the index of a look. Needed for BLIS_REGIONS_FUNCTION. */
  blis_status (*choose)(void *ud, const blis_routing_request *request, int64_t now_us,
                        const blis_region_look *looks, uint32_t count, uint32_t *chosen,
                        blis_error *error);
} blis_region_functions;

/* config.options[BLIS_FEATURE_REGIONS] of a cluster, which copies everything. */
typedef struct blis_regions {
  const blis_region *items;
  uint32_t count;           /* 1 to BLIS_REGIONS_MAX; 0 = no regions */
  const int64_t *rtt_us;    /* count * count, symmetric, >= 0 */
  const uint32_t *of_group; /* region of each group of instances (facts.group) */
  blis_region_rule rule;
  blis_region_functions functions;
  bool origin_is_client;  /* the name of the origin is the request's client, not its tenant */
  int32_t default_origin; /* origin of requests with other names; -1 = an error */
  double spill_above;     /* a region with this many requests per instance is full; 0 = never */
  uint32_t max_hops;      /* at most BLIS_REGION_HOPS_MAX */
  uint32_t handshakes;    /* round trips before each request */
  double bytes_per_prompt_token;
  double bytes_per_output_token;
  int64_t health_interval_us; /* 0 = changes are seen at once */
  int64_t unhealthy_after;    /* failed probes until a region is seen as down, >= 1 */
  int64_t dns_ttl_us;         /* additional time until clients use the new answer */
} blis_regions;

typedef struct blis_region_counts {
  int64_t sent;      /* requests from clients in the region */
  int64_t entered;   /* requests that arrived at its gateway from clients */
  int64_t forwarded; /* requests that its gateway sent to another region */
  int64_t served;    /* completed requests of its instances */
  int64_t egress_bytes;
} blis_region_counts;

/* Returns the number of regions; 0 without regions. */
uint32_t blis_cluster_region_count(const blis_cluster *cluster);

/* Returns the name of a region, owned by the cluster; region < count. */
const char *blis_cluster_region_name(const blis_cluster *cluster, uint32_t region);

blis_region_counts blis_cluster_region_counts(const blis_cluster *cluster, uint32_t region);

/* Returns the price of data that leaves the region. */
double blis_cluster_region_egress_price(const blis_cluster *cluster, uint32_t region);

/*
 * Return the times that clients of a region measured for completed requests, in us. The region
 * blis_cluster_region_count(cluster) stands for all regions.
 */
const blis_sketch *blis_cluster_region_client_ttft(const blis_cluster *cluster, uint32_t region);
const blis_sketch *blis_cluster_region_client_e2e(const blis_cluster *cluster, uint32_t region);

#endif
