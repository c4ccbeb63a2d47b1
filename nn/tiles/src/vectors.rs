//! The same sums by AVX-512's bf16 instructions, for processors that have these but no tiles: AMD's
//! from Zen 4 on.

#![expect(unsafe_code, reason = "only the caller of these instructions knows that they exist")]

use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps, _mm512_setzero_ps};
use std::mem::transmute;

use super::{Block, Row, SIDE};

/// Rows of sums that stay in registers: with two vectors each they take 16 of 32.
const TALL: usize = 8;

/// The processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vectors(());

impl Vectors {
    /// `None` where the processor or the system lacks them.
    pub(super) fn find() -> Option<Self> {
        let has_instructions =
            is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16");
        has_instructions.then_some(Self(()))
    }
}

/// [`super::Tiles::multiply`]; the caller has checked the lengths.
pub(super) fn multiply(
    _: Vectors,
    left: &[Row],
    right: &[Row],
    depth: usize,
    blocks: &mut [Block],
) {
    // SAFETY: there is a `Vectors`, so the processor has the instructions.
    unsafe { multiply_blocks(left, right, depth, blocks) };
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn multiply_blocks(left: &[Row], right: &[Row], depth: usize, blocks: &mut [Block]) {
    for (block, right) in blocks.iter_mut().zip(right.chunks_exact(2 * depth * SIDE)) {
        let right = right.split_at(depth * SIDE);
        let groups = block.0.as_chunks_mut::<TALL>().0;
        for (group, sums) in groups.iter_mut().enumerate() {
            // Of the upper or lower row of tiles, a half of each.
            let (tiles, part) = (group / (SIDE / TALL) * depth, group % (SIDE / TALL));
            let left = left[tiles * SIDE..].as_chunks::<TALL>().0[part..].iter();
            let answers = sum(left.step_by(SIDE / TALL), right);
            for (sums, [near, far]) in sums.iter_mut().zip(answers) {
                sums[..SIDE].copy_from_slice(&near);
                sums[SIDE..].copy_from_slice(&far);
            }
        }
    }
}

/// Rows of sums: of 16 columns on the left, and of as many on the right.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
fn sum<'a>(
    left: impl Iterator<Item = &'a [Row; TALL]>,
    (near, far): (&[Row], &[Row]),
) -> [[[f32; SIDE]; 2]; TALL] {
    let mut sums = [[_mm512_setzero_ps(); 2]; TALL];
    let right = near.as_chunks::<SIDE>().0.iter().zip(far.as_chunks::<SIDE>().0);
    for (rows, (near, far)) in left.zip(right) {
        for (pair, (near, far)) in near.iter().zip(far).enumerate() {
            let (near, far) = (numbers(near.0), numbers(far.0));
            for (sums, row) in sums.iter_mut().zip(rows) {
                let left = numbers([row.0[pair]; SIDE]);
                sums[0] = _mm512_dpbf16_ps(sums[0], left, near);
                sums[1] = _mm512_dpbf16_ps(sums[1], left, far);
            }
        }
    }
    sums.map(|row| row.map(|sums| plain(sums)))
}

/// 32 numbers of bf16, two in a word.
#[target_feature(enable = "avx512f")]
#[inline]
fn numbers(words: [u32; SIDE]) -> __m512bh {
    // SAFETY: both are 64 bytes, any of which are numbers.
    unsafe { transmute(words) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn plain(sums: __m512) -> [f32; SIDE] {
    // SAFETY: as above.
    unsafe { transmute(sums) }
}
