//! What a request to stop is about: a search and a review run side by side.

use serde::{Deserialize, Serialize};

/// Stop this; both if it is not said which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopOrder {
    /// Which of them.
    #[serde(default)]
    pub what: Option<Stoppable>,
}

/// What can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stoppable {
    /// The search of the position on the board.
    Search,
    /// The review of a game.
    Review,
}

impl StopOrder {
    /// Whether that is to end.
    pub fn ends(self, what: Stoppable) -> bool {
        self.what.is_none_or(|asked| asked == what)
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::setup::mode::EvaluatorKind;
    use crate::setup::settings::Settings;
    use crate::view::controller::Controller;
    use crate::view::messages::{GoOrder, PositionOrder, ReviewOrder, read};

    #[test]
    fn one_of_them_ends_or_both_do() {
        let ends = |text: &str| {
            let order: StopOrder = read(text.as_bytes()).unwrap();
            [Stoppable::Search, Stoppable::Review].map(|what| order.ends(what))
        };
        assert_eq!(ends("{}"), [true, true]);
        assert_eq!(ends(r#"{"what": "search"}"#), [true, false]);
        assert_eq!(ends(r#"{"what": "review"}"#), [false, true]);
        let refused = read::<StopOrder>(br#"{"what": "time"}"#).unwrap_err();
        assert_eq!(refused.field, "what");
        assert_eq!(read::<StopOrder>(br#"{"why": 1}"#).unwrap_err().field, "why");
    }

    /// Waits until somebody who comes now is told this, under this name.
    fn wait(controller: &Controller, kind: &str, words: &str) {
        let is_told = || {
            let (known, _) = controller.hub().listen();
            known.iter().any(|event| event.kind == kind && event.data.contains(words))
        };
        for _ in 0..6000 {
            if is_told() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("no {kind} with {words}");
    }

    #[test]
    fn the_end_of_a_search_leaves_the_review() {
        let mut settings = Settings::default();
        settings.machine.evaluator = EvaluatorKind::Classical;
        let line = PositionOrder::default().game().unwrap();
        let controller = Controller::start(&settings, line, None, None);
        controller.review(&ReviewOrder { pgn: "1. e4 *".to_owned(), nodes: 100_000_000 }).unwrap();
        wait(&controller, "review", r#""isStopped":false"#);
        assert!(controller.go(&GoOrder::default()).unwrap().running);
        controller.stop(StopOrder { what: Some(Stoppable::Search) }).unwrap();
        wait(&controller, "state", r#""running":false"#);
        // A review that was told to stop says so sooner than this.
        sleep(Duration::from_millis(200));
        wait(&controller, "review", r#""isStopped":false"#);
        assert!(controller.go(&GoOrder::default()).unwrap().running);
        controller.stop(StopOrder { what: Some(Stoppable::Review) }).unwrap();
        wait(&controller, "review", r#""isStopped":true"#);
        wait(&controller, "state", r#""running":true"#);
        controller.end();
    }
}
