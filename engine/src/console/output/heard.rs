//! An output that remembers what was said, for tests.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::Output;

/// What was said. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Heard {
    /// An output that is heard here.
    pub(crate) fn output(&self) -> Output {
        Output::new(Box::new(self.clone()))
    }

    /// What was said since the last time.
    pub(crate) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
    }
}
