/*
 * child_process.h - a user command that responds to queries: one line on its standard input, one
 * line on its standard output.
 *
 * Results depend on whether a response arrives, not on how long it takes. A run that receives all
 * responses is as deterministic as the command.
 */
#ifndef BLIS_LUA_WORKERS_CHILD_PROCESS_H
#define BLIS_LUA_WORKERS_CHILD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/slice.h"

enum { BLIS_ANSWER_MAX_BYTES = 1 << 20 };

typedef struct blis_child_process {
  int64_t process; /* 0 = none */
  int64_t owner;   /* the process that started the child; only it may stop the child */
  int socket;      /* standard input and output of the child; it shares our standard error */
  blis_buffer heard;
} blis_child_process;

/*
 * Starts the command with /bin/sh, in a separate process group. *child must be zeroed. Errors:
 * BLIS_ERR_IO, BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_child_start(blis_child_process *child, const char *command,
                                          const blis_alloc *alloc, blis_error *error);

/*
 * Sends a line and waits for a response line. *answer, without its line end, is valid until the
 * next call. Returns BLIS_ERR_IO and stops the child if it ends, exceeds timeout_ms, or responds
 * with several lines or a line that is too long. Returns BLIS_ERR_INTERRUPTED after an interrupt.
 */
BLIS_MUSTUSE blis_status blis_child_ask(blis_child_process *child, blis_slice line,
                                        int64_t timeout_ms, blis_slice *answer, blis_error *error);

/*
 * Closes the child's standard input. If the child still runs a second later, kills it and all
 * processes that it started. Idempotent.
 */
void blis_child_stop(blis_child_process *child);

#endif
