/*
 * interrupt.h - the flag by which Ctrl-C reaches a running simulation.
 *
 * A signal handler has no argument through which it could find its program. So this flag, with
 * whether it is heeded, is the one mutable global of the project. The host raises it. Long loops in
 * C poll it and return BLIS_ERR_INTERRUPTED. Under stock Lua the flag is never raised.
 */
#ifndef BLIS_LUA_BIND_INTERRUPT_H
#define BLIS_LUA_BIND_INTERRUPT_H

#include <stdbool.h>

/* True between an interrupt and the next clearing of it. One load. */
bool blis_interrupt_requested(void);

/* Safe in a signal handler. */
void blis_interrupt_raise(void);

/* Clears the flag, for a prompt that continues after an interrupt. */
void blis_interrupt_clear(void);

/*
 * Delays interrupts between hold(true) and hold(false), so short Lua code that is not the script's
 * runs to its end. The caller then handles the interrupt.
 */
void blis_interrupt_hold(bool hold);
bool blis_interrupt_is_held(void);

#endif
