//! Says which network goes into the program: the shipped one, or the file that `EVALFILE` names.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The shipped network, from the repository's root.
const SHIPPED: &str = "models/tesla-small-2b056f71.safetensors";

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=EVALFILE");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let file = match env::var_os("EVALFILE").filter(|file| !file.is_empty()) {
        // Paths are the user's, who stands at the root.
        Some(file) => root.join(Path::new(&file)),
        None => root.join(SHIPPED),
    };
    match file.canonicalize() {
        Ok(file) => {
            println!("cargo::rerun-if-changed={}", file.display());
            println!("cargo::rustc-env=TESLA_NETWORK={}", file.display());
            let name = file.file_stem().unwrap_or_default().display();
            println!("cargo::rustc-env=TESLA_NETWORK_NAME={name}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let path = file.display();
            println!(
                "cargo::error=the network {path} cannot be read ({error}); set EVALFILE to a \
                 weights file, or unset it"
            );
            ExitCode::FAILURE
        }
    }
}
