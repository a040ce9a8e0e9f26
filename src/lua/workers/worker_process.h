/*
 * worker_process.h - the parent's side of a forked worker: a process, and a socket for tasks and
 * results.
 */
#ifndef BLIS_LUA_WORKERS_WORKER_PROCESS_H
#define BLIS_LUA_WORKERS_WORKER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "lua/workers/worker_pool.h"

/* Header that precedes the text of a result on the socket. */
typedef struct blis__worker_header {
  int64_t task;
  uint32_t outcome; /* DONE, FAILED or NO_MEMORY */
  uint32_t length;
} blis__worker_header;

typedef struct blis__worker {
  pid_t process; /* 0 = none */
  int socket;
  bool is_busy;
  int64_t task;        /* current task, while busy */
  int64_t deadline_us; /* deadline of the task */
  blis_buffer input;   /* part of a result that has been received */
} blis__worker;

/*
 * Forks a worker. others[0 .. count) are the other workers of the pool, whose sockets it must not
 * keep. BLIS_ERR_IO with the system's reason.
 */
BLIS_MUSTUSE blis_status blis__worker_start(blis__worker *worker,
                                            const blis_worker_options *options,
                                            const blis__worker *others, int count,
                                            blis_error *error);

/* Sends a task; returns false if the worker is dead. */
bool blis__worker_send(blis__worker *worker, int64_t task);

typedef enum blis__worker_news {
  BLIS__WORKER_SILENT, /* the result is not complete */
  BLIS__WORKER_ANSWERED,
  BLIS__WORKER_GONE
} blis__worker_news;

/* Reads the available output, without waiting for more. */
blis__worker_news blis__worker_receive(blis__worker *worker);

/* The complete result in worker->input. */
void blis__worker_result(const blis__worker *worker, blis_worker_result *result);

/*
 * Ends the process and all processes that it started, and waits for it. If the process had already
 * ended, returns how (EXITED or KILLED) and sets *detail.
 */
blis_worker_outcome blis__worker_stop(blis__worker *worker, int *detail);

#endif
