//! The JSON Schema of queries and answers, made from the types and kept for other programs.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::query::{Defaults, Query};
use super::reply::Reply;
use crate::search::snapshot::VERSION;
use crate::setup::mode::SearchMode;

/// The schema of a type, as text, with fields that must be there.
fn schema<T: JsonSchema>(title: &str, required: &[&str]) -> String {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("version".to_owned(), VERSION.into());
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

/// Compares with what is kept; with `WRITE_SCHEMA` set, writes that anew.
fn compare(file: &str, schema: &str) {
    let path = format!("{}/../docs/analyse/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WRITE_SCHEMA").is_some() {
        std::fs::write(&path, schema).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == schema,
        "docs/analyse/{file} is not the schema of the types. Run this test with WRITE_SCHEMA=1; \
         where old readers would misread the new layout, raise VERSION in search/snapshot.rs"
    );
}

#[test]
fn the_schema_is_the_types() {
    // The type has a default for every field, so that they can be read one by one.
    let query = schema::<Query>("A query of tesla analyse", &["id"]);
    compare("query.schema.json", &query);
    compare("reply.schema.json", &schema::<Reply>("An answer of tesla analyse", &[]));
}

/// Fields are read one by one, so that a fault has a name: none may be forgotten.
#[test]
fn every_field_of_the_schema_is_read() {
    let schema: Value = serde_json::from_str(&schema::<Query>("", &[])).unwrap();
    let names = schema["properties"].as_object().unwrap();
    assert!(names.len() > 10);
    for name in names.keys() {
        let value = if name == "id" { "\"1\"" } else { "{\"no\": \"such value\"}" };
        let line = format!("{{\"id\": \"1\", \"{name}\": {value}}}");
        let read = Query::read(&line);
        match read {
            Err(refusal) => {
                assert_eq!(refusal.field.as_ref(), Some(name));
                assert!(!refusal.error.contains("no such field"), "{name}: {}", refusal.error);
            }
            Ok(_) => assert_eq!(name, "id"),
        }
    }
    let unknown = Query::read("{\"id\": \"1\", \"knodes\": 1}").unwrap_err();
    assert_eq!((unknown.field.as_deref(), unknown.id.as_deref()), (Some("knodes"), Some("1")));
    let defaults = Defaults { nodes: 1, search: SearchMode::Tesla };
    assert!(Query::read("{\"id\": \"1\"}").unwrap().order(defaults).is_ok());
}
