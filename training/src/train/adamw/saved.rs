//! The optimizer's state as a file, and whether it fits a network.

use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use tesla_nn::model::Model;

use super::{Moments, State};

/// Why saved moments could not be used.
#[derive(Debug, thiserror::Error)]
#[error("optimizer state: {0}")]
pub struct StateError(String);

impl State {
    /// The moments as the bytes of a safetensors file.
    ///
    /// # Errors
    /// When a tensor cannot be serialised.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StateError> {
        let mut rows: Vec<(String, Vec<u8>)> = Vec::new();
        for (path, moments) in &self.moments {
            for (kind, tensor) in [("first", &moments.first), ("second", &moments.second)] {
                let values: Vec<f32> = tensor
                    .clone()
                    .into_data()
                    .try_to_vec()
                    .map_err(|e| StateError(format!("{e:?}")))?;
                let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                rows.push((format!("{path}/{kind}"), bytes));
            }
        }
        let views: Result<Vec<_>, _> = rows
            .iter()
            .map(|(name, bytes)| {
                TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes).map(|v| (name.clone(), v))
            })
            .collect();
        let views = views.map_err(|e| StateError(e.to_string()))?;
        let metadata = HashMap::from([("steps".to_owned(), self.steps.to_string())]);
        safetensors::serialize(views, Some(metadata)).map_err(|e| StateError(e.to_string()))
    }

    /// The moments that [`State::to_bytes`] wrote.
    ///
    /// # Errors
    /// When the bytes are damaged.
    pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, StateError> {
        let damaged = |e: safetensors::SafeTensorError| StateError(e.to_string());
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let steps = header.metadata().as_ref().and_then(|m| m.get("steps")?.parse().ok());
        let steps = steps.ok_or_else(|| StateError("no step count".to_owned()))?;
        let read = |name: &str| -> Result<Tensor<1>, StateError> {
            let view = tensors.tensor(name).map_err(damaged)?;
            if view.dtype() != Dtype::F32 {
                return Err(StateError(format!("{name} holds {:?}", view.dtype())));
            }
            let values: Vec<f32> = view
                .data()
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            if values.iter().any(|value| !value.is_finite()) {
                return Err(StateError(format!("{name} holds values that are not numbers")));
            }
            let length = values.len();
            Ok(Tensor::from_data(TensorData::new(values, [length]), device))
        };
        let mut moments = BTreeMap::new();
        for name in tensors.names() {
            if let Some(path) = name.strip_suffix("/first") {
                let first = read(name)?;
                let second = read(&format!("{path}/second"))?;
                moments.insert(path.to_owned(), Moments { first, second });
            }
        }
        Ok(Self { steps, moments })
    }

    /// Whether the moments are of this model's parameters.
    ///
    /// # Errors
    /// Names the first tensor that is missing or has another length.
    pub fn check(&self, model: &Model) -> Result<(), StateError> {
        let mut fit = Fit { state: self, path: Vec::new(), misfit: None };
        model.visit(&mut fit);
        match fit.misfit {
            // Before its first step a run has no moments.
            Some(_) if self.steps == 0 => Ok(()),
            Some(path) => Err(StateError(format!("{path} does not fit the network"))),
            None => Ok(()),
        }
    }
}

struct Fit<'a> {
    state: &'a State,
    path: Vec<String>,
    misfit: Option<String>,
}

impl burn::module::ModuleVisitor for Fit<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let length = param.val().shape().num_elements();
        let path = self.path.join(".");
        let fits = self.state.moments.get(&path).is_some_and(|moments| {
            [&moments.first, &moments.second].iter().all(|tensor| tensor.dims() == [length])
        });
        if !fits {
            self.misfit.get_or_insert(path);
        }
    }
}
