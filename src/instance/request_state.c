#include "instance/live_request.h"

const char *blis_request_state_name(blis_request_state state) {
  static const char *const names[BLIS_REQUEST_STATE_COUNT] = {
      [BLIS_REQUEST_ARRIVED] = "still_arriving",
      [BLIS_REQUEST_QUEUED] = "still_queued",
      [BLIS_REQUEST_RUNNING] = "still_running",
      [BLIS_REQUEST_COMPLETED] = "completed",
      [BLIS_REQUEST_LENGTH_CAPPED] = "length_capped",
      [BLIS_REQUEST_TIMED_OUT] = "timed_out",
      [BLIS_REQUEST_UNSERVABLE] = "unservable",
      [BLIS_REQUEST_FAILED] = "failed",
      [BLIS_REQUEST_REJECTED] = "rejected",
  };
  return names[state];
}
