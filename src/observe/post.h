/*
 * post.h - sends JSON queries to an HTTP service and receives JSON responses, one at a time.
 *
 * The connection stays open between queries. Responses of more than 1 MiB are errors.
 */
#ifndef BLIS_OBSERVE_POST_H
#define BLIS_OBSERVE_POST_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct blis_post blis_post;

/* Copies url; connects with the first query. Returns BLIS_ERR_IO if libcurl is not installed. */
BLIS_MUSTUSE blis_status blis_post_new(const blis_alloc *alloc, const char *url, blis_post **post,
                                       blis_error *error);
/* NULL is allowed. */
void blis_post_free(blis_post *post);

/*
 * Sends a query and waits for its response, which is valid until the next call. Returns BLIS_ERR_IO
 * if there is no connection, the response takes longer than timeout_ms, or its status is not 200.
 */
BLIS_MUSTUSE blis_status blis_post_ask(blis_post *post, blis_slice question, int64_t timeout_ms,
                                       blis_slice *answer, blis_error *error);

#endif
