//! The machine in words, as results are told with it.

use std::env::consts::{ARCH, OS};
use std::path::Path;
use std::thread;

use tesla_nn::files::read_text;

/// More than the list of any machine's cores.
const LARGEST: u64 = 1 << 24;

/// System, number of cores and, where the system tells it in a file, the processor's name.
pub fn machine() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    let list = read_text(Path::new("/proc/cpuinfo"), LARGEST).unwrap_or_default();
    let name = processor(&list).map(|name| format!(", {name}")).unwrap_or_default();
    format!("{OS} {ARCH}, {cores}{name}")
}

/// The processor's name in Linux's list of cores.
fn processor(list: &str) -> Option<&str> {
    let line = list.lines().find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_has_a_name_where_it_is_told() {
        let list =
            "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some CPU @ 2 GHz\n\nmodel name\t: B\n";
        assert_eq!(processor(list), Some("Some CPU @ 2 GHz"));
        assert_eq!(processor("processor : 0\nBogoMIPS : 50.00\n"), None);
        assert_eq!(processor("model name\t:  \n"), None);
        assert!(machine().starts_with(OS) && machine().contains(" core"), "{}", machine());
    }
}
