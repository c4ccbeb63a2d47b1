//! The widest vectors of this machine, found at run time.

use pulp::{Simd, WithSimd};

/// Floats per cache line, which is also the widest vector.
pub(crate) const LINE: usize = 16;

/// Runs `work` on the widest vectors there are.
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            return Simd::vectorize(simd, work);
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            return Simd::vectorize(simd, work);
        }
    }
    pulp::Arch::new().dispatch(work)
}

/// How many floats [`dispatch`]'s vectors hold.
pub(crate) fn lanes() -> usize {
    struct Lanes;
    impl WithSimd for Lanes {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    dispatch(Lanes)
}

/// Floats that begin at a cache line: a vector load never straddles two lines.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    data: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let data = vec![0.0_f32; len + LINE];
        let start = data.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
        Self { data, start, len }
    }

    /// A copy of `values`.
    pub(crate) fn of(values: &[f32]) -> Self {
        let mut aligned = Self::zeros(values.len());
        aligned.get_mut().copy_from_slice(values);
        aligned
    }

    /// Makes room for at least `len` floats; what was in it is lost when it grows.
    pub(crate) fn reserve(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeros(len.next_power_of_two());
        }
    }

    /// The floats.
    #[inline]
    pub(crate) fn get(&self) -> &[f32] {
        &self.data[self.start..self.start + self.len]
    }

    /// The floats.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.start..self.start + self.len]
    }
}
