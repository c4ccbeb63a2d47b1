//! The adapters that the graphics APIs name.

use super::Finding;

/// Tells of each adapter, unless the CPU was asked for: its driver, and whether it is taken.
#[cfg(feature = "net")]
pub(super) fn check(device: &str, tell: &mut dyn FnMut(Finding)) {
    use std::panic::catch_unwind;

    use tesla_nn::device::{self, DeviceChoice};

    if device == "cpu" {
        return;
    }
    // A driver's fault may come as a panic from below.
    let adapters = catch_unwind(device::adapters).unwrap_or_default();
    if adapters.is_empty() {
        let found = "none; no graphics API names any, not even a software rasteriser";
        tell(Finding::fine("adapters", found.to_owned()));
    }
    let choice: Result<DeviceChoice, _> = device.parse();
    let chosen = choice.ok().and_then(|choice| catch_unwind(|| device::choose(choice)).ok()?.ok());
    let mut taken = chosen.filter(device::Chosen::is_gpu).map(|chosen| chosen.name);
    for adapter in &adapters {
        let is_taken = taken.as_ref() == Some(&adapter.name);
        if is_taken {
            taken = None;
        }
        tell(finding(adapter, is_taken));
    }
}

/// What is said of one.
#[cfg(feature = "net")]
fn finding(adapter: &tesla_nn::device::Found, is_taken: bool) -> Finding {
    let number = adapter.number.map(|number| format!("gpu:{number} ")).unwrap_or_default();
    let who = format!("{number}{} ({})", adapter.name, adapter.driver);
    match (&adapter.usable, is_taken, adapter.number) {
        (Ok(can), true, _) => Finding::fine("adapters", format!("{who}: taken; {can}")),
        (Err(_), true, _) => Finding::fine("adapters", format!("{who}: taken, as asked for")),
        (Ok(can), false, number) => {
            let number = number.unwrap_or_default();
            let found = format!("{who}: not taken, Device = gpu:{number} uses it; {can}");
            Finding::fine("adapters", found)
        }
        (Err(why), false, Some(_)) => {
            let advice = "update its driver, or name another with --device";
            Finding::weak("adapters", format!("{who}: refused, {why}"), advice)
        }
        (Err(why), false, None) => Finding::fine("adapters", format!("{who}: refused, {why}")),
    }
}

/// A program without the network wants none.
#[cfg(not(feature = "net"))]
pub(super) fn check(_: &str, _: &mut dyn FnMut(Finding)) {}

#[cfg(all(test, feature = "net"))]
mod tests {
    use tesla_nn::device::Found;

    use super::*;
    use crate::commands::doctor::Health;

    #[test]
    fn each_adapter_is_taken_or_the_reason_is_told() {
        let adapter = |number, usable: Result<&str, &str>| Found {
            name: "Card 9".to_owned(),
            driver: "maker 1.2 Vulkan".to_owned(),
            number,
            usable: usable.map(str::to_owned).map_err(str::to_owned),
        };
        for (number, usable, is_taken, health, text) in [
            (Some(0), Ok("48 KiB"), true, Health::Fine, "gpu:0 Card 9 (maker 1.2 Vulkan): taken"),
            (Some(1), Ok("48 KiB"), false, Health::Fine, "not taken, Device = gpu:1 uses it"),
            (Some(0), Err("no memory"), false, Health::Weak, "refused, no memory"),
            (None, Err("a rasteriser"), false, Health::Fine, "refused, a rasteriser"),
            (None, Err("a rasteriser"), true, Health::Fine, "taken, as asked for"),
        ] {
            let finding = finding(&adapter(number, usable), is_taken);
            assert!(finding.found.contains(text), "{}", finding.found);
            assert_eq!(finding.health, health);
        }
    }
}
