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

use super::controller::Controller;
use super::events::Event;
use super::guard::{Guard, admit, json};
use super::messages::{Refusal, State as Standing, read};
use super::stop::StopOrder;
use super::{assets, messages};

/// Largest request, bytes.
const LARGEST: usize = 1 << 20;

type Shared = State<Arc<Controller>>;

/// Everything that is answered.
pub fn router(controller: Arc<Controller>, guard: Arc<Guard>) -> Router {
    let inner = Router::new()
        .route("/events", get(events))
        .route("/recording.json", get(recording))
        .route(
            "/position",
            orders(|controller, order: messages::PositionOrder| controller.position(&order)),
        )
        .route("/go", orders(|controller, order: messages::GoOrder| controller.go(&order)))
        .route("/stop", orders(|controller, order: StopOrder| controller.stop(order)))
        .route("/pace", orders(|controller, order: messages::PaceOrder| controller.pace(order)))
        .route("/look", orders(|controller, order: messages::LookOrder| controller.look(&order)))
        .route(
            "/review",
            orders(|controller, order: messages::ReviewOrder| controller.review(&order)),
        )
        .route("/review.pgn", get(annotated))
        .route("/{*path}", get(|Path(path): Path<String>| async move { asset(&path) }))
        .with_state(controller);
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
    obey: fn(&Controller, T) -> Result<Standing, Refusal>,
) -> MethodRouter<Arc<Controller>> {
    post(move |State(controller): Shared, body: Result<Bytes, BytesRejection>| async move {
        let body = match body {
            Ok(body) => body,
            Err(rejection) => {
                let refusal = Refusal::new("body", rejection.body_text());
                return json(rejection.status(), &refusal);
            }
        };
        match read(&body).and_then(|order| obey(&controller, order)) {
            Ok(state) => json(StatusCode::OK, &state),
            Err(refusal) => json(StatusCode::BAD_REQUEST, &refusal),
        }
    })
}

async fn recording(State(controller): Shared) -> Response {
    controller.hub().replay().map_or_else(
        || StatusCode::NO_CONTENT.into_response(),
        |recording| json(StatusCode::OK, &recording),
    )
}

async fn annotated(State(controller): Shared) -> Response {
    controller.hub().annotated().map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |text| ([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response(),
    )
}

/// The news as server-sent events: what is known, and then what comes.
async fn events(State(controller): Shared) -> impl IntoResponse {
    let (known, receiver) = controller.hub().listen();
    let news = stream::iter(known).chain(stream::unfold(receiver, next));
    let written = news.map(|event| {
        Ok::<_, Infallible>(sse::Event::default().event(event.kind).data(&*event.data))
    });
    Sse::new(written).keep_alive(KeepAlive::default())
}

/// The next event. For a reader that is too slow, and has missed some, the news ends: the page
/// comes again by itself and is told how things stand, while a change of the state that it never
/// heard of would leave it out of step for good.
async fn next(mut receiver: Receiver<Event>) -> Option<(Event, Receiver<Event>)> {
    let event = receiver.recv().await.ok()?;
    Some((event, receiver))
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::broadcast::Sender;

    use super::*;

    #[test]
    fn the_news_ends_for_a_reader_that_has_missed_some() {
        let sender = Sender::new(2);
        let (quick, slow) = (sender.subscribe(), sender.subscribe());
        let say = |number: &str| sender.send(Event::note(number, false)).unwrap();
        say("0");
        let (event, quick) = next(quick).now_or_never().unwrap().unwrap();
        assert!(event.data.contains('0'));
        say("1");
        say("2");
        assert!(next(quick).now_or_never().unwrap().is_some());
        assert!(next(slow).now_or_never().unwrap().is_none());
    }
}
