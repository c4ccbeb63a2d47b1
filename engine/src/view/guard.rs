//! Who is answered at all: this machine's own page, which knows the token.
//!
//! A page of another origin can make a browser send requests here. It does not know the token, its
//! requests carry its own `Origin`, and a name that it points at this machine shows in `Host`.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::Arc;

use super::messages::Refusal;

/// Sent with every answer.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        // The hash is that of the one style attribute that chessground sets.
        "default-src 'self'; img-src 'self' data: blob:; \
         style-src-attr 'unsafe-hashes' 'sha256-SyXRxMCl6H7Kgy9uTmu1UZqVBsRmMBF4sHRiTO3FQc0='; \
         object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The port that an address need not name.
const HTTP: u16 = 80;

/// What a request must show.
#[derive(Debug)]
pub struct Guard {
    token: String,
    hosts: Vec<String>,
}

impl Guard {
    /// For a page at this port of the loopback address, with a new token.
    pub fn new(port: u16) -> Self {
        let names = ["127.0.0.1", "localhost"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == HTTP {
            // Which browsers leave out.
            hosts.extend(names.map(str::to_owned));
        }
        Self { token: format!("{:032x}", rand::random::<u128>()), hosts }
    }

    /// The first part of every address.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Why a request is not answered.
    ///
    /// # Errors
    /// A status that tells as little as possible.
    pub fn check(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(), StatusCode> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).unwrap_or_default();
        if !self.hosts.iter().any(|known| known == host) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_ours = |origin: &str| origin.strip_prefix("http://") == Some(host);
        if text(header::ORIGIN).is_some_and(|origin| !is_ours(origin)) {
            return Err(StatusCode::FORBIDDEN);
        }
        let site = text(HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(StatusCode::FORBIDDEN);
        }
        let given = path.split('/').nth(1).unwrap_or_default();
        if !is_same(given.as_bytes(), self.token.as_bytes()) {
            return Err(StatusCode::NOT_FOUND);
        }
        let kind = text(header::CONTENT_TYPE).unwrap_or_default();
        if method == Method::POST && !kind.starts_with("application/json") {
            return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        Ok(())
    }
}

/// Takes as long for any two texts of the same length.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    let differs = left.iter().zip(right).fold(0, |bits, (a, b)| bits | (a ^ b));
    left.len() == right.len() && differs == 0
}

/// Lets those through who may ask, and tells browsers what the answers may be used for.
pub async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let allowed = guard.check(request.method(), request.uri().path(), request.headers());
    let mut response = match allowed {
        Ok(()) => next.run(request).await,
        // Who knows the token is told what to mend.
        Err(status) if status == StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let sentence = "a request needs the header Content-Type: application/json";
            json(status, &Refusal::new("Content-Type", sentence))
        }
        Err(status) => status.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, what: &impl Serialize) -> Response {
    match serde_json::to_vec(what) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_http_need_not_be_named() {
        for (port, host, allowed) in [
            (80, "127.0.0.1", true),
            (80, "localhost:80", true),
            (8080, "127.0.0.1", false),
            (8080, "127.0.0.1:8080", true),
            (80, "elsewhere", false),
        ] {
            let guard = Guard::new(port);
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            let path = format!("/{}/", guard.token());
            let checked = guard.check(&Method::GET, &path, &headers);
            assert_eq!(checked.is_ok(), allowed, "{host} at {port}");
        }
    }
}
