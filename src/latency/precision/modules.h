/*
 * modules.h - finds the modules of a model that an entry in the lists of a quantization matches.
 *
 * Entries are module names, prefixes of names, globs with '*', last components (`lm_head`, `gate`),
 * or regular expressions after `re:`. Names in checkpoints have different prefixes (`model.`,
 * `language_model.model.`, `backbone.`), so the comparison starts at `layers.N.`. A class of
 * weights is represented by the names that publishers use for it.
 */
#ifndef BLIS_LATENCY_PRECISION_MODULES_H
#define BLIS_LATENCY_PRECISION_MODULES_H

#include "latency/precision/precision.h"

/* Called for each layer and class that an entry matches. The head has layer -1. */
typedef void blis__module_visitor(void *ud, int64_t layer, blis_weight_class class);

/*
 * Calls visit for every class in every layer if a representative module of the class matches the
 * entry. Entries for image or audio encoders and for draft layers match nothing. BLIS_ERR_INVALID
 * for a regular expression that does not compile.
 */
BLIS_MUSTUSE blis_status blis__modules_visit(const char *entry, int64_t layers,
                                             blis__module_visitor *visit, void *ud,
                                             blis_error *error);

#endif
