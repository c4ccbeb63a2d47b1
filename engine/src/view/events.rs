//! Events: what those who listen are told, and the sentences that wait for who comes later.

use std::sync::Arc;

use serde::Serialize;

/// One piece of news: its kind, and what it says as JSON.
#[derive(Clone, Debug)]
pub struct Event {
    /// `state`, `snapshot`, `note` or `review`.
    pub kind: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

impl Event {
    /// Of this kind.
    pub(super) fn of(kind: &'static str, what: &impl Serialize) -> Self {
        // None of the types here can fail to be written.
        let text = serde_json::to_string(what).unwrap_or_else(|_| "{}".to_owned());
        Self { kind, data: text.into() }
    }

    /// A sentence for people; `is_kept` = it is told to each new listener too, who may know it.
    pub(super) fn note(text: &str, is_kept: bool) -> Self {
        Self::of("note", &Note { text, is_kept })
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Note<'a> {
    text: &'a str,
    is_kept: bool,
}

/// What was said of the device, for those who come later: it is started before a browser is there.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// Most of them; the oldest go first.
    const MOST: usize = 8;

    /// Keeps one more, each sentence once.
    pub(super) fn add(&mut self, text: &str) {
        self.0.retain(|kept| kept != text);
        self.0.push(text.to_owned());
        if self.0.len() > Self::MOST {
            self.0.remove(0);
        }
    }

    /// All of them as events, the oldest first.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.0.iter().map(|text| Event::note(text, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::history::Recording;
    use crate::view::hub::Hub;
    use crate::view::messages::PositionOrder;

    #[test]
    fn who_comes_later_is_told_of_the_device() {
        let line = PositionOrder::default().game().unwrap();
        let hub = Hub::new(line, None, Some(Recording::default()));
        let told = || {
            let (known, _) = hub.listen();
            let notes = known.iter().filter(|event| event.kind == "note");
            notes.map(|event| event.data.to_string()).collect::<Vec<_>>()
        };
        hub.note("in passing");
        hub.keep_note("the GPU failed");
        assert_eq!(told(), [r#"{"text":"the GPU failed","isKept":true}"#]);
        hub.forget_notes();
        assert!(told().is_empty());
    }

    #[test]
    fn the_last_sentences_are_kept_once_each() {
        let mut notes = Notes::default();
        for text in ["a", "b", "a"] {
            notes.add(text);
        }
        let said: Vec<_> = notes.events().map(|event| event.data.to_string()).collect();
        assert_eq!(said, [r#"{"text":"b","isKept":true}"#, r#"{"text":"a","isKept":true}"#]);
        for number in 0..20 {
            notes.add(&number.to_string());
        }
        assert_eq!(notes.events().count(), Notes::MOST);
        assert!(notes.events().last().unwrap().data.contains("19"));
    }
}
