/*
 * fault_plan.h - the planned and random faults of a run.
 *
 * Several faults may be active on one instance. A fault on an instance that is removed or down has
 * no effect and is recorded as missed. Factors of step times are multiplied. If several faults
 * affect signals, the longest one applies; a partition takes precedence over stale signals. A crash
 * ends earlier hangs and slowdowns, and the planned ends of these then have no effect. Faults
 * between an instance and its routers (partitions and stale signals) continue during a crash.
 *
 * In a group of data-parallel ranks (cluster/units.h), all ranks fail, restart, and are reclaimed
 * together with the named rank. If they have a barrier, they also hang together. Slowdowns,
 * partitions, and cache losses affect only the named rank. Random faults occur on each rank as
 * often as on an instance.
 */
#ifndef BLIS_CLUSTER_FAULTS_FAULT_PLAN_H
#define BLIS_CLUSTER_FAULTS_FAULT_PLAN_H

#include "cluster/instances/life_cycle.h"

typedef enum blis_fault_kind {
  BLIS_FAULT_CRASH, /* cache and running work are lost */
  /* No step ends, and routers see its last signals until it is killed and restarted. */
  BLIS_FAULT_HANG,
  BLIS_FAULT_SLOW,       /* steps take `factor` times as long */
  BLIS_FAULT_PARTITION,  /* it works, but routers see its last signals */
  BLIS_FAULT_RECLAIM,    /* the instance receives a notice and is shut down notice_us later */
  BLIS_FAULT_STALE,      /* routers see signals that are updated only every period_us */
  BLIS_FAULT_LOST_CACHE, /* its prefix cache is emptied immediately */
  BLIS_FAULT_KIND_COUNT
} blis_fault_kind;

/* The effect of a fault. */
typedef struct blis_fault_effect {
  blis_fault_kind kind;
  /*
   * Time from the start of the fault (for a reclaim: from the shutdown) until the instance is
   * restored; BLIS_TIME_NEVER_US = never.
   */
  int64_t recover_us;
  int64_t recovering_us; /* last part of recover_us, in which the instance starts */
  double factor;         /* for BLIS_FAULT_SLOW, 1e-3 to 1e6 */
  int64_t notice_us;     /* for BLIS_FAULT_RECLAIM */
  /* For BLIS_FAULT_RECLAIM: the node is returned and not billed until the instance starts again on
     another node. */
  bool gives_back;
  int64_t period_us; /* for BLIS_FAULT_STALE, >= 1 */
  blis_loss loss;    /* how the requests on the lost instance are handled */
} blis_fault_effect;

typedef struct blis_fault {
  int64_t at_us;
  uint32_t instance;
  /* For BLIS_FAULT_RECLAIM: the instance is absent from the start, so nothing is reclaimed or
     recorded. */
  bool is_absence;
  blis_fault_effect effect;
} blis_fault;

/* A random fault. It occurs on each active instance once per mtbf_us on average. */
typedef struct blis_random_fault {
  double mtbf_us;   /* > 0 */
  int64_t instance; /* the affected instance; -1 = any */
  int64_t seed;     /* seed of its times and of the affected instances */
  blis_fault_effect effect;
} blis_random_fault;

/* The outcome of one fault. */
typedef struct blis_fault_note {
  int64_t time_us;
  uint32_t instance;
  blis_fault_kind kind;
  bool is_missed;     /* the instance was absent or not up */
  int64_t recover_us; /* of its effect; BLIS_TIME_NEVER_US = never */
  double factor;      /* of BLIS_FAULT_SLOW; otherwise 0 */
  int64_t lost;       /* requests lost at the start and at the end of the fault */
  int64_t rerouted;
  int64_t retried;
  int64_t recomputed_tokens; /* prompt and output tokens of rerouted and retried requests */
} blis_fault_note;

/* "crash", "hang", ...; static. */
const char *blis_fault_kind_name(blis_fault_kind kind);

/*
 * Sets the faults before the first event; copies its arguments. BLIS_ERR_INVALID names the index of
 * the invalid fault.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_faults(blis_cluster *cluster, const blis_fault *faults,
                                                 size_t count, const blis_random_fault *random,
                                                 size_t random_count, blis_error *error);

/*
 * Adds faults while the cluster runs; each fault starts at its time, which must be after
 * blis_cluster_now_us. Faults need not be in order. Copies its arguments. BLIS_ERR_INVALID like
 * blis_cluster_set_faults; nothing is changed in this case.
 */
BLIS_MUSTUSE blis_status blis_cluster_add_faults(blis_cluster *cluster, const blis_fault *faults,
                                                 size_t count, blis_error *error);

/* Stores the outcomes, in time order; borrowed. Returns false if no fault was set. */
bool blis_cluster_get_faults(const blis_cluster *cluster, const blis_fault_note **notes,
                             size_t *count);

#endif
