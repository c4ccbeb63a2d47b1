//! The commands of the README build the GPU stack once: its crates have the same features in all.
//! Where this fails, `nn/Cargo.toml` turns on what `training`, `engine` or a test turns on by the
//! way, as it does for the crates that it does not use by name.

use std::collections::{BTreeMap, BTreeSet};

use super::{ROOT, cargo_tree};

/// What runs the engine, the trainer and all tests: in the README's words, and for `cargo tree`.
const COMMANDS: [(&str, &str); 3] = [
    ("    cargo run --release ", "--package tesla-engine --edges normal"),
    ("    cargo run --release -p tesla-training ", "--package tesla-training --edges normal"),
    ("    cargo test --release --workspace ", "--workspace --edges normal,dev"),
];

/// Crates that are built twice, because `training` differentiates (`burn/autodiff`) and has burn's
/// tensors on a GPU (`burn/wgpu`): these have the features or use one that has them. None is of the
/// GPU stack.
const TWICE: [&str; 7] =
    ["burn", "burn-core", "burn-dispatch", "burn-linalg", "burn-nn", "burn-store", "burn-tensor"];

/// What derives run while compiling may have other features than what is part of the program.
const AT_BUILD_TIME: &str = " (proc-macro)";

/// The crates of one build, without those of build scripts: features, and who uses each.
#[derive(Default)]
struct Build {
    features: BTreeMap<String, String>,
    users: BTreeMap<String, BTreeSet<String>>,
}

impl Build {
    /// From lines like `2half v2.7.1|std`, where 2 is the depth in the tree.
    fn parsed(text: &str) -> Self {
        let mut build = Self::default();
        let mut above: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            let (depth, package) = line.split_at(digits);
            let (name, features) = package.trim_end_matches(" (*)").split_once('|').unwrap();
            above.truncate(depth.parse().unwrap());
            let mut name = name.to_owned();
            if let Some(user) = above.last() {
                if user.ends_with(AT_BUILD_TIME) && !name.ends_with(AT_BUILD_TIME) {
                    name.push_str(AT_BUILD_TIME);
                }
                build.users.entry(name.clone()).or_default().insert(user.clone());
            }
            build.features.insert(name.clone(), features.to_owned());
            above.push(name);
        }
        build
    }

    /// Crates that this build cannot take from `other`: their features differ, or they use one that
    /// it cannot take.
    fn built_anew_after(&self, other: &Self) -> BTreeSet<&str> {
        let is_there =
            |(name, features): &(&String, &String)| other.features.get(*name) == Some(features);
        let anew = self.features.iter().filter(|package| !is_there(package));
        let mut left: Vec<&str> = anew.map(|(name, _)| name.as_str()).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = left.pop() {
            if found.insert(name) {
                left.extend(self.users.get(name).into_iter().flatten().map(String::as_str));
            }
        }
        found
    }
}

#[test]
fn the_gpu_stack_is_built_once() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md"));
    let readme = readme.unwrap();
    let [run, train, test] = COMMANDS.map(|(command, words)| {
        assert!(readme.contains(command), "README.md has lost {command:?}");
        let words = format!("--locked {words} --prefix depth --format {{p}}|{{f}}");
        let text =
            cargo_tree(ROOT, &words, &["--offline"]).or_else(|_| cargo_tree(ROOT, &words, &[]));
        Build::parsed(&text.expect("cargo tells what it builds"))
    });
    assert!(run.features.keys().any(|name| name.starts_with("wgpu ")), "no GPU stack");
    let burns = |name: &&String| {
        ["burn-cubecl", "burn-fusion", "burn-wgpu", "cubek"].iter().any(|of| name.starts_with(of))
    };
    let burns: Vec<&String> = run.features.keys().filter(burns).collect();
    assert!(burns.is_empty(), "the engine needs no kernels of burn's: {burns:?}");
    let not_of_the_tests = |build: &Build| -> Vec<String> {
        let name = |package: &&str| package.split(' ').next().unwrap().to_owned();
        build.built_anew_after(&test).iter().map(name).collect()
    };
    let found = not_of_the_tests(&run);
    for (command, found) in [("engine", &found), ("trainer", &not_of_the_tests(&train))] {
        let is_new =
            |name: &&String| !name.starts_with("tesla-") && !TWICE.contains(&name.as_str());
        let new: Vec<&String> = found.iter().filter(is_new).collect();
        assert!(new.is_empty(), "built again for the {command}: {new:?}");
    }
    let gone: Vec<&&str> =
        TWICE.iter().filter(|name| !found.contains(&(**name).to_owned())).collect();
    assert!(gone.is_empty(), "{gone:?} are built once: take them out of TWICE");
}

#[test]
fn what_uses_another_crate_is_another_crate() {
    let whole = "0a v1|\n1b v1|std\n2c v1|\n1d v1 (proc-macro)|\n2c v1|std\n";
    let part = "0a v1|\n1b v1|std\n2c v1|x\n1d v1 (proc-macro)|\n2c v1|std\n\n0c v1|x (*)\n";
    let [whole, part] = [whole, part].map(Build::parsed);
    let anew: Vec<&str> = part.built_anew_after(&whole).into_iter().collect();
    assert_eq!(anew, ["a v1", "b v1", "c v1"]);
    assert!(whole.built_anew_after(&whole).is_empty());
}
