"""Hardware of a run: device, precision, threads, CUDA graphs, distributed ranks."""
