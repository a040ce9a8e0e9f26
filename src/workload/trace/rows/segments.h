/*
 * segments.h - the shared content of a prompt as text, an extension of the trace formats by blis;
 * for trace files only.
 *
 * Example:
 *
 *   7:512 8:512 9:64@128
 *
 * This means 512 tokens of stream 7 from its start, 512 of stream 8, and 64 of stream 9 starting at
 * its token 128. A "+" at the end means that the output continues the last stream (shares_output of
 * a request). A "++" means that this includes the last output token (shares_last_output).
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_SEGMENTS_H
#define BLIS_WORKLOAD_TRACE_ROWS_SEGMENTS_H

#include <stdint.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/containers/map.h"
#include "workload/request.h"

typedef BLIS_ARRAY(blis_segment) blis__segment_list;

enum { BLIS__SEGMENTS_FAULT_SIZE = 120 };

/*
 * Appends the segments of text to the list and sets segment_count, shared_tokens, shares_output,
 * and shares_last_output of the request, whose prompt_tokens must be set. The caller sets
 * `segments` of the request, because the list may still move. Returns BLIS_ERR_NOMEM, or
 * BLIS_ERR_PARSE with a description in fault, which messages append to the text.
 */
BLIS_MUSTUSE blis_status blis__trace_parse_segments(const blis_alloc *alloc, blis_slice text,
                                                    blis__segment_list *list, blis_request *request,
                                                    char fault[BLIS__SEGMENTS_FAULT_SIZE]);

/*
 * Appends the segments of a request as text. Streams are numbered 1, 2, 3, ... in the order in
 * which they are first written; `numbers` stores the assignment.
 */
BLIS_MUSTUSE blis_status blis__trace_write_segments(blis_buffer *buffer, blis_map *numbers,
                                                    const blis_request *request);

#endif
