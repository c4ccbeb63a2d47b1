//! Reading back what a batch found, without waiting for batches queued after it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use burn::tensor::{ExecutionError, Tensor, TensorData};

type Data = Result<TensorData, ExecutionError>;

/// A tensor on its way to the host.
pub(super) enum Reading {
    Pending(Pin<Box<dyn Future<Output = Data> + Send>>),
    Ready(Data),
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
    pub(super) fn begin(tensor: Tensor<1>) -> Self {
        let mut future: Pin<Box<dyn Future<Output = Data> + Send>> =
            Box::pin(tensor.into_data_async());
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(data) => Self::Ready(data),
            Poll::Pending => Self::Pending(future),
        }
    }

    /// Waits for the tensor.
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
        match data.map(|data| data.try_to_vec()) {
            Ok(Ok(values)) => values,
            Ok(Err(error)) => panic!("unreadable answer: {error:?}"),
            Err(error) => panic!("no answer: {error:?}"),
        }
    }
}
