//! Options that hold several numbers, written `key=value,key=value`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads such a text as a config file's table of the same keys would be read.
///
/// # Errors
/// A sentence with `example`, a text that is right.
pub(crate) fn from_pairs<T: DeserializeOwned>(text: &str, example: &str) -> Result<T, String> {
    let mut table = Map::new();
    for part in text.split(',').map(str::trim) {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!("\"{part}\" is not of the form key=value; write for example {example}")
        })?;
        // What is not a number and neither true nor false is a word.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        if table.insert(key.to_owned(), value).is_some() {
            return Err(format!("\"{key}\" is given twice"));
        }
    }
    serde_json::from_value(Value::Object(table))
        .map_err(|error| format!("{error}; write for example {example}"))
}
