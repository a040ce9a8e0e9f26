#include "lua/simulation/future.h"

#include "lua/bind/bind.h"

static blis_status read_all(bind_future *f, blis_error *error) {
  const blis_request_source *source = &f->source.source;
  if (source->ended != NULL) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "autoscaler oracle: requests of this workload depend on responses, so their "
                     "arrival times are unknown in advance; set closed_loop = false for sessions, "
                     "or session_mode = 'fixed' for a trace");
  }
  blis_request request;
  bool done = false;
  for (;;) {
    BLIS_TRY(source->next(source->state, &request, &done, error));
    if (done) {
      return BLIS_OK;
    }
    const blis_scale_arrival arrival = {.time_us = request.arrival_us,
                                        .prompt_tokens = request.prompt_tokens,
                                        .output_tokens = request.output_tokens};
    if (source->release != NULL) {
      source->release(source->state, &request);
    }
    BLIS_TRY_MEM(blis_array_push(&f->alloc, &f->arrivals, arrival), error);
  }
}

void check_future(lua_State *L, int index, bind_future *future) {
  future->alloc = bind_alloc(L);
  check_source(L, index, NULL, &future->source);
  blis_error error = {0};
  check_status(L, read_all(future, &error), &error);
  bind_source_close(&future->source);
  future->future = (blis_scale_future){future->arrivals.items, future->arrivals.count};
}

void bind_future_close(bind_future *future) {
  bind_source_close(&future->source);
  if (future->arrivals.items != NULL) {
    blis_array_deinit(&future->alloc, &future->arrivals);
  }
}
