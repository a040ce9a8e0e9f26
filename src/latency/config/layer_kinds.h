/*
 * layer_kinds.h - determines the kind of attention of each layer of a config.json.
 *
 * Publishers describe kinds in about fifteen ways, such as a list of words, numbers, or letters, a
 * period, or only the model type. The first rule whose key is present decides.
 */
#ifndef BLIS_LATENCY_CONFIG_LAYER_KINDS_H
#define BLIS_LATENCY_CONFIG_LAYER_KINDS_H

#include "latency/config/sizes.h"
#include "latency/layers/layer.h"

/*
 * Returns the kind of a layer, from 0. BLIS_ATTENTION_FULL includes latent attention, which is
 * detected from the sizes. If a list is too short or contains an unknown word, the error names its
 * key.
 */
blis_attention_kind blis__layer_kind(blis__config *config, const blis__sizes *sizes, int64_t layer);

/*
 * Returns whether each layer consists of a single part: attention, a state-space layer, or a
 * feed-forward layer.
 */
bool blis__has_single_parts(const blis__config *config);

/*
 * Returns the part of such a layer: '*' attention, 'M' Mamba2, '-' dense, 'E' experts, or 0 after
 * an error.
 */
char blis__single_part(blis__config *config, int64_t layer);

#endif
