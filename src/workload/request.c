#include "workload/request.h"

#include <inttypes.h>
#include <stdio.h>

const char *blis_request_id(const blis_request *request,
                            const blis_intern *strings,
                            char id[BLIS_REQUEST_ID_SIZE]) {
  if (request->number >= 0) {
    snprintf(id, BLIS_REQUEST_ID_SIZE, "request_%" PRId64, request->number);
  } else {
    snprintf(id, BLIS_REQUEST_ID_SIZE, "session_%s_round_%" PRId32 "_%" PRId64,
             blis_intern_text(strings, request->session), request->round_index,
             -request->number);
  }
  return id;
}
