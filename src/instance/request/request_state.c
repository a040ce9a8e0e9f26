#include "instance/request/live_request.h"

const char *blis_request_state_name(blis_request_state state) {
  static const char *const names[BLIS_REQUEST_STATE_COUNT] = {
#define XX(constant, name, better, text) [BLIS_REQUEST_##constant] = #name,
      BLIS_REQUEST_STATE_MAP(XX)
#undef XX
  };
  return names[state];
}
