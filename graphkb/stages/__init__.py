"""Stages of an index run: which rows each pure function is handed, and what is kept."""
