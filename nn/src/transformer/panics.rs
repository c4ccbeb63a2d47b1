//! Panics of a device's driver, which are an error like any other here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a caught panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "no reason given".to_owned())
}

/// Does something that may panic; the error is what the panic said.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panic_text(&*panic))
}
