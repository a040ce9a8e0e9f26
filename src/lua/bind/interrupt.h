/*
 * interrupt.h - the flag by which Ctrl-C reaches a running simulation.
 *
 * A signal handler has no argument through which it could reach the program's state. This flag,
 * with the hold state below, is therefore the only mutable global of the project. The host raises
 * the flag. Long loops in C poll it and return BLIS_ERR_INTERRUPTED. Under stock Lua the flag is
 * never raised.
 */
#ifndef BLIS_LUA_BIND_INTERRUPT_H
#define BLIS_LUA_BIND_INTERRUPT_H

#include <stdbool.h>

/* Returns true from an interrupt until the flag is cleared. Costs one load. */
bool blis_interrupt_requested(void);

/* Raises the flag. Safe in a signal handler. */
void blis_interrupt_raise(void);

/* Clears the flag, for a prompt that continues after an interrupt. */
void blis_interrupt_clear(void);

/*
 * Delays interrupts between hold(true) and hold(false), so that short Lua code of blis itself runs
 * to completion. The caller handles the interrupt afterwards.
 */
void blis_interrupt_hold(bool hold);
bool blis_interrupt_is_held(void);

#endif
