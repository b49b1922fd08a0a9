"""Knowledge of a workload as data, and its loader."""
