/*
 * child_process.h - a command of the user that answers questions: a line on its standard input, a
 * line on its standard output.
 *
 * Results depend on whether an answer arrives, not on how long it takes. A run that receives all
 * answers is as deterministic as the command.
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
  int64_t owner;   /* the process that has started it: the only one to end it */
  int socket;      /* both of its standard streams; errors go where ours go */
  blis_buffer heard;
} blis_child_process;

/*
 * Starts the command with /bin/sh, in a separate process group. *child must be zeroed. BLIS_ERR_IO,
 * BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_child_start(blis_child_process *child, const char *command,
                                          const blis_alloc *alloc, blis_error *error);

/*
 * Sends a line and waits for an answer line. *answer, without its line end, is valid until the next
 * call. BLIS_ERR_IO if the child ends, exceeds timeout_ms, or answers with several lines or too
 * long a line; the child is stopped then. BLIS_ERR_INTERRUPTED.
 */
BLIS_MUSTUSE blis_status blis_child_ask(blis_child_process *child, blis_slice line,
                                        int64_t timeout_ms, blis_slice *answer, blis_error *error);

/*
 * Closes its standard input, and kills it, with all that it has started, when
 * it is still there a second later. Idempotent.
 */
void blis_child_stop(blis_child_process *child);

#endif
