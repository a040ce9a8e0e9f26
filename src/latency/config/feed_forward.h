/*
 * feed_forward.h - the feed-forward part of each layer of a config.json: dense or experts, and its
 * sizes.
 *
 * Source of the rules (their meaning, not their code): transformers (models).
 */
#ifndef BLIS_LATENCY_CONFIG_FEED_FORWARD_H
#define BLIS_LATENCY_CONFIG_FEED_FORWARD_H

#include "latency/config/sizes.h"
#include "latency/layers/layer.h"

/* Returns the feed-forward part of a layer, from 0. Errors are stored in config. */
blis_ffn blis__ffn_read(blis__config *config, const blis__sizes *sizes, int64_t layer);

#endif
