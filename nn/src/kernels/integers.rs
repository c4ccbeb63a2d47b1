//! Vectors that multiply 16-bit integers, two a lane.

use std::mem::discriminant;

use pulp::Simd;
#[cfg(target_arch = "x86_64")]
use pulp::bytemuck::cast;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

#[cfg(target_arch = "x86_64")]
pulp::simd_type!({
    /// [`V4`] with AVX-512 VNNI, where a product of pairs and its sum are one instruction. The
    /// compiler finds it: nothing is called that V4 does not have.
    struct Dot {
        avx512f: f!("avx512f"),
        avx512bw: f!("avx512bw"),
        avx512cd: f!("avx512cd"),
        avx512dq: f!("avx512dq"),
        avx512vl: f!("avx512vl"),
        avx512vnni: f!("avx512vnni"),
        bmi2: f!("bmi2"),
        fma: f!("fma"),
        lzcnt: f!("lzcnt"),
        popcnt: f!("popcnt"),
    }
});

/// Vectors whose lanes may hold two 16-bit integers each, the first in the low half.
pub(crate) trait Pairs: Simd {
    /// `sum + a₀ b₀ + a₁ b₁` in every lane; it must not overflow.
    fn multiply_pairs(self, a: Self::i32s, b: Self::i32s, sum: Self::i32s) -> Self::i32s;

    /// Every integer as a float, rounded.
    fn to_floats(self, x: Self::i32s) -> Self::f32s;

    /// Every float as the nearest integer; it must fit.
    fn to_integers(self, x: Self::f32s) -> Self::i32s;

    /// Of each of the first `parts` vectors the sum of its `parts` equal parts (1, 2 or 4 of at
    /// least four lanes), side by side.
    fn fold(self, vectors: [Self::f32s; 4], parts: usize) -> Self::f32s;

    /// `part` (4 lanes, 8 or all) again and again.
    fn repeat(self, part: &[f32]) -> Self::f32s;
}

#[cfg(target_arch = "x86_64")]
impl Pairs for V4 {
    #[inline(always)]
    fn multiply_pairs(self, a: Self::i32s, b: Self::i32s, sum: Self::i32s) -> Self::i32s {
        self.add_i32s(sum, cast(self.avx512bw._mm512_madd_epi16(cast(a), cast(b))))
    }

    #[inline(always)]
    fn to_floats(self, x: Self::i32s) -> Self::f32s {
        cast(self.avx512f._mm512_cvtepi32_ps(cast(x)))
    }

    #[inline(always)]
    fn to_integers(self, x: Self::f32s) -> Self::i32s {
        cast(self.avx512f._mm512_cvtps_epi32(cast(x)))
    }

    #[inline(always)]
    fn fold(self, vectors: [Self::f32s; 4], parts: usize) -> Self::f32s {
        let unit = self.avx512f;
        let halves = |a: Self::f32s, b: Self::f32s| {
            let low = cast(unit._mm512_shuffle_f32x4::<0x44>(cast(a), cast(b)));
            self.add_f32s(low, cast(unit._mm512_shuffle_f32x4::<0xee>(cast(a), cast(b))))
        };
        let [a, b, c, d] = vectors;
        match parts {
            1 => a,
            2 => halves(a, b),
            _ => {
                let (a, b) = (halves(a, b), halves(c, d));
                let even = cast(unit._mm512_shuffle_f32x4::<0x88>(cast(a), cast(b)));
                self.add_f32s(even, cast(unit._mm512_shuffle_f32x4::<0xdd>(cast(a), cast(b))))
            }
        }
    }

    #[inline(always)]
    fn repeat(self, part: &[f32]) -> Self::f32s {
        match *part {
            [a, b, c, d] => cast(self.avx512f._mm512_broadcast_f32x4(cast([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => {
                cast(self.avx512dq._mm512_broadcast_f32x8(cast([a, b, c, d, e, f, g, h])))
            }
            _ => Self::as_simd_f32s(part).0[0],
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Pairs for V3 {
    #[inline(always)]
    fn multiply_pairs(self, a: Self::i32s, b: Self::i32s, sum: Self::i32s) -> Self::i32s {
        self.add_i32s(sum, cast(self.avx2._mm256_madd_epi16(cast(a), cast(b))))
    }

    #[inline(always)]
    fn to_floats(self, x: Self::i32s) -> Self::f32s {
        cast(self.avx._mm256_cvtepi32_ps(cast(x)))
    }

    #[inline(always)]
    fn to_integers(self, x: Self::f32s) -> Self::i32s {
        cast(self.avx._mm256_cvtps_epi32(cast(x)))
    }

    #[inline(always)]
    fn fold(self, vectors: [Self::f32s; 4], parts: usize) -> Self::f32s {
        let [a, b, ..] = vectors;
        if parts == 1 {
            return a;
        }
        let low = cast(self.avx._mm256_permute2f128_ps::<0x20>(cast(a), cast(b)));
        self.add_f32s(low, cast(self.avx._mm256_permute2f128_ps::<0x31>(cast(a), cast(b))))
    }

    #[inline(always)]
    fn repeat(self, part: &[f32]) -> Self::f32s {
        match *part {
            [a, b, c, d] => cast([a, b, c, d, a, b, c, d]),
            _ => Self::as_simd_f32s(part).0[0],
        }
    }
}

/// Work on such vectors.
pub(crate) trait WithPairs {
    /// Its answer.
    type Output;

    /// Does it.
    fn with_pairs<S: Pairs>(self, simd: S) -> Self::Output;
}

/// Vectors of this kind that the machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Dot(Dot, V4),
    #[cfg(target_arch = "x86_64")]
    V4(V4),
    #[cfg(target_arch = "x86_64")]
    V3(V3),
}

/// The instructions' kind alone tells units apart.
impl PartialEq for Unit {
    fn eq(&self, other: &Self) -> bool {
        discriminant(&self.0) == discriminant(&other.0)
    }
}

impl Unit {
    /// The fastest; nothing where the processor has none.
    pub(crate) fn find() -> Option<Self> {
        Self::all().into_iter().next()
    }

    /// All that this machine has, the fastest first.
    pub(crate) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let v4 = V4::try_new();
            let dot = Dot::try_new().zip(v4).map(|(dot, v4)| Kind::Dot(dot, v4));
            let kinds = [dot, v4.map(Kind::V4), V3::try_new().map(Kind::V3)];
            kinds.into_iter().flatten().map(Self).collect()
        }
        #[cfg(not(target_arch = "x86_64"))]
        Vec::new()
    }

    /// Lanes of a vector.
    pub(crate) fn lanes(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Dot(..) | Kind::V4(_) => V4::F32_LANES,
            #[cfg(target_arch = "x86_64")]
            Kind::V3(_) => V3::F32_LANES,
        }
    }

    /// Does `work` on them.
    #[inline(always)]
    pub(crate) fn run<W: WithPairs>(self, work: W) -> W::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Dot(dot, simd) => dot.vectorize(On { simd, work }),
            #[cfg(target_arch = "x86_64")]
            Kind::V4(simd) => simd.vectorize(On { simd, work }),
            #[cfg(target_arch = "x86_64")]
            Kind::V3(simd) => simd.vectorize(On { simd, work }),
        }
    }
}

struct On<S, W> {
    simd: S,
    work: W,
}

impl<S: Pairs, W: WithPairs> pulp::NullaryFnOnce for On<S, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.work.with_pairs(self.simd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Check;

    impl WithPairs for Check {
        type Output = ();

        #[inline(always)]
        fn with_pairs<S: Pairs>(self, simd: S) {
            let lanes = S::F32_LANES;
            let floats = |start: usize| (start..start + lanes).map(|i| i as f32).collect();
            let vectors: [Vec<f32>; 4] = std::array::from_fn(|v| floats(v * 100));
            for parts in [1, 2, 4].into_iter().filter(|parts| lanes / parts >= 4) {
                let read = |v: usize| S::as_simd_f32s(&vectors[v]).0[0];
                let mut sums = vec![0.0; lanes];
                S::as_mut_simd_f32s(&mut sums).0[0] = simd.fold(std::array::from_fn(read), parts);
                let width = lanes / parts;
                for (lane, sum) in sums.iter().enumerate() {
                    let places =
                        (0..parts).map(|p| vectors[lane / width][lane % width + p * width]);
                    assert!((sum - places.sum::<f32>()).abs() < 1e-3, "{parts} parts, {lane}");
                }
                let mut repeated = vec![0.0; lanes];
                S::as_mut_simd_f32s(&mut repeated).0[0] = simd.repeat(&vectors[0][..width]);
                assert!(repeated.iter().enumerate().all(|(lane, x)| *x as usize == lane % width));
            }
            let pair = |low: i16, high: i16| i32::from(high) << 16 | i32::from(low) & 0xffff;
            let sum = simd.multiply_pairs(
                simd.splat_i32s(pair(-3, 1000)),
                simd.splat_i32s(pair(7, -32_000)),
                simd.splat_i32s(5),
            );
            let mut answer = vec![0.0; lanes];
            S::as_mut_simd_f32s(&mut answer).0[0] = simd.to_floats(sum);
            assert!(answer.iter().all(|x| *x as i32 == 5 - 21 - 32_000_000));
            let mut rounded = vec![0; lanes];
            S::as_mut_simd_i32s(&mut rounded).0[0] = simd.to_integers(simd.splat_f32s(-7.4));
            assert!(rounded.iter().all(|&x| x == -7));
        }
    }

    #[test]
    fn every_kind_of_vector_does_what_it_says() {
        for unit in Unit::all() {
            unit.run(Check);
        }
    }
}
