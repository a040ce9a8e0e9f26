--- Replication of routers in production systems. Each value follows the source that is named.

return {
  none = {},
  -- llm-d-router ebab6879 (2026-08-22): InFlightLoadProducer writes a gauge for each endpoint every
  -- 200 ms (crossReplicaSyncInterval); a replica also reads its own share from the store.
  ["llm-d"] = { share = { "in-flight" },
    sync = { mode = "periodic", every_us = 200000, own = "published" } },
  -- Dynamo 1.7: every router consumes all KV events; active blocks are local.
  dynamo = { share = {} },
  -- Dynamo with --router-replica-sync: lifecycle events of requests; stale entries go after 300 s.
  ["dynamo-sync"] = { share = { "in-flight" }, sync = { mode = "events", ttl_us = 300000000 } },
  -- AIBrix e3e10f9e, AIBRIX_STATESYNC_ENABLED: pull, then push, every 10 s with 10 % jitter.
  aibrix = { share = { "prefix" },
    sync = { mode = "pull-push", every_us = 10000000, jitter = 0.1 } },
  -- SGLang Model Gateway 73da68ca9: the tree's new entries go to all connected peers every second.
  smg = { share = { "prefix" }, sync = { mode = "periodic", every_us = 1000000 } },
}
