"""A small POSIX shell that runs inside the simulator, on virtual files and processes."""
