/*
 * notes.h - notes on parts of a workload specification that have no effect; for
 * its reader.
 */
#ifndef BLIS_WORKLOAD_SPEC_NOTES_H
#define BLIS_WORKLOAD_SPEC_NOTES_H

#include "workload/spec/keys.h"
#include "workload/spec/sections.h"

/*
 * Calls note once for everything of its kind, naming the first client it is
 * about; the text lives during the call. To be asked of what passed the check.
 */
BLIS_MUSTUSE blis_status blis__spec_note_unused(const blis__spec_reader *reader,
                                                const blis__spec_top *top,
                                                blis_status (*note)(void *ud, const char *text),
                                                void *ud);

#endif
