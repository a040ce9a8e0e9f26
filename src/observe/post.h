/*
 * post.h - a conversation with an HTTP service: a JSON body in, a JSON body out, one at a time.
 *
 * The connection is kept between questions. Answers of more than 1 MiB are errors.
 */
#ifndef BLIS_OBSERVE_POST_H
#define BLIS_OBSERVE_POST_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct blis_post blis_post;

/* Copies url; connects with the first question. BLIS_ERR_IO: libcurl is not installed. */
BLIS_MUSTUSE blis_status blis_post_new(const blis_alloc *alloc, const char *url, blis_post **post,
                                       blis_error *error);
/* NULL is allowed. */
void blis_post_free(blis_post *post);

/*
 * Sends a question and waits for its answer, which is valid until the next one. BLIS_ERR_IO: there
 * is no connection, the answer takes longer than timeout_ms, or its status is not 200.
 */
BLIS_MUSTUSE blis_status blis_post_ask(blis_post *post, blis_slice question, int64_t timeout_ms,
                                       blis_slice *answer, blis_error *error);

#endif
