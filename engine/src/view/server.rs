//! Connections: a bounded number of them, each of which has to come to the point.

use std::net::TcpListener as Bound;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};

use crate::search::StopToken;

/// Most connections at a time; a browser opens six.
const CONNECTIONS: usize = 64;
/// A request's head takes no longer.
const HEAD: Duration = Duration::from_secs(10);
/// Nor is a place waited for longer.
const PLACE: Duration = Duration::from_secs(5);
/// Largest head, bytes.
const BUFFER: usize = 16 << 10;
/// How often it is looked whether all this is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until it is stopped.
///
/// # Errors
/// When the system does not let us.
pub fn serve(listener: Bound, router: &Router, stop: &StopToken) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("the page cannot be served: {error}");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fault)?;
    let served = runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut look = interval(LOOK);
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    // One connection that fails is no reason to end.
                    if let Ok((stream, _)) = accepted {
                        tokio::spawn(answer(stream, router.clone(), Arc::clone(&places)));
                    }
                }
                _ = look.tick() => if stop.is_stopped() { return Ok(()) }
            }
        }
    });
    // Streams of news never end by themselves.
    runtime.shutdown_background();
    served.map_err(fault)
}

/// Answers what comes over one connection, once there is a place for it.
async fn answer(stream: TcpStream, router: Router, places: Arc<Semaphore>) {
    let Ok(Ok(_place)) = timeout(PLACE, places.acquire_owned()).await else { return };
    // A connection that breaks off is the other side's business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
