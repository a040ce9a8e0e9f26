/*
 * notes.h - notes on parts of a workload specification that have no effect; for
 * its reader.
 */
#ifndef BLIS_WORKLOAD_SPEC_NOTES_H
#define BLIS_WORKLOAD_SPEC_NOTES_H

#include "workload/spec/keys.h"
#include "workload/spec/sections.h"

/*
 * Calls note once per kind of unused setting, with the name of the first affected client. The text
 * is valid during the call. Call this function only after a successful check.
 */
BLIS_MUSTUSE blis_status blis__spec_note_unused(const blis__spec_reader *reader,
                                                const blis__spec_top *top,
                                                blis_status (*note)(void *ud, const char *text),
                                                void *ud);

#endif
