"""Source code: syntax trees, what files define and refer to, and which name means what."""
