/*
 * fault_plan.h - planned faults of a run, and random ones.
 *
 * Several faults may be active at one instance. A fault at an instance that is
 * removed or down has no effect and is recorded as missed. Factors of step times
 * multiply. If several faults affect signals, the longest one applies; a partition
 * takes precedence over stale signals. A crash ends earlier hangs and slowdowns,
 * and their end has no effect. Faults between an instance and its routers
 * (partitions and stale signals) continue through a crash.
 *
 * In a group of data-parallel ranks (cluster/units.h), all ranks fail, restart, and
 * are reclaimed with the named rank, and hang with it if they have a barrier.
 * Slowdowns, partitions, and cache losses affect only the named rank. Random faults
 * strike each rank as often as an instance.
 */
#ifndef BLIS_CLUSTER_FAULTS_FAULT_PLAN_H
#define BLIS_CLUSTER_FAULTS_FAULT_PLAN_H

#include "cluster/instances/life_cycle.h"

typedef enum blis_fault_kind {
  BLIS_FAULT_CRASH,      /* cache and running work are lost */
  BLIS_FAULT_HANG,       /* no step ends, and routers see its last signals, until
                            it is killed and comes back */
  BLIS_FAULT_SLOW,       /* steps take factor times as long */
  BLIS_FAULT_PARTITION,  /* it works, and routers see its last signals */
  BLIS_FAULT_RECLAIM,    /* told to go, and switched off notice_us later */
  BLIS_FAULT_STALE,      /* routers see its signals of every period_us */
  BLIS_FAULT_LOST_CACHE, /* its prefix cache is emptied, at once */
  BLIS_FAULT_KIND_COUNT
} blis_fault_kind;

/* The effect of a fault. */
typedef struct blis_fault_effect {
  blis_fault_kind kind;
  /*
   * Time from its beginning (for a reclaim: from the shutdown) until the instance
   * is restored; BLIS_TIME_NEVER_US = never.
   */
  int64_t recover_us;
  int64_t recovering_us; /* the last part of that, in which it starts */
  double factor;         /* of BLIS_FAULT_SLOW, 1e-3 to 1e6 */
  int64_t notice_us;     /* of BLIS_FAULT_RECLAIM */
  /* For BLIS_FAULT_RECLAIM: the machine is returned, and is not paid until the instance starts
     again on another machine. */
  bool gives_back;
  int64_t period_us; /* of BLIS_FAULT_STALE, >= 1 */
  blis_loss loss;    /* how the requests that it ends are handled */
} blis_fault_effect;

typedef struct blis_fault {
  int64_t at_us;
  uint32_t instance;
  /* For BLIS_FAULT_RECLAIM: the instance is absent since the start, so nothing is reclaimed and
     nothing is noted. */
  bool is_absence;
  blis_fault_effect effect;
} blis_fault;

/* Each instance that serves suffers it once in mtbf_us on average. */
typedef struct blis_random_fault {
  double mtbf_us;   /* > 0 */
  int64_t instance; /* the only instance; -1 = any */
  int64_t seed;     /* of its times and of who suffers it */
  blis_fault_effect effect;
} blis_random_fault;

/* The outcome of one fault. */
typedef struct blis_fault_note {
  int64_t time_us;
  uint32_t instance;
  blis_fault_kind kind;
  bool is_missed; /* the instance was absent or not up */
  int64_t lost;   /* requests, at its beginning and its end */
  int64_t rerouted;
  int64_t retried;
  int64_t recomputed_tokens; /* prompt and output, of these */
} blis_fault_note;

/* "crash", "hang", ...; static. */
const char *blis_fault_kind_name(blis_fault_kind kind);

/*
 * Sets the faults before the first event; copies its arguments. BLIS_ERR_INVALID
 * names the fault that is out of range, by its place.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_faults(blis_cluster *cluster, const blis_fault *faults,
                                                 size_t count, const blis_random_fault *random,
                                                 size_t random_count, blis_error *error);

/*
 * Adds faults while the cluster runs; each happens at its time, which is after blis_cluster_now_us
 * and need not be in order. Copies its arguments. BLIS_ERR_INVALID as before; nothing has changed
 * then.
 */
BLIS_MUSTUSE blis_status blis_cluster_add_faults(blis_cluster *cluster, const blis_fault *faults,
                                                 size_t count, blis_error *error);

/* In order of time; borrowed. False: none was set. */
bool blis_cluster_get_faults(const blis_cluster *cluster, const blis_fault_note **notes,
                             size_t *count);

#endif
