//! The binary `tesla-train`.

use std::process::ExitCode;

use clap::Parser as _;
use tesla_training::commands::{self, Cli};

/// glibc gives big tensors back to the system after every operation; mimalloc keeps them, which
/// makes training on the CPU about one and a half times as fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tesla_nn::device::start_quietly();
    match commands::run(&Cli::parse().command, &complain) {
        Ok(code) => code,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the one place where errors reach people")]
fn complain(sentence: &str) {
    eprintln!("tesla-train: {sentence}");
}
