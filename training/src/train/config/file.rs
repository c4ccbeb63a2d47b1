//! Training runs as they are written down in TOML.

use std::fmt;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tesla_nn::model::ModelConfig;

use super::TrainConfig;
use crate::disk::toml::{ConfigFileError, read as read_toml};

impl TrainConfig {
    /// This config with what the TOML file at `path` says in place of its own; what the file does
    /// not name stays. Run-specific numbers can still be impossible together, see
    /// [`TrainConfig::check`].
    ///
    /// # Errors
    /// When the file cannot be read, or has a key that there is none of or a value that it cannot
    /// have.
    pub fn overlaid(&self, path: &Path) -> Result<Self, ConfigFileError> {
        let value = |what: String| ConfigFileError::Value { path: path.to_owned(), what };
        // Whole by itself, for a fault is told with its place in the file.
        let alone: Self = read_toml(path)?;
        if alone.positions != 0 || alone.started_from.is_some() {
            return Err(value(
                "positions and started_from are what a run finds out; leave them out".to_owned(),
            ));
        }
        let said: toml::Table = read_toml(path)?;
        let json = |error: serde_json::Error| value(error.to_string());
        let mut merged = serde_json::to_value(self).map_err(json)?;
        lay_over(&mut merged, serde_json::to_value(said).map_err(json)?);
        serde_json::from_value(merged).map_err(json)
    }
}

/// Puts what `over` names in place of what `base` has under that name, table by table.
fn lay_over(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// A shape by name, or with all its sizes.
pub(super) fn shape<'de, D: Deserializer<'de>>(from: D) -> Result<ModelConfig, D::Error> {
    struct Shape;
    impl<'de> Visitor<'de> for Shape {
        type Value = ModelConfig;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("tiny, small, base, or a table of a network's sizes")
        }

        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<ModelConfig, E> {
            ModelConfig::named(name).ok_or_else(|| {
                E::custom(format!("there is no shape {name}; use tiny, small or base"))
            })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelConfig, A::Error> {
            ModelConfig::deserialize(MapAccessDeserializer::new(map))
        }
    }
    from.deserialize_any(Shape)
}

#[cfg(test)]
mod tests {
    use tesla_nn::device::DeviceChoice;
    use tesla_nn::model::Precision;

    use super::*;

    /// What `base` becomes under a file with this text.
    fn overlaid(base: &TrainConfig, text: &str) -> Result<TrainConfig, String> {
        let name = format!("tesla-config-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        let read = base.overlaid(&path).map_err(|error| error.to_string());
        std::fs::remove_file(&path).unwrap();
        read
    }

    #[test]
    fn a_file_changes_what_it_names() {
        let base = TrainConfig { steps: 7, rate: 0.25, ..TrainConfig::default() };
        assert_eq!(overlaid(&base, "").unwrap(), base);
        let text = "model = 'tiny'\nbatch = 5\nrefuted = 0.5\ndevice = 'auto'\nprecision = 'bf16'\n\
                    checkpoint_steps = 10\n[loss]\npolicy = 3\n[optimizer]\nbeta_2 = 0.95\n";
        let read = overlaid(&base, text).unwrap();
        assert_eq!(read.model, ModelConfig::tiny());
        assert_eq!((read.steps, read.batch, read.refuted), (7, 5, Some(0.5)));
        assert_eq!((read.device, read.precision), (DeviceChoice::Auto, Precision::Bf16));
        let (loss, own) = (read.loss, base.loss);
        assert_eq!((loss.policy, loss.value, loss.action), (3.0, own.value, own.action));
        assert_eq!((read.optimizer.beta_2, read.rate), (0.95, 0.25));
        let sizes = "[model]\nname = 'mine'\nwidth = 64\nlayers = 3\nheads = 4\n\
                     feed_forward = 128\nvalue_hidden = 64\nmove_hidden = 32\n";
        assert_eq!(overlaid(&base, sizes).unwrap().model.layers, 3);
    }

    #[test]
    fn a_run_is_told_whole() {
        let config = TrainConfig { checkpoint_steps: Some(3), ..TrainConfig::default() };
        let text = toml::to_string(&TrainConfig { positions: 0, ..config.clone() }).unwrap();
        assert_eq!(overlaid(&TrainConfig::new(ModelConfig::tiny()), &text).unwrap(), config);
    }

    #[test]
    fn faults_are_told() {
        let fault = |text: &str| overlaid(&TrainConfig::default(), text).unwrap_err();
        assert!(fault("stepz = 4").contains("stepz"));
        assert!(fault("[loss]\npolitics = 4").contains("politics"));
        assert!(fault("[optimizer]\nbeta = 4").contains("beta"));
        assert!(fault("[model]\nname = 'x'").contains("width"));
        assert!(fault("model = 'huge'").contains("no shape huge"));
        assert!(fault("steps = -1").contains("line 1"));
        assert!(fault("device = 'abacus'").contains("abacus"));
        assert!(fault("precision = 'f8'").contains("f8"));
        assert!(fault("steps =").contains("line 1"));
        assert!(fault("positions = 5").contains("leave them out"));
        let sizes = "[model]\nname = 'mine'\nwidth = 64\nlayers = 3\nheads = 4\n\
                     feed_forward = 128\nvalue_hidden = 64\nmove_hidden = 32\ndepth = 4\n";
        assert!(fault(sizes).contains("depth"));
    }

    #[test]
    fn the_configs_in_the_repository_are_whole() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/configs"));
        let mut shapes = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let head: String = text.lines().take_while(|line| line.starts_with('#')).collect();
            if head.contains("tesla-train match --config") {
                continue; // read by the matches' own test
            }
            assert!(
                head.contains("tesla-train train --config"),
                "{} is for nothing",
                path.display()
            );
            let config = TrainConfig::default().overlaid(&path).unwrap();
            config.check().unwrap();
            assert_eq!(path.file_stem().unwrap().to_str(), Some(config.model.name.as_str()));
            assert_eq!(ModelConfig::named(&config.model.name), Some(config.model.clone()));
            shapes.push(config.model.name);
        }
        shapes.sort();
        assert_eq!(shapes, ["base", "small", "tiny"]);
    }

    #[test]
    fn the_configs_of_shipped_networks_are_still_read() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../models"));
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let config = std::fs::read(&path).unwrap();
                let config: TrainConfig = serde_json::from_slice(&config).unwrap();
                config.check().unwrap();
                count += 1;
            }
        }
        assert!(count >= 1);
    }
}
