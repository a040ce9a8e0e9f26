/*
 * features.h - the optional features of a cluster. Each has a slot for its state.
 *
 * The core does not refer to individual features. It loops over the table of their descriptors
 * (cluster/feature.h, cluster/table/feature_table.c), which is in this order.
 */
#ifndef BLIS_CLUSTER_LISTS_FEATURES_H
#define BLIS_CLUSTER_LISTS_FEATURES_H

/* XX(slot, descriptor): the descriptor is the constant blis__<descriptor>_feature. */
#define BLIS_FEATURE_MAP(XX)                                                                       \
  XX(ADAPTERS, adapters)                                                                           \
  XX(TIERS, tiers)                                                                                 \
  XX(VISITS, visits)                                                                               \
  XX(RANKS, ranks)                                                                                 \
  XX(RANK_BARRIER, rank_barrier)                                                                   \
  XX(RANK_BALANCE, rank_balance)                                                                   \
  XX(BELIEF, belief)                                                                               \
  XX(DECISIONS, decisions)                                                                         \
  XX(OBSERVER, observer)                                                                           \
  XX(RUN_EVENTS, run_events)                                                                       \
  XX(TOKENS, tokens)                                                                               \
  XX(ANNOUNCEMENTS, announcements)                                                                 \
  XX(PULLS, pulls)                                                                                 \
  XX(TENANTS, tenants)                                                                             \
  XX(PINS, pins)                                                                                   \
  XX(REGIONS, regions)                                                                             \
  XX(GATEWAY, gateway)                                                                             \
  XX(HANDOFF, handoff)                                                                             \
  XX(ENCODE, encode)                                                                               \
  XX(CASCADE, cascade)                                                                             \
  XX(MACHINES, machines)                                                                           \
  XX(PRICES, prices)                                                                               \
  XX(BILLING, billing)                                                                             \
  XX(PRESENCE, presence)                                                                           \
  XX(FAULTS, faults)                                                                               \
  XX(SCALING, scaling)                                                                             \
  XX(GO_BLIS_SCALING, go_blis_scaling)

typedef enum blis_feature_slot {
#define XX(slot, descriptor) BLIS_FEATURE_##slot,
  BLIS_FEATURE_MAP(XX)
#undef XX
      BLIS_FEATURE_COUNT
} blis_feature_slot;

/* Features that store data for each request; each has one pointer. */
typedef enum blis__request_part {
  BLIS__PART_GATEWAY,
  BLIS__PART_ENCODE,
  BLIS__PART_HANDOFF,
  BLIS__PART_CASCADE,
  BLIS__PART_REGIONS,
  BLIS__REQUEST_PART_COUNT
} blis__request_part;

#endif
