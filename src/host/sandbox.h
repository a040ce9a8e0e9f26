/*
 * sandbox.h - `blis --sandbox FILE`: untrusted scripts in a process that can be
 * stopped.
 */
#ifndef BLIS_HOST_SANDBOX_H
#define BLIS_HOST_SANDBOX_H

#include "host/options.h"

/*
 * Runs argv[options->script] within the limits of options. The remaining items of argv are its
 * arguments. Returns the exit status of the program.
 */
int host_sandbox_run(int argc, char **argv, const host_options *options);

#endif
