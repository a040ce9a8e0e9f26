/*
 * feed_forward.h - the feed-forward part of each layer of a config.json: dense or experts, and its
 * sizes.
 *
 * Sources of the rules: transformers (models), only for their meaning.
 */
#ifndef BLIS_LATENCY_CONFIG_FEED_FORWARD_H
#define BLIS_LATENCY_CONFIG_FEED_FORWARD_H

#include "latency/config/sizes.h"
#include "latency/layers/layer.h"

/* The feed-forward part of a layer, from 0; errors stick to the config. */
blis_ffn blis__ffn_read(blis__config *config, const blis__sizes *sizes, int64_t layer);

#endif
