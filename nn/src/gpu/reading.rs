//! Reading back what a batch found, without waiting for batches queued after it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Floats, or what the device's driver says is wrong.
type Data = Result<Vec<f32>, String>;

/// Floats on their way to the host.
pub(super) enum Reading {
    Pending(Pin<Box<dyn Future<Output = Data> + Send>>),
    Ready(Data),
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending(_) => "Pending",
            Self::Ready(_) => "Ready",
        })
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Reading {
    /// Queues the reading behind what is queued already, and begins all that.
    pub(super) fn begin(data: impl Future<Output = Data> + Send + 'static) -> Self {
        let mut future: Pin<Box<dyn Future<Output = Data> + Send>> = Box::pin(data);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(data) => Self::Ready(data),
            Poll::Pending => Self::Pending(future),
        }
    }

    /// Whether the floats are here; if not, `waker` is woken when they may be.
    pub(super) fn is_ready(&mut self, waker: &Waker) -> bool {
        if let Self::Pending(future) = self
            && let Poll::Ready(data) = future.as_mut().poll(&mut Context::from_waker(waker))
        {
            *self = Self::Ready(data);
        }
        matches!(self, Self::Ready(_))
    }

    /// Waits for the floats.
    #[expect(clippy::panic, reason = "a device that fails, or a bug; the caller catches it")]
    pub(super) fn wait(self) -> Vec<f32> {
        let data = match self {
            Self::Ready(data) => data,
            Self::Pending(mut future) => {
                let waker = Waker::from(Arc::new(Unpark(thread::current())));
                loop {
                    match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                        Poll::Ready(data) => break data,
                        Poll::Pending => thread::park(),
                    }
                }
            }
        };
        data.unwrap_or_else(|error| panic!("no answer: {error}"))
    }
}
