--- The latency models that are held against measurements, side by side.
return {
  { name = "calibrated", latency_model = "calibrated" },
  { name = "composed", latency_model = "composed" },
  { name = "trained-physics", latency_model = "trained-physics" },
  { name = "roofline", latency_model = "roofline" },
}
