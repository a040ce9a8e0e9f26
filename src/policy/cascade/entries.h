/*
 * cascade_entries.h - the built-in cascades.
 *
 * To add one: write its file with a constant entry, and add its line below.
 */
#ifndef BLIS_POLICY_CASCADE_ENTRIES_H
#define BLIS_POLICY_CASCADE_ENTRIES_H

#include "policy/cascade/cascade.h"

/* XX(file-local name): the entry is blis__cascade_<name>. */
#define BLIS__CASCADE_MAP(XX) XX(cognitora)

#define XX(name) extern const blis_cascade_entry blis__cascade_##name;
BLIS__CASCADE_MAP(XX)
#undef XX

#endif
