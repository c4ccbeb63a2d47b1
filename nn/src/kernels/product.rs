//! A linear layer: in 16-bit integers where that is wanted and fits, else in floats.

use pulp::Simd;

use super::gemm::{self, Then};
use super::integers::Unit;
use super::short::{self, Rounded};

/// Packed weights and bias.
#[derive(Debug)]
pub(crate) enum Product {
    /// In floats.
    Floats(gemm::Packed),
    /// In 16-bit integers.
    Integers(short::Packed),
}

/// From where to where: `to[n, m] = then(from[n, k] · W + b)`, both row-major without gaps.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) from: &'a [f32],
    pub(crate) to: &'a mut [f32],
    pub(crate) then: Then,
}

impl Product {
    /// Packs `weights` (row-major `[k, m]`) and `bias` (`m`); in integers if there is a `unit`.
    pub(crate) fn new(
        unit: Option<Unit>,
        weights: &[f32],
        bias: &[f32],
        [k, m]: [usize; 2],
    ) -> Self {
        let short = unit.and_then(|unit| short::Packed::new(unit, weights, bias, [k, m]));
        short.map_or_else(|| Self::Floats(gemm::Packed::new(weights, bias, k, m)), Self::Integers)
    }

    /// Runs it; `rounded` is scratch.
    #[inline(always)]
    pub(crate) fn run<S: Simd>(&self, simd: S, step: Step<'_>, rounded: &mut Rounded) {
        let Step { from, to, then } = step;
        match self {
            Self::Floats(packed) => packed.run(simd, from, to, then),
            Self::Integers(packed) => packed.run(from, to, then, rounded),
        }
    }
}
