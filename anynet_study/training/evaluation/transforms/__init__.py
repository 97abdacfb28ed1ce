"""The test-time transforms of paper 4: their names (`catalog`, without torch) and what they do."""
