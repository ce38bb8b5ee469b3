"""Where a run computes: device, precision, threads, CUDA graphs, ranks."""
