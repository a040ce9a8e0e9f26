#include "lua/bind/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t requested;
static volatile sig_atomic_t is_held;

bool blis_interrupt_requested(void) {
  return requested != 0;
}

void blis_interrupt_raise(void) {
  requested = 1;
}

void blis_interrupt_clear(void) {
  requested = 0;
}

void blis_interrupt_hold(bool hold) {
  is_held = hold;
}

bool blis_interrupt_is_held(void) {
  return is_held != 0;
}
