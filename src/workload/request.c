#include "workload/request.h"

#include <inttypes.h>
#include <stdio.h>

const char *blis_request_id_of(int64_t number, const char *session, int32_t round_index,
                               char id[BLIS_REQUEST_ID_SIZE]) {
  if (number >= 0) {
    snprintf(id, BLIS_REQUEST_ID_SIZE, "request_%" PRId64, number);
  } else {
    snprintf(id, BLIS_REQUEST_ID_SIZE, "session_%s_round_%" PRId32 "_%" PRId64, session,
             round_index, -number);
  }
  return id;
}

const char *blis_request_id(const blis_request *request, const blis_intern *strings,
                            char id[BLIS_REQUEST_ID_SIZE]) {
  return blis_request_id_of(request->number, blis_intern_text(strings, request->session),
                            request->round_index, id);
}
