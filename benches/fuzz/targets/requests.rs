//! Requests to the page of `tesla view`, through its router and without a socket. What is accepted
//! is obeyed: searches and reviews begin, and are stopped.
//!
//! An input is up to eight requests, one after another, with `%%` on a line between them: method
//! and address, headers, an empty line, the body. `/T` at the beginning of an address is the page's
//! token; a request without `host` or `content-type` gets the page's own.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tesla_engine::setup::mode::EvaluatorKind;
use tesla_engine::setup::settings::Settings;
use tesla_engine::view::controller::Controller;
use tesla_engine::view::guard::Guard;
use tesla_engine::view::messages::PositionOrder;
use tesla_engine::view::routes::router;
use tesla_engine::view::stop::StopOrder;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

const HOST: &str = "127.0.0.1:4000";
const ORDERS: [&str; 6] = ["go", "look", "pace", "position", "review", "stop"];
/// Looks at a run that was told to stop, one a millisecond, until it has to have ended.
const PATIENCE: usize = 5000;

struct Page {
    router: Router,
    token: String,
    controller: Arc<Controller>,
    runtime: Runtime,
}

static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let mut settings = Settings::default();
    settings.machine.evaluator = EvaluatorKind::Classical;
    let line = PositionOrder::default().game().expect("the start position is one");
    let controller = Controller::start(&settings, line, None, None);
    let guard = Arc::new(Guard::new(4000));
    let token = guard.token().to_owned();
    let router = router(Arc::clone(&controller), guard);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    Page { router, token, controller, runtime }
});

/// What a request says, if HTTP lets it be one.
fn request(text: &[u8], token: &str) -> Option<Request<Body>> {
    let end = text.windows(2).position(|pair| pair == b"\n\n").unwrap_or(text.len());
    let (head, body) = (text.get(..end)?, text.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|&byte| byte == b'\n');
    let first = lines.next()?;
    let space = first.iter().position(|&byte| byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let address = &first[space + 1..];
    let uri = match address.strip_prefix(b"/T") {
        Some(rest) => [b"/", token.as_bytes(), rest].concat(),
        None => address.to_vec(),
    };
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = method;
    *request.uri_mut() = Uri::try_from(uri).ok()?;
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_static(HOST));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        headers.insert(name, value);
    }
    Some(request)
}

impl Page {
    /// The status and, of an answer that has an end, its body.
    async fn answer(&self, request: Request<Body>) -> (StatusCode, Vec<u8>) {
        let strange = self.is_strange(&request);
        let answer: Response<Body> =
            self.router.clone().oneshot(request).await.expect("the router cannot fail");
        let status = answer.status();
        assert!(!status.is_server_error(), "{status}");
        assert!(answer.headers().contains_key(header::CONTENT_SECURITY_POLICY));
        let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
        if kind.is_some_and(|kind| kind == "text/event-stream") {
            assert!(!strange, "a stranger gets the news");
            // News has no end; what is known already comes at once.
            let news = to_bytes(answer.into_body(), 1 << 24);
            let _ = tokio::time::timeout(Duration::from_millis(1), news).await;
            return (status, Vec::new());
        }
        let body = to_bytes(answer.into_body(), 1 << 24).await.expect("an answer ends");
        assert!(!strange || (body.is_empty() && !status.is_success()), "{status}");
        (status, body.to_vec())
    }

    /// Whether it is from elsewhere, and to get nothing.
    fn is_strange(&self, request: &Request<Body>) -> bool {
        let headers = request.headers();
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
        let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
        let own = [b"http://", host.unwrap_or_default()].concat();
        host.is_none_or(|host| host != HOST.as_bytes() && host != b"localhost:4000")
            || origin.is_some_and(|origin| origin != own)
            || !request.uri().path().starts_with(&format!("/{}/", self.token))
    }

    /// An answer to an order is how things stand, or a sentence and the field it is about.
    fn check(&self, order: bool, (status, body): &(StatusCode, Vec<u8>)) {
        if !order || !matches!(*status, StatusCode::OK | StatusCode::BAD_REQUEST) {
            return;
        }
        let said: Value = serde_json::from_slice(body).expect("an order is answered in JSON");
        if *status == StatusCode::OK {
            assert!(said["fen"].is_string() && said["run"].is_u64(), "{said}");
        } else {
            assert!(said["error"].as_str().is_some_and(|error| !error.is_empty()), "{said}");
            assert!(said["field"].as_str().is_some_and(|field| !field.is_empty()), "{said}");
        }
    }

    /// Stops what runs, and waits until it has.
    fn rest(&self) {
        for _ in 0..PATIENCE {
            if !self.controller.stop(StopOrder::default()).expect("there is an engine").running {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("a run that was told to stop goes on");
    }
}

fuzz_target!(|data: &[u8]| {
    let page = &*PAGE;
    let text = String::from_utf8_lossy(data);
    let parts: Vec<&[u8]> = match &text {
        std::borrow::Cow::Borrowed(text) => text.split("\n%%\n").map(str::as_bytes).collect(),
        // Bytes that are no text are one request, as they are.
        std::borrow::Cow::Owned(_) => vec![data],
    };
    for part in parts.into_iter().take(8) {
        let Some(request) = request(part, &page.token) else { continue };
        let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let order = request.method() == Method::POST && ORDERS.contains(&name.as_str());
        let answer = page.runtime.block_on(page.answer(request));
        page.check(order, &answer);
    }
    page.rest();
});
