/*
 * engine.h - the interface of the engines of a blis_instance.
 *
 * An engine is a set of functions and a state. instance.c checks the configuration,
 * creates the configured engine, and passes on every call of instance.h, so the
 * contracts of instance.h apply.
 */
#ifndef BLIS_INSTANCE_PARTS_ENGINE_H
#define BLIS_INSTANCE_PARTS_ENGINE_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "instance/config/instance_stats.h"
#include "instance/parts/adapters.h"
#include "instance/parts/power.h"
#include "instance/parts/remote_kv.h"
#include "kv/block_journal.h"

/*
 * Classes of the events of an instance, in the order of execution at equal times. The numbers match
 * BLIS (Go), where 4 means that a request was scheduled.
 */
enum {
  BLIS__EVENT_ARRIVAL = 0, /* a request was delivered */
  BLIS__EVENT_QUEUED = 1,  /* it reaches the wait queue */
  BLIS__EVENT_LOADED = 2,  /* an adapter is loaded (adapters.h) */
  BLIS__EVENT_STEP = 3,
  BLIS__EVENT_LEFT = 5, /* the last step of a request ends: moves the clock */
  BLIS__EVENT_TIMEOUT = 6
};

typedef struct blis__engine_ops {
  void (*free)(void *state);
  blis_status (*inject)(void *state, blis_live_request *request, int64_t now_us, blis_error *error);
  blis_status (*reserve)(void *state, blis_live_request *request, const blis_kv_demand *demand,
                         int64_t *cached_tokens, bool *is_done, blis_error *error);
  blis_status (*activate)(void *state, blis_live_request *request, const blis_kv_arrival *arrival,
                          int64_t now_us, blis_error *error);
  blis_status (*loaded)(void *state, blis_live_request *request, uint32_t end, int64_t now_us,
                        blis_error *error);
  /* Sets a new deadline, which is later than every executed event. */
  blis_status (*leave_at)(void *state, blis_live_request *request, int64_t deadline_us,
                          blis_error *error);
  blis_status (*evict)(void *state, blis_live_request *request, int64_t now_us, blis_error *error);
  int64_t (*next_us)(const void *state);
  int64_t (*next_work_us)(const void *state); /* NULL = next_us */
  blis_status (*run_next)(void *state, int64_t limit_us, bool *clock_moved, blis_error *error);
  void (*get_stats)(const void *state, blis_instance_stats *stats);
  blis_instance_load (*get_load)(const void *state);
  const blis_draft_stats *(*drafts)(const void *state); /* NULL = none */
  uint32_t (*cached_blocks)(const void *state, const blis_block_chain *chain);
  /* Sets the borrowed journal of the prefix table; cached_blocks_at_mark reads it. */
  void (*set_journal)(void *state, blis_block_journal *journal);
  uint32_t (*cached_blocks_at_mark)(const void *state, const blis_block_chain *chain);
  /* Empties the prefix cache. Requests keep the blocks that they hold. */
  blis_status (*forget)(void *state, blis_error *error);
  /* Called when the duration of later steps changes; NULL = not needed. */
  void (*retime)(void *state);
  /* For gates, see instance.h. NULL = the engine does not support gates. */
  int64_t (*open_us)(const void *state);
  blis_status (*go_on)(void *state, int64_t step_us, blis_error *error);
  blis_status (*be_busy)(void *state, int64_t start_us, int64_t us, blis_error *error);
  /* Stops all steps: none ends or begins afterwards. */
  blis_status (*hang)(void *state, blis_error *error);
  blis_status (*close)(void *state, blis_error *error);
  bool (*check)(const void *state);
} blis__engine_ops;

/* What forms the batches of the stepwise engine, stepwise/serving.h. */
typedef struct blis__serving_ops blis__serving_ops;

typedef struct blis__engine {
  const blis__engine_ops *ops;
  void *state;
} blis__engine;

/*
 * Fills *engine, which the caller owns. config must have been checked. config, adapters, and power
 * are borrowed and must stay at the same address for the lifetime of the engine. adapters and power
 * are NULL if config does not have them. Copies *alloc and *events.
 */
BLIS_MUSTUSE blis_status blis__stepwise_new(const blis_alloc *alloc,
                                            const blis_instance_config *config,
                                            const blis_instance_events *events,
                                            blis__adapters *adapters, blis__power *power,
                                            const blis__serving_ops *serving, blis__engine *engine,
                                            blis_error *error);
BLIS_MUSTUSE blis_status blis__fast_new(const blis_alloc *alloc, const blis_instance_config *config,
                                        const blis_instance_events *events,
                                        blis__adapters *adapters, blis__power *power,
                                        blis__engine *engine, blis_error *error);

#endif
