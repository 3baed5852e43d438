"""`cajole demo`: the built-in scenes in motion, as files and as one page that shows them."""
