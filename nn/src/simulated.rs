//! A simulated device: any evaluator behind a set latency. (being written)
