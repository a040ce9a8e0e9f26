#include "results/load_log.h"

void blis_load_log_init(blis_load_log *log, const blis_alloc *alloc,
                        size_t most) {
  *log = (blis_load_log){.alloc = *alloc, .most = most};
}

void blis_load_log_deinit(blis_load_log *log) {
  if (log->alloc.fn != NULL) {
    blis_array_deinit(&log->alloc, &log->loads);
    blis_array_deinit(&log->alloc, &log->moves);
  }
  *log = (blis_load_log){0};
}

static blis_status add_load(void *ud, uint32_t instance,
                            const blis_adapter_load *load, blis_error *error) {
  blis_load_log *log = ud;
  const blis_logged_load logged = {instance, *load};
  if (log->loads.count == log->most) {
    log->left_out++;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->loads, logged), error);
  return BLIS_OK;
}

static blis_status add_move(void *ud, const blis_kv_move *move,
                            blis_error *error) {
  blis_load_log *log = ud;
  if (log->moves.count == log->most) {
    log->left_out++;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->moves, *move), error);
  return BLIS_OK;
}

blis_load_sink blis_load_log_sink(blis_load_log *log) {
  return (blis_load_sink){.ud = log, .adapter = add_load, .moved = add_move};
}
