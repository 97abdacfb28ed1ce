"""What training needs on a GPU: CUDA graphs, formats of layers by timing, memory, several runs.

Nothing here knows what a run is. On a CPU the same code runs plainly: no graphs, one stream.
"""
