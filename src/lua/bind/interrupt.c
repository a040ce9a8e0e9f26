#include "lua/bind/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t requested;

bool blis_interrupt_requested(void) {
  return requested != 0;
}

void blis_interrupt_raise(void) {
  requested = 1;
}

void blis_interrupt_clear(void) {
  requested = 0;
}
