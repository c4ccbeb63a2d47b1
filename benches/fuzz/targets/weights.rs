//! Weights files: any bytes are refused with a sentence or make a network that evaluates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesla_nn::cpu::{Engine, Options};

fuzz_target!(|data: &[u8]| {
    match Engine::load(data, Options::default()) {
        Ok(mut engine) => {
            let requests = tesla_nn::canary::requests();
            assert_eq!(engine.evaluate(&requests).len(), requests.len());
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
});
