"""Pretend GPU hosts: files, processes, GPUs and daemons that live in fleet time."""
