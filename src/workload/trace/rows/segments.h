/*
 * segments.h - the shared content of a prompt as text, an addition of our own
 * to the trace formats; for trace files only.
 *
 *   7:512 8:512 9:64@128
 *
 * is 512 tokens of stream 7 from its start, 512 of stream 8, then 64 of stream
 * 9 from its token 128 on. A "+" at the end says that the output goes on in the
 * last stream (shares_output of a request), "++" that its last token does, too
 * (shares_last_output).
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
 * Appends the segments of a text to the list and sets segment_count,
 * shared_tokens, shares_output and shares_last_output of the request, whose
 * prompt_tokens are known; its segments are left to the caller, for the list
 * may still move. BLIS_ERR_NOMEM, or BLIS_ERR_PARSE with what is wrong in
 * fault, to be put behind the text.
 */
BLIS_MUSTUSE blis_status blis__trace_parse_segments(const blis_alloc *alloc, blis_slice text,
                                                    blis__segment_list *list, blis_request *request,
                                                    char fault[BLIS__SEGMENTS_FAULT_SIZE]);

/*
 * Appends the segments of a request as text. Streams become 1, 2, 3, ... in the
 * order in which they are first written: numbers holds those given so far.
 */
BLIS_MUSTUSE blis_status blis__trace_write_segments(blis_buffer *buffer, blis_map *numbers,
                                                    const blis_request *request);

#endif
