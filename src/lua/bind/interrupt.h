/*
 * interrupt.h - the flag by which Ctrl-C reaches a running simulation.
 *
 * A signal handler has no argument to find its program by, so this flag is the
 * one mutable global of the project. The host raises it; whoever loops for
 * long in C polls it and gives up with BLIS_ERR_INTERRUPTED. Under stock Lua
 * nobody raises it.
 */
#ifndef BLIS_LUA_BIND_INTERRUPT_H
#define BLIS_LUA_BIND_INTERRUPT_H

#include <stdbool.h>

/* True between an interrupt and the next clearing of it. One load. */
bool blis_interrupt_requested(void);

/* Safe in a signal handler. */
void blis_interrupt_raise(void);

/* For a prompt that goes on after an interrupt. */
void blis_interrupt_clear(void);

#endif
