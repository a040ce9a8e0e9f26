/*
 * generator.h - requests from a workload specification, one at a time.
 *
 * Every client has its own random stream and one waiting request. The earliest
 * request is next; at equal times, that of the client listed first. Requests,
 * numbers, and random draws match BLIS (Go, inference-sim f90a1e3a), which creates
 * all requests of all clients, sorts them stably, and cuts the list at
 * num_requests. A client's requests are in order, and a cut list needs at most
 * num_requests of one client. The rule that a client stops at twice that number
 * therefore changes nothing here.
 *
 * Memory is 5 KB per client (10 KB with lazy tokens), whatever the number of
 * requests. Token ids are not stored; the stream skips them, 512 + 512 tokens in
 * about 300 ns.
 *
 * Sessions, users, modalities, windows with their own rates, and stored tokens need
 * all requests beforehand. In these cases all requests are created at once and take
 * 56 bytes each. Rounds of closed-loop sessions are not among them: the source
 * creates them when the end of a request is reported.
 */
#ifndef BLIS_WORKLOAD_GENERATE_GENERATOR_H
#define BLIS_WORKLOAD_GENERATE_GENERATOR_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/generate/sessions.h"
#include "workload/request.h"
#include "workload/spec/workload_spec.h"

/* Token ids are drawn from 0 to this, exclusive. */
#define BLIS_GENERATOR_VOCABULARY 128000

typedef struct blis_generator blis_generator;

/*
 * Checks the specification and copies the necessary parts; the caller owns the
 * generator. Copies *alloc. BLIS_ERR_INVALID names client, key, value, and the
 * allowed values.
 */
BLIS_MUSTUSE blis_status blis_generator_new(const blis_alloc *alloc, const blis_workload_spec *spec,
                                            blis_generator **generator, blis_error *error);

/* Frees the generator and the segments of its requests. NULL is allowed. */
void blis_generator_free(blis_generator *generator);

/*
 * The requests not yet taken, as a source that borrows the generator. Taking
 * one fails with BLIS_ERR_INVALID when a length is above
 * BLIS_WORKLOAD_MAX_TOKENS.
 */
blis_request_source blis_generator_source(blis_generator *generator);

/*
 * Writes the token ids of the source's last request, follow-ups included, to prompt
 * (prompt_tokens of them) and output (output_tokens). Costs 2 ns per token.
 * BLIS_ERR_INVALID if no request was taken yet, tokens are lazy, or requests were
 * made at once without keep_tokens.
 */
BLIS_MUSTUSE blis_status blis_generator_tokens(const blis_generator *generator, int32_t *prompt,
                                               int32_t *output, blis_error *error);

#endif
