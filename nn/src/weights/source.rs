//! Tensors of a weights file as floats, for those who arrange them anew.

use half::f16;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use super::graft::Tensor;
use super::{RULES, SITUATIONS, WeightsError, grown, older_rows, todays_rows};

/// Linear layers whose sum with another layer has that one's bias.
const WITHOUT_BIAS: [&str; 2] = ["move_captured", "move_readout"];

/// The tensors of a weights file.
pub(crate) struct Source<'a>(pub(crate) SafeTensors<'a>);

impl Source<'_> {
    /// A tensor of this shape.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let tensor = self.view(name)?;
        if tensor.shape() != shape {
            let actual = tensor.shape();
            return Err(WeightsError::Misfit(format!("{name} is {actual:?}, wanted {shape:?}")));
        }
        floats(name, &tensor)
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>, WeightsError> {
        self.0.tensor(name).map_err(|error| WeightsError::Misfit(error.to_string()))
    }

    /// A tensor of any shape; the tables of an older file with today's rows.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn tensor(&self, name: &str) -> Result<Tensor, WeightsError> {
        let view = self.view(name)?;
        let mut shape = view.shape().to_vec();
        let mut values = floats(name, &view)?;
        if let Some(rows) = older_rows(&self.0, name) {
            values = grown(name, &values, rows);
            shape[0] = todays_rows(name);
        }
        Ok(Tensor { shape, values })
    }

    /// The rule table `[111, width]`; the rows that an older file does not have are zeros.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn rules(&self, width: usize) -> Result<Vec<f32>, WeightsError> {
        self.grown(RULES, width)
    }

    /// The table of moves' situations `[6000, hidden]`; in an older file, moves that it does not
    /// tell apart have the same row.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn situations(&self, hidden: usize) -> Result<Vec<f32>, WeightsError> {
        self.grown(SITUATIONS, hidden)
    }

    fn grown(&self, name: &str, width: usize) -> Result<Vec<f32>, WeightsError> {
        let Tensor { shape, values } = self.tensor(name)?;
        let wanted = [todays_rows(name), width];
        if shape != wanted {
            let told = format!("{name} is {shape:?}, wanted {wanted:?}");
            return Err(WeightsError::Misfit(told));
        }
        Ok(values)
    }

    /// Weights `[k, m]` and bias of a linear layer after a norm's `scale` (empty: none).
    ///
    /// # Errors
    /// When there is no such layer.
    pub(crate) fn linear(
        &self,
        name: &str,
        k: usize,
        m: usize,
        scale: &[f32],
    ) -> Result<Linear, WeightsError> {
        let mut weights = self.read(&format!("{name}.weight"), &[k, m])?;
        for (row, scale) in weights.chunks_exact_mut(m).zip(scale) {
            for w in row {
                *w *= scale;
            }
        }
        let bias = if WITHOUT_BIAS.contains(&name) {
            vec![0.0; m]
        } else {
            self.read(&format!("{name}.bias"), &[m])?
        };
        Ok(Linear { weights, bias, k, m })
    }
}

/// The numbers of a tensor.
///
/// # Errors
/// When they are neither f16 nor f32.
pub(super) fn floats(name: &str, tensor: &TensorView<'_>) -> Result<Vec<f32>, WeightsError> {
    match tensor.dtype() {
        Dtype::F16 => {
            let halves = tensor.data().as_chunks::<2>().0.iter();
            Ok(halves.map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect())
        }
        Dtype::F32 => {
            let words = tensor.data().as_chunks::<4>().0.iter();
            Ok(words.map(|&bytes| f32::from_le_bytes(bytes)).collect())
        }
        other => Err(WeightsError::Foreign(format!("{name} holds {other:?}"))),
    }
}

/// A linear layer.
pub(crate) struct Linear {
    /// `[k, m]`.
    pub(crate) weights: Vec<f32>,
    /// `[m]`.
    pub(crate) bias: Vec<f32>,
    /// Inputs.
    pub(crate) k: usize,
    /// Outputs.
    pub(crate) m: usize,
}
