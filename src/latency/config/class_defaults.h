/*
 * class_defaults.h - default sizes of model classes, for values that a config.json omits.
 *
 * Source: transformers, models/.../configuration_....py (values only).
 */
#ifndef BLIS_LATENCY_CONFIG_CLASS_DEFAULTS_H
#define BLIS_LATENCY_CONFIG_CLASS_DEFAULTS_H

#include <stdint.h>

/* Returns the default of a key for a model_type, with or without the suffix "_text"; 0 = none. */
int64_t blis__class_default(const char *type, const char *key);

/*
 * Like blis__class_default, for a text part inside another configuration, which omits more sizes.
 */
int64_t blis__part_default(const char *type, const char *key);

#endif
