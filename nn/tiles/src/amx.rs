//! The instructions of matrix tiles.

#![expect(unsafe_code, reason = "Rust has no stable intrinsics for matrix tiles")]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

use super::{Block, Row, SIDE};

/// `arch_prctl`'s request for the use of a part of the processor's state.
const REQUEST_PERMISSION: libc::c_long = 0x1023;
/// The part that holds the tiles' data.
const TILE_DATA: libc::c_long = 18;

/// The processor has tiles with bf16 products and the system lets this process use them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amx(());

impl Amx {
    /// `None` where they are missing. The first call asks the system.
    pub(super) fn find() -> Option<Self> {
        static IS_ALLOWED: OnceLock<bool> = OnceLock::new();
        IS_ALLOWED.get_or_init(|| has_instructions() && is_granted()).then_some(Self(()))
    }
}

fn has_instructions() -> bool {
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    // Leaf 7 of a processor that has no such leaf holds the data of its last one.
    let has_leaf = __cpuid_count(0, 0).eax >= 7;
    has_leaf && __cpuid_count(7, 0).edx & (BF16 | TILE) == BF16 | TILE
}

/// Asks Linux, which gives the tiles' 8 KiB only to processes that want them (since 5.16; older
/// systems do not know the request, and say so).
fn is_granted() -> bool {
    // SAFETY: the request changes nothing but what this process may use.
    let answer = unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) };
    answer == 0
}

/// What `ldtilecfg` reads: shapes of the eight tiles.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_per_row: [u16; 16],
    rows: [u8; 16],
}

/// All eight tiles of 16 rows of 64 bytes.
static FULL: Shapes = Shapes {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    bytes_per_row: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// [`super::Tiles::multiply`]; the caller has checked the lengths.
pub(super) fn multiply(_: Amx, left: &[Row], right: &[Row], depth: usize, blocks: &mut [Block]) {
    // SAFETY: there is an `Amx`, so the instruction exists and is allowed; `FULL` is a valid
    // description of 64 bytes, aligned.
    unsafe {
        asm!("ldtilecfg [{shapes}]", shapes = in(reg) &raw const FULL,
            options(nostack, readonly, preserves_flags));
    }
    let tall = depth * SIDE;
    for (block, right) in blocks.iter_mut().zip(right.chunks_exact(2 * tall)) {
        multiply_block([&left[..tall], &left[tall..]], [&right[..tall], &right[tall..]], block);
    }
    // SAFETY: as above; it ends the use of the tiles that began there.
    unsafe {
        asm!("tilerelease", options(nomem, nostack, preserves_flags));
    }
}

/// Two by two tiles; the tiles have their shapes.
fn multiply_block(left: [&[Row]; 2], right: [&[Row]; 2], block: &mut Block) {
    let depth = left[0].len() / SIDE;
    assert!(depth > 0 && left.iter().chain(&right).all(|rows| rows.len() == depth * SIDE));
    // SAFETY: `multiply`, the only caller, has set the shapes of the tiles. Each of the four lists
    // holds `depth` tiles of 1024 bytes, and the loop reads one of each `depth` times. The block
    // takes 32 rows of 128 bytes, to which the four tiles are written. The compiler uses no tiles.
    unsafe {
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{upper} + {row}*1]",
            "tileloadd tmm6, [{near} + {row}*1]",
            "tileloadd tmm7, [{far} + {row}*1]",
            "tileloadd tmm5, [{lower} + {row}*1]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {upper}, 1024",
            "add {lower}, 1024",
            "add {near}, 1024",
            "add {far}, 1024",
            "dec {depth}",
            "jnz 2b",
            "shl {row}, 1",
            "tilestored [{to} + {row}*1], tmm0",
            "tilestored [{to} + {row}*1 + 64], tmm1",
            "add {to}, 2048",
            "tilestored [{to} + {row}*1], tmm2",
            "tilestored [{to} + {row}*1 + 64], tmm3",
            upper = inout(reg) left[0].as_ptr() => _,
            lower = inout(reg) left[1].as_ptr() => _,
            near = inout(reg) right[0].as_ptr() => _,
            far = inout(reg) right[1].as_ptr() => _,
            depth = inout(reg) depth => _,
            row = inout(reg) 64_usize => _,
            to = inout(reg) block.0.as_mut_ptr() => _,
            options(nostack),
        );
    }
}
