/*
 * layer_kinds.h - which kind of attention each layer of a config.json has.
 *
 * Publishers state kinds in about fifteen ways: a list of words, of numbers, or of letters, a
 * period, or the model's type alone. The first rule whose key is present decides.
 */
#ifndef BLIS_LATENCY_CONFIG_LAYER_KINDS_H
#define BLIS_LATENCY_CONFIG_LAYER_KINDS_H

#include "latency/config/sizes.h"
#include "latency/layers/layer.h"

/*
 * The kind of a layer, from 0. BLIS_ATTENTION_FULL also stands for latent attention, which the
 * sizes decide. A list that is too short, or that has an unknown word, is an error that names its
 * key.
 */
blis_attention_kind blis__layer_kind(blis__config *config, const blis__sizes *sizes, int64_t layer);

/* Does a layer consist of one part: attention, a state-space layer, or a feed-forward layer? */
bool blis__has_single_parts(const blis__config *config);

/* The part of such a layer: '*' attention, 'M' Mamba2, '-' dense, 'E' experts, 0 after an error. */
char blis__single_part(blis__config *config, int64_t layer);

#endif
