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
    use crate::setup::settings::Settings;
    use crate::view::desk::Desk;
    use crate::view::kept::Recording;
    use crate::view::messages::PositionOrder;

    #[test]
    fn who_comes_later_is_told_of_the_device() {
        let line = PositionOrder::default().game().unwrap();
        // With a recording no device is started, so nothing else is said.
        let replay = Some(Recording::default());
        let desk = Desk::start(&Settings::default(), line, None, replay);
        let told = || {
            let (known, _) = desk.listen();
            let notes = known.iter().filter(|event| event.kind == "note");
            notes.map(|event| event.data.to_string()).collect::<Vec<_>>()
        };
        desk.note("in passing");
        desk.keep_note("the GPU failed");
        assert_eq!(told(), [r#"{"text":"the GPU failed","isKept":true}"#]);
        desk.forget_notes();
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
