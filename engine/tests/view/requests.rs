//! Whatever is sent, the answer is one, or an error that names the field; strangers get nothing.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use proptest::prelude::*;
use serde_json::{Value, json};
use tesla_engine::setup::mode::EvaluatorKind;
use tesla_engine::setup::settings::Settings;
use tesla_engine::view::controller::Controller;
use tesla_engine::view::guard::Guard;
use tesla_engine::view::messages::PositionOrder;
use tesla_engine::view::routes::router;
use tower::ServiceExt as _;

const HOST: &str = "127.0.0.1:4000";

/// The page's server without connections, on an evaluator that every build has.
struct Page {
    router: Router,
    token: String,
    controller: Arc<Controller>,
    runtime: tokio::runtime::Runtime,
}

struct Answer {
    status: StatusCode,
    body: Vec<u8>,
    policy: String,
}

impl Page {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.machine.evaluator = EvaluatorKind::Classical;
        let line = PositionOrder::default().game().unwrap();
        let controller = Controller::start(&settings, line, None, None);
        let guard = Arc::new(Guard::new(4000));
        let token = guard.token().to_owned();
        let router = router(Arc::clone(&controller), guard);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { router, token, controller, runtime }
    }

    fn send(&self, request: Request<Body>) -> Answer {
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let status = response.status();
            let policy = response.headers().get(header::CONTENT_SECURITY_POLICY);
            let policy = policy.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
            let body = to_bytes(response.into_body(), 1 << 24).await.unwrap().to_vec();
            Answer { status, body, policy }
        })
    }

    fn post(&self, what: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(format!("/{}/{what}", self.token))
            .header(header::HOST, HOST)
            .header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(body.into()).unwrap())
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.controller.end();
    }
}

const ORDERS: [&str; 6] = ["position", "go", "stop", "pace", "look", "review"];

const FIELDS: [&str; 10] =
    ["fen", "moves", "searches", "nodes", "perSecond", "easy", "path", "pgn", "what", "colour"];

/// An answer to an order is how things stand, or a sentence and the field it is about.
fn check(answer: &Answer) {
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    if answer.status == StatusCode::OK {
        assert!(said["fen"].is_string() && said["run"].is_u64(), "{said}");
    } else {
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{said}");
        assert!(!said["error"].as_str().unwrap().is_empty(), "{said}");
        assert!(!said["field"].as_str().unwrap().is_empty(), "{said}");
    }
    assert!(answer.policy.starts_with("default-src 'self'"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        Just(json!("e2e4")),
        Just(json!("Tesla")),
        Just(json!("search")),
        Just(json!("1. e4 e5 2. Nf3 *")),
        "([a-h][1-8] |[NBRQK]x?[a-h][1-8] |1. |\\{ |\\} ){0,8}".prop_map(Value::from),
        Just(json!("4k3/8/8/8/8/8/8/4K3 w - - 0 1")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::from))
}

fn any_order() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(&FIELDS[..]);
    let fields = prop::collection::btree_map(name, any_value(), 0..4);
    fields.prop_map(|fields| json!(fields))
}

#[test]
fn any_bytes_get_an_answer_that_names_the_field() {
    let page = Page::new();
    let order = prop::sample::select(&ORDERS[..]);
    let body = prop_oneof![
        any_order().prop_map(|order| order.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..64),
        "[{\\[\"a-z:0-9,}\\]]{0,40}".prop_map(String::into_bytes),
    ];
    proptest!(ProptestConfig::with_cases(600), |(order in order, body in body)| {
        check(&page.post(order, body));
    });
}

#[test]
fn any_address_gets_an_answer() {
    let page = Page::new();
    let method = prop::sample::select(&[Method::GET, Method::POST, Method::PUT, Method::HEAD][..]);
    let headers = [(header::HOST, HOST), (header::CONTENT_TYPE, "application/json")];
    let config = ProptestConfig::with_cases(300);
    let path = "[a-z./%0-9?&=]{0,24}";
    proptest!(config, |(method in method, path in path, inside in any::<bool>())| {
        let before = if inside { format!("/{}", page.token) } else { String::new() };
        let mut request = Request::builder().method(method).uri(format!("{before}/{path}"));
        for (name, value) in &headers {
            request = request.header(name, *value);
        }
        let Ok(request) = request.body(Body::empty()) else { return Ok(()) };
        if !request.uri().path().ends_with("/events") {
            let status = page.send(request).status;
            prop_assert!(!status.is_server_error(), "{status}");
            prop_assert!(inside || status == StatusCode::NOT_FOUND);
        }
    });
}

#[test]
fn the_page_itself_is_answered() {
    let page = Page::new();
    let root = format!("/{}/", page.token);
    let answer = page.get(&root, &[("host", HOST)]);
    assert_eq!(answer.status, StatusCode::OK);
    assert!(String::from_utf8(answer.body).unwrap().contains("<title>Tesla view"));
    let own =
        [("host", HOST), ("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")];
    assert_eq!(page.get(&format!("{root}app.js"), &own).status, StatusCode::OK);
    assert_eq!(page.get(&format!("{root}recording.json"), &own).status, StatusCode::NO_CONTENT);
}

#[test]
fn another_origin_gets_nothing() {
    let page = Page::new();
    let root = format!("/{}/", page.token);
    let wrong = |headers: &[(&str, &str)], path: &str| {
        let answer = page.get(path, headers);
        assert!(answer.body.is_empty(), "{headers:?}");
        answer.status
    };
    let foreign = [("host", HOST), ("origin", "https://example.org")];
    assert_eq!(wrong(&foreign, &root), StatusCode::FORBIDDEN);
    assert_eq!(wrong(&[("host", HOST), ("origin", "null")], &root), StatusCode::FORBIDDEN);
    let other_port = [("host", HOST), ("origin", "http://127.0.0.1:4001")];
    assert_eq!(wrong(&other_port, &root), StatusCode::FORBIDDEN);
    let cross = [("host", HOST), ("sec-fetch-site", "cross-site")];
    assert_eq!(wrong(&cross, &root), StatusCode::FORBIDDEN);
    // A name that somebody points at this machine.
    let rebound = [("host", "tesla.example.org:4000")];
    assert_eq!(wrong(&rebound, &root), StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(wrong(&[], &root), StatusCode::MISDIRECTED_REQUEST);
    let guess = format!("/{}/", "0".repeat(32));
    assert_eq!(wrong(&[("host", HOST)], &guess), StatusCode::NOT_FOUND);
    assert_eq!(wrong(&[("host", HOST)], "/"), StatusCode::NOT_FOUND);
}

#[test]
fn orders_are_json_and_bounded() {
    let page = Page::new();
    let plain = Request::post(format!("/{}/stop", page.token))
        .header(header::HOST, HOST)
        .header(header::CONTENT_TYPE, "text/plain");
    let answer = page.send(plain.body(Body::from("{}")).unwrap());
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(said["field"], "Content-Type");
    let large = page.post("go", vec![b' '; (1 << 20) + 1]);
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    let said: Value = serde_json::from_slice(&large.body).unwrap();
    assert_eq!(said["field"], "body");
    check(&page.post("go", r#"{"nodes": 10}"#));
    for body in ["{}", r#"{"what": "search"}"#, r#"{"what": "review"}"#] {
        assert_eq!(page.post("stop", body).status, StatusCode::OK, "{body}");
    }
    let answer = page.post("stop", r#"{"what": "time"}"#);
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, &said["field"]), (StatusCode::BAD_REQUEST, &json!("what")));
    let long = json!({ "moves": vec!["e2e4"; 3000] });
    let answer = page.post("position", long.to_string());
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[test]
fn a_review_puts_its_game_on_the_board() {
    let page = Page::new();
    let start = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let pgn = format!("[SetUp \"1\"]\n[FEN \"{start}\"]\n\n1. e4 *\n\n1. d4 *\n");
    let answer = page.post("review", json!({ "pgn": pgn, "nodes": 10 }).to_string());
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((&said["fen"], &said["start"]), (&json!(start), &json!(start)));
    assert_eq!((&said["moves"], &said["running"]), (&json!([]), &json!(false)));
}

#[test]
fn the_last_search_is_recorded_also_when_another_game_is_set_up() {
    let page = Page::new();
    check(&page.post("go", r#"{"nodes": 200}"#));
    let began = std::time::Instant::now();
    while page.controller.hub().recording().snapshots.is_empty() {
        assert!(began.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    check(&page.post("position", r#"{"moves": ["e2e4"]}"#));
    let recording = page.controller.hub().recording();
    assert!(!recording.snapshots.is_empty() && recording.state.moves.is_empty());
}
