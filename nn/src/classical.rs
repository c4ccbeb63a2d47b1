//! A deterministic evaluator without a network. (being written)
