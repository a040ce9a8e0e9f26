/*
 * class_defaults.h - sizes that a model's class fixes when its config.json does not state them.
 *
 * Source: transformers, models/.../configuration_....py (only values).
 */
#ifndef BLIS_LATENCY_CONFIG_CLASS_DEFAULTS_H
#define BLIS_LATENCY_CONFIG_CLASS_DEFAULTS_H

#include <stdint.h>

/* The default of a key for a model_type, with or without the ending "_text"; 0 = none. */
int64_t blis__class_default(const char *type, const char *key);

/* The same for a text part inside of another configuration, which omits more sizes; 0 = none. */
int64_t blis__part_default(const char *type, const char *key);

#endif
