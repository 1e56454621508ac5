"""Many at once: batches over all cores, reachable sets, sweeps on one machine or many."""
