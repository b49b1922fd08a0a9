"""Facts, probes and rows to stage, progress, rates and findings. Pure."""
