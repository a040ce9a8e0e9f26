/*
 * attention.h - the attention part of each layer of a config.json: its kind and its sizes.
 *
 * The first rule whose key is present decides the kind of a layer. For an unsupported kind, the
 * error names the key and its value.
 *
 * Sources of the rules (their meaning, not their code): transformers (models) and vLLM 0.19
 * (model_executor/models).
 */
#ifndef BLIS_LATENCY_CONFIG_ATTENTION_H
#define BLIS_LATENCY_CONFIG_ATTENTION_H

#include "latency/config/sizes.h"
#include "latency/layers/layer.h"

/* Returns the attention part of a layer, from 0. Errors are stored in config. */
blis_attention blis__attention_read(blis__config *config, const blis__sizes *sizes, int64_t layer);

#endif
