"""The Textual app. Reads the store and writes intents; nothing else."""
