/*
 * generator.h - requests from a workload specification, one at a time.
 *
 * Every client has its own random stream and one pending request. The earliest pending request is
 * returned next; at equal times, the one from the client that is listed first. Requests, numbers,
 * and random draws match BLIS (Go, inference-sim f90a1e3a), which creates all requests of all
 * clients, sorts them stably, and cuts the list at num_requests. A client's requests are in order,
 * and a truncated list needs at most num_requests of one client. In BLIS (Go) a client stops at
 * twice that number; this rule has no effect here.
 *
 * Memory is 5 KB per client (10 KB with lazy tokens), regardless of the number of requests. Token
 * ids are not stored. The stream skips them, in about 300 ns for 512 + 512 tokens.
 *
 * Sessions, users, modalities, windows with their own rates, and stored tokens require that all
 * requests are created in advance, at 56 bytes each. The exception is rounds of closed-loop
 * sessions: the source creates a round when the end of the previous request is reported.
 */
#ifndef BLIS_WORKLOAD_GENERATE_GENERATOR_H
#define BLIS_WORKLOAD_GENERATE_GENERATOR_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/generate/sessions.h"
#include "workload/request.h"
#include "workload/spec/workload_spec.h"

/* Token ids are drawn from 0 (inclusive) to this number (exclusive). */
#define BLIS_GENERATOR_VOCABULARY 128000

typedef struct blis_generator blis_generator;

/*
 * Checks the specification and copies the necessary parts; the caller owns the generator. Copies
 * *alloc. The message of BLIS_ERR_INVALID contains the client, the key, the value, and the allowed
 * values.
 */
BLIS_MUSTUSE blis_status blis_generator_new(const blis_alloc *alloc, const blis_workload_spec *spec,
                                            blis_generator **generator, blis_error *error);

/* Frees the generator and the segments of its requests. NULL is allowed. */
void blis_generator_free(blis_generator *generator);

/*
 * Returns the remaining requests as a source that borrows the generator. Taking a request fails
 * with BLIS_ERR_INVALID if a length is above BLIS_WORKLOAD_MAX_TOKENS.
 */
blis_request_source blis_generator_source(blis_generator *generator);

/*
 * Writes the token ids of the source's last request, which may be a follow-up, to prompt
 * (prompt_tokens of them) and output (output_tokens). Costs 2 ns per token. Returns
 * BLIS_ERR_INVALID if no request was taken yet, tokens are lazy, or requests were created in
 * advance without keep_tokens.
 */
BLIS_MUSTUSE blis_status blis_generator_tokens(const blis_generator *generator, int32_t *prompt,
                                               int32_t *output, blis_error *error);

#endif
