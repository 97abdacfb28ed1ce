"""Which images are trained on and which are tested on: drawn, written down, made again."""
