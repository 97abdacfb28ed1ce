"""From a plan to finished runs: packing, submission through submitit, workers, status."""
