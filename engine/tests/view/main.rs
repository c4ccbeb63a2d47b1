//! `tesla view`: requests that may hold anything, who is answered, and the page in a browser.

#![cfg(feature = "view")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod browser;
mod requests;
