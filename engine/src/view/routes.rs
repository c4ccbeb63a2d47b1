//! Addresses: the page's files, the news, the orders.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::{StreamExt as _, stream};
use serde::de::DeserializeOwned;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::desk::{Desk, Event};
use super::guard::{Guard, admit, json};
use super::messages::{Nothing, Refusal, State as Standing, read};
use super::{assets, messages};

/// Largest request, bytes.
const LARGEST: usize = 1 << 20;

type Shared = State<Arc<Desk>>;

/// Everything that is answered.
pub fn router(desk: Arc<Desk>, guard: Arc<Guard>) -> Router {
    let inner = Router::new()
        .route("/events", get(events))
        .route("/recording.json", get(recording))
        .route("/position", orders(|desk, order: messages::PositionOrder| desk.position(&order)))
        .route("/go", orders(|desk, order: messages::GoOrder| desk.go(&order)))
        .route("/stop", orders(|desk, Nothing {}| desk.stop()))
        .route("/pace", orders(|desk, order: messages::PaceOrder| desk.pace(order)))
        .route("/look", orders(|desk, order: messages::LookOrder| desk.look(&order)))
        .route("/review", orders(|desk, order: messages::ReviewOrder| desk.review(&order)))
        .route("/review.pgn", get(annotated))
        .route("/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .with_state(desk);
    let page = format!("/{}", guard.token());
    Router::new()
        .route(&format!("{page}/"), get(|| async { asset("") }))
        .nest(&page, inner)
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(from_fn_with_state(guard, admit))
}

fn asset(path: &str) -> Response {
    assets::find(path).map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |asset| ([(header::CONTENT_TYPE, asset.kind)], asset.bytes).into_response(),
    )
}

/// Reads an order, obeys, and answers how things stand then.
fn orders<T: DeserializeOwned + 'static>(
    obey: fn(&Desk, T) -> Result<Standing, Refusal>,
) -> MethodRouter<Arc<Desk>> {
    post(move |State(desk): Shared, body: Result<Bytes, BytesRejection>| async move {
        let body = match body {
            Ok(body) => body,
            Err(rejection) => {
                let refusal = Refusal::new("body", rejection.body_text());
                return json(rejection.status(), &refusal);
            }
        };
        match read(&body).and_then(|order| obey(&desk, order)) {
            Ok(state) => json(StatusCode::OK, &state),
            Err(refusal) => json(StatusCode::BAD_REQUEST, &refusal),
        }
    })
}

async fn recording(State(desk): Shared) -> Response {
    desk.replay().map_or_else(
        || StatusCode::NO_CONTENT.into_response(),
        |recording| json(StatusCode::OK, &recording),
    )
}

async fn annotated(State(desk): Shared) -> Response {
    desk.annotated().map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |text| ([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response(),
    )
}

/// The news as server-sent events: what is known, and then what comes.
async fn events(State(desk): Shared) -> impl IntoResponse {
    let (known, receiver) = desk.listen();
    let news = stream::iter(known).chain(stream::unfold(receiver, next));
    let written = news.map(|event| {
        Ok::<_, Infallible>(sse::Event::default().event(event.kind).data(&*event.data))
    });
    Sse::new(written).keep_alive(KeepAlive::default())
}

/// The next event. A reader that is too slow misses the oldest ones.
async fn next(mut receiver: Receiver<Event>) -> Option<(Event, Receiver<Event>)> {
    loop {
        match receiver.recv().await {
            Ok(event) => return Some((event, receiver)),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}
