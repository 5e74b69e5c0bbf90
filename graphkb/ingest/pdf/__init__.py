"""PDF pages as text in reading order: one module a step, from glyphs to Markdown."""
