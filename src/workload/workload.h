/*
 * workload.h - a list of requests in memory, in order of arrival.
 *
 * It is built once, for example by a trace reader, and never changes after it is sealed. Any number
 * of simulations can therefore read it at the same time, each through its own source. A request
 * takes 152 bytes (8 more if requests were added in a different order), and a segment 16 bytes.
 */
#ifndef BLIS_WORKLOAD_WORKLOAD_H
#define BLIS_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/intern.h"
#include "base/error.h"
#include "workload/goodput.h"
#include "workload/request.h"

/*
 * The largest number of tokens that a prompt or an output may have, chosen so that sums of a few
 * lengths fit all integer types.
 */
#define BLIS_WORKLOAD_MAX_TOKENS 1000000000

typedef struct blis_workload blis_workload;

/* Creates an empty, unsealed workload, which the caller owns. Copies *alloc. NULL = out of
   memory. */
blis_workload *blis_workload_new(const blis_alloc *alloc);

/* Frees a workload; none of its sources may be used afterwards. NULL is allowed. */
void blis_workload_free(blis_workload *workload);

/* Building: only before blis_workload_seal. */

/* Returns the number of a string in the workload's string table. */
BLIS_MUSTUSE blis_status blis_workload_text(blis_workload *workload, const char *text,
                                            size_t length, uint32_t *id);

/*
 * Appends a copy of *request and of its segments. shared_tokens must be the sum of
 * their lengths. BLIS_ERR_NOMEM leaves the workload unchanged.
 */
BLIS_MUSTUSE blis_status blis_workload_add(blis_workload *workload, const blis_request *request);

/*
 * Adds a note for the user about the input that is not an error.
 */
BLIS_MUSTUSE blis_status blis_workload_note(blis_workload *workload, const char *format, ...)
    BLIS_PRINTF(2, 3);

/* Adds a target that applied to the requests at their origin. Copied. */
BLIS_MUSTUSE blis_status blis_workload_add_target(blis_workload *workload,
                                                  const blis_goodput_target *target);

/*
 * Declares that lengths of later rounds count only their new tokens. The prompt
 * starts with all earlier prompts and answers of the session.
 */
void blis_workload_let_sessions_grow(blis_workload *workload);

/* Sets a short description of the content and origin. Copied. */
BLIS_MUSTUSE blis_status blis_workload_describe(blis_workload *workload, const char *format, ...)
    BLIS_PRINTF(2, 3);

/*
 * Copies from another workload its strings with their numbers, its description, notes, and targets,
 * and whether sessions grow. Call it before anything else is added.
 */
BLIS_MUSTUSE blis_status blis_workload_take_texts(blis_workload *workload,
                                                  const blis_workload *from);

/*
 * Completes the workload: sorts the requests by arrival, and for equal arrivals by order of
 * addition. BLIS_ERR_NOMEM leaves the workload unchanged.
 */
BLIS_MUSTUSE blis_status blis_workload_seal(blis_workload *workload);

/* Reading: only after blis_workload_seal. */

size_t blis_workload_count(const blis_workload *workload);

/* Returns request index < count in order of arrival, valid as long as the workload. */
const blis_request *blis_workload_request(const blis_workload *workload, size_t index);

/*
 * Returns the index of the request that was added as number place < count, from 0. This gives
 * access in file order instead of time order.
 */
size_t blis_workload_added(const blis_workload *workload, size_t place);

/*
 * Returns the table of the requests' string numbers; borrowed. A run may add strings; this does not
 * change any request.
 */
blis_intern *blis_workload_strings(const blis_workload *workload);

bool blis_workload_sessions_grow(const blis_workload *workload);

/* Returns the description; never NULL. */
const char *blis_workload_description(const blis_workload *workload);

size_t blis_workload_note_count(const blis_workload *workload);
const char *blis_workload_note_text(const blis_workload *workload, size_t index);

size_t blis_workload_target_count(const blis_workload *workload);
const blis_goodput_target *blis_workload_targets(const blis_workload *workload);

/* The position of one reader. May be copied to read from the same position twice. */
typedef struct blis_workload_cursor {
  const blis_workload *workload;
  size_t next;
} blis_workload_cursor;

/*
 * Returns a source of all requests. Initializes *cursor, which the caller stores. The source
 * borrows the cursor and the workload.
 */
blis_request_source blis_workload_source(const blis_workload *workload,
                                         blis_workload_cursor *cursor);

/*
 * Creates a new, sealed workload of at most limit requests, starting with index first. Requests
 * keep their numbers and times. Descriptions, notes, and targets are copied.
 */
BLIS_MUSTUSE blis_status blis_workload_slice(const blis_alloc *alloc, const blis_workload *workload,
                                             size_t first, size_t limit, blis_workload **slice,
                                             blis_error *error);

/*
 * Creates a new, sealed workload from at most limit next requests of a source. Returns the source's
 * errors and BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_workload_collect(const blis_alloc *alloc,
                                               const blis_request_source *source, size_t limit,
                                               blis_workload **workload, blis_error *error);

#endif
