//! Training with matrices and activations of half the size.

use std::fmt;
use std::str::FromStr;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::Model;

/// The type of the numbers in matrix products and between them. Weights, tables, norms, softmax and
/// losses are f32 in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 24 bits for the digits, 8 for the exponent.
    #[default]
    F32,
    /// 8 bits for the digits, 8 for the exponent.
    Bf16,
    /// 11 bits for the digits, 5 for the exponent: small gradients vanish unless the loss is
    /// scaled.
    F16,
}

impl Precision {
    fn float_type(self) -> FloatDType {
        match self {
            Self::F32 => FloatDType::F32,
            Self::Bf16 => FloatDType::BF16,
            Self::F16 => FloatDType::F16,
        }
    }

    /// Whether the device calculates in it.
    pub fn runs_on(self, device: &Device) -> bool {
        device.supports_dtype(self.float_type())
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::Bf16),
            "f16" => Ok(Self::F16),
            _ => Err(format!("there is no precision called {name}; use f32, bf16 or f16")),
        }
    }
}

impl Model {
    /// The same network for one pass in this precision. It is made within the graph of gradients:
    /// what flows back through it reaches the parameters of `self`, in f32.
    #[must_use]
    pub fn in_precision(&self, precision: Precision) -> Self {
        if precision == Precision::F32 {
            return self.clone();
        }
        self.clone().map(&mut Caster { to: precision.float_type(), is_matrix: Vec::new() })
    }
}

/// Casts what matrix products take. Tables stay: few of their rows are used, and the gradients of a
/// row that is used often are summed in the table's type.
struct Caster {
    to: FloatDType,
    is_matrix: Vec<bool>,
}

impl ModuleMapper for Caster {
    fn enter_module(&mut self, _name: &str, container_type: &str) {
        self.is_matrix.push(container_type == "Struct:Linear");
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.is_matrix.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.is_matrix.last() != Some(&true) {
            return param;
        }
        let (id, tensor, mapper) = param.consume();
        Param::from_mapped_value(id, tensor.cast(self.to), mapper)
    }
}
