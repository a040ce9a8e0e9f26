/*
 * timestamp.h - parses timestamps; for trace files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_FORMATS_TIMESTAMP_H
#define BLIS_WORKLOAD_TRACE_FORMATS_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/*
 * Parses a time such as "2023-11-16 18:15:46.6805900" or "2024-05-10T00:00:00+01:00" into
 * nanoseconds since 1970. Returns false if the text is not a time from 1970 to 2199.
 */
bool blis__trace_parse_timestamp(blis_slice text, int64_t *time_ns);

#endif
