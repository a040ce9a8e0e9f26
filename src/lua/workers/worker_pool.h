/*
 * worker_pool.h - forked processes that execute numbered tasks.
 *
 * Each task is handed to the next free worker; a socket returns the output of the task. A worker is
 * forked when a task finds no free worker. It copies the process at that time, so it has everything
 * that was loaded before, in memory that is shared until one side writes to it. A worker executes
 * one task at a time. It is replaced if it dies, hangs, or runs out of memory. Its task is reported
 * with the reason; other tasks are not affected.
 *
 * In a worker, standard output is redirected to standard error, and standard input is empty. A
 * worker ends when its parent does. It runs no exit handlers and does not flush output that the
 * parent has buffered.
 *
 * Handing out a task costs about 6 us. Forking a worker costs about 0.3 ms, plus 29 ms per GB of
 * the process in pages of 4 KB.
 */
#ifndef BLIS_LUA_WORKERS_WORKER_POOL_H
#define BLIS_LUA_WORKERS_WORKER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/slice.h"

enum { BLIS_WORKERS_MAX = 1024 };

typedef enum blis_worker_outcome {
  BLIS_WORKER_DONE,      /* the text is the output of the task */
  BLIS_WORKER_FAILED,    /* the text is the reason */
  BLIS_WORKER_NO_MEMORY, /* out of memory; the text is the reason */
  BLIS_WORKER_EXITED,    /* detail is the exit status */
  BLIS_WORKER_KILLED,    /* detail is the signal */
  BLIS_WORKER_TIMEOUT    /* killed by the pool */
} blis_worker_outcome;

/*
 * Executes a task inside a worker: writes to *text and returns DONE, FAILED, or NO_MEMORY. After
 * NO_MEMORY the worker is not reused.
 */
typedef blis_worker_outcome (*blis_worker_fn)(void *ud, int64_t task, blis_buffer *text);

typedef struct blis_worker_options {
  int jobs;                   /* maximum number of concurrent workers, at least 1 */
  int64_t time_limit_us;      /* wall-clock limit of a task; 0 = none */
  int64_t memory_limit_bytes; /* memory of a worker in addition to the memory of the process; 0 =
                                 no limit */
  bool is_fresh;              /* forks a new process for each task, a copy of this process when
                                 the task starts */
  blis_worker_fn work;
  void *ud; /* borrowed, passed to work */
} blis_worker_options;

typedef struct blis_worker_result {
  int64_t task;
  blis_worker_outcome outcome;
  int detail;
  blis_slice text; /* valid until the next call */
} blis_worker_result;

typedef struct blis_worker_pool blis_worker_pool;

/* Starts no process yet. The caller owns *pool; *alloc is copied. */
BLIS_MUSTUSE blis_status blis_worker_pool_new(const blis_alloc *alloc,
                                              const blis_worker_options *options,
                                              blis_worker_pool **pool, blis_error *error);

/* Kills the workers, which discards unfinished tasks. NULL is allowed. */
void blis_worker_pool_free(blis_worker_pool *pool);

/*
 * Appends a task to the queue. time_limit_us is the limit of this task, counted from its start in a
 * worker; 0: the limit of the options.
 */
BLIS_MUSTUSE blis_status blis_worker_pool_submit(blis_worker_pool *pool, int64_t task,
                                                 int64_t time_limit_us, blis_error *error);

/*
 * Removes a waiting task, or ends the process that executes it; nothing is reported for it. Returns
 * false if the pool does not have the task.
 */
bool blis_worker_pool_cancel(blis_worker_pool *pool, int64_t task);

/* Returns the number of tasks that were submitted and not reported. */
size_t blis_worker_pool_pending(const blis_worker_pool *pool);

/* Other events that end a wait. */
typedef struct blis_worker_watch {
  bool for_input;  /* standard input is readable or has ended */
  bool for_output; /* standard output is writable */
} blis_worker_watch;

/*
 * Hands out tasks and waits for one to end. *has_result is false in these cases:
 * - No task ended within timeout_us (negative: no limit).
 * - No task is pending and watched is NULL.
 * - The watched event happened.
 * - A signal arrived.
 * Returns BLIS_ERR_IO if no process can be started.
 */
BLIS_MUSTUSE blis_status blis_worker_pool_wait(blis_worker_pool *pool, int64_t timeout_us,
                                               const blis_worker_watch *watch,
                                               blis_worker_result *result, bool *has_result,
                                               blis_error *error);

#endif
