//! The static value of a position.
//!
//! A sum of terms, each for White minus the same for Black, each with a middlegame and an endgame
//! weight. All weights are in centipawns; those beside the piece-square tables are round numbers
//! of the size that the literature gives them, not fitted to data.

use shakmaty::{Bitboard, Board, Chess, Color, Position, Rank, Role, Square, attacks};

use super::tables::{Tapered, piece_square, tapered};

/// Value of the move.
const TEMPO: i32 = 12;
/// Game phase of the start position: minor pieces count 1, rooks 2, queens 4.
const FULL_PHASE: i32 = 24;
const BISHOP_PAIR: Tapered = tapered(25, 45);
const DOUBLED_PAWN: Tapered = tapered(-6, -16);
const ISOLATED_PAWN: Tapered = tapered(-10, -10);
const ROOK_ON_OPEN_FILE: Tapered = tapered(22, 8);
const ROOK_ON_HALF_OPEN_FILE: Tapered = tapered(10, 6);
/// A piece other than a pawn that a pawn attacks.
const ATTACKED_BY_PAWN: Tapered = tapered(-28, -22);
/// A pawn one or two ranks in front of its king, on the king's or a neighbouring file.
const SHIELD_PAWN: Tapered = tapered(9, 0);
/// No pawn of ours on a file at or beside our king.
const OPEN_FILE_AT_KING: Tapered = tapered(-14, 0);
/// A passed pawn by its rank, seen from its own side.
const PASSED: [Tapered; 8] = [
    tapered(0, 0),
    tapered(-4, 6),
    tapered(-4, 12),
    tapered(0, 26),
    tapered(16, 44),
    tapered(28, 68),
    tapered(40, 96),
    tapered(0, 0),
];

/// Mobility: squares a piece usually reaches, then the value of each one more or less.
const MOBILITY: [(i32, Tapered); 4] = [
    (4, tapered(4, 4)),  // knight
    (6, tapered(5, 4)),  // bishop
    (6, tapered(2, 5)),  // rook
    (12, tapered(1, 3)), // queen
];
/// Weight of each square beside the enemy king that a knight, bishop, rook, queen attacks.
const ATTACK_WEIGHT: [i32; 4] = [2, 2, 3, 4];
const LARGEST_ATTACK: i32 = 45;

/// The static value of a position in centipawns from its side to move. It looks at no move: call it
/// where nothing hangs, or let [`quiet_centipawns`](super::quiet_centipawns) resolve the captures.
///
/// Equal for a position and the same with colours exchanged. Never beyond ±10 000.
pub fn centipawns(position: &Chess) -> i32 {
    seen_by(position.turn(), for_white(position.board()))
}

/// What [`centipawns`] says of a board that is worth so much to White, with this side to move.
pub(crate) fn seen_by(turn: Color, for_white: i32) -> i32 {
    (turn.fold_wb(for_white, -for_white) + TEMPO).clamp(-10_000, 10_000)
}

/// The board's part of it, from White's side.
pub(crate) fn for_white(board: &Board) -> i32 {
    let white = Side::new(board, Color::White);
    let black = Side::new(board, Color::Black);
    let sum = white.value(&black) - black.value(&white);
    let phase = (white.phase + black.phase).min(FULL_PHASE);
    let blend = (sum.midgame * phase + sum.endgame * (FULL_PHASE - phase)) / FULL_PHASE;
    match blend.signum() {
        1 => scale(blend, &white, &black),
        -1 => scale(blend, &black, &white),
        _ => 0,
    }
}

/// Shrinks an advantage that cannot be turned into a win: without pawns, and no more than a minor
/// piece ahead.
fn scale(value: i32, ahead: &Side<'_>, behind: &Side<'_>) -> i32 {
    if ahead.pawns.is_empty() {
        let margin = ahead.pieces_value() - behind.pieces_value();
        if ahead.pieces_value() < 500 || ahead.has_only_knights(2) {
            return value / 16; // a lone minor piece does not win, nor do two knights
        }
        if margin <= 350 {
            return value / 4;
        }
    }
    value
}

/// One side's pieces and what they attack.
struct Side<'a> {
    board: &'a Board,
    color: Color,
    ours: Bitboard,
    pawns: Bitboard,
    pawn_attacks: Bitboard,
    king: Square,
    phase: i32,
}

impl<'a> Side<'a> {
    fn new(board: &'a Board, color: Color) -> Self {
        let ours = board.by_color(color);
        let pawns = ours & board.pawns();
        let minor = (ours & (board.knights() | board.bishops())).count() as i32;
        let rooks = (ours & board.rooks()).count() as i32;
        let queens = (ours & board.queens()).count() as i32;
        Self {
            board,
            color,
            ours,
            pawns,
            pawn_attacks: pawn_attacks(pawns, color),
            king: board.king_of(color).unwrap_or(Square::A1),
            phase: minor + 2 * rooks + 4 * queens,
        }
    }

    /// Whether there is nothing but this many knights beside the king.
    fn has_only_knights(&self, count: usize) -> bool {
        let knights = self.ours & self.board.knights();
        knights.count() == count && self.ours.count() == count + 1
    }

    /// Rough value of all pieces but pawns.
    fn pieces_value(&self) -> i32 {
        let count = |role| (self.ours & self.board.by_role(role)).count() as i32;
        325 * (count(Role::Knight) + count(Role::Bishop))
            + 500 * count(Role::Rook)
            + 950 * count(Role::Queen)
    }

    /// All terms for this side.
    fn value(&self, them: &Side<'_>) -> Tapered {
        self.material() + self.activity(them) + self.pawn_structure(them) + self.mating_net(them)
    }

    fn material(&self) -> Tapered {
        let mut sum = Tapered::default();
        for role in Role::ALL {
            for square in self.ours & self.board.by_role(role) {
                sum += piece_square(self.color, role, square);
            }
        }
        let bishops = self.ours & self.board.bishops();
        if (bishops & Bitboard::LIGHT_SQUARES).any() && (bishops & Bitboard::DARK_SQUARES).any() {
            sum += BISHOP_PAIR;
        }
        sum
    }

    /// Mobility, files of the rooks, pieces attacked by pawns, attack on their king.
    fn activity(&self, them: &Side<'_>) -> Tapered {
        let free = !(self.ours | them.pawn_attacks);
        let ring = attacks::king_attacks(them.king);
        let occupied = self.board.occupied();
        let (mut sum, mut attackers, mut attack) = (Tapered::default(), 0, 0);
        for (index, role) in
            [Role::Knight, Role::Bishop, Role::Rook, Role::Queen].into_iter().enumerate()
        {
            for square in self.ours & self.board.by_role(role) {
                let reach = attacks::attacks(square, role.of(self.color), occupied);
                let (usual, each) = MOBILITY[index];
                sum += each * ((reach & free).count() as i32 - usual);
                let aimed = (reach & ring).count() as i32;
                attackers += i32::from(aimed > 0);
                attack += ATTACK_WEIGHT[index] * aimed;
                if role == Role::Rook {
                    sum += self.rook_file(square, them);
                }
            }
        }
        if attackers >= 2 {
            let attack = attack.min(LARGEST_ATTACK);
            sum += tapered(attack * attack / 7, attack * attack / 60);
        }
        let attacked = self.ours & !self.board.pawns() & them.pawn_attacks;
        sum + ATTACKED_BY_PAWN * attacked.count() as i32
    }

    fn rook_file(&self, square: Square, them: &Side<'_>) -> Tapered {
        let file = Bitboard::from_file(square.file());
        match ((self.pawns & file).any(), (them.pawns & file).any()) {
            (false, false) => ROOK_ON_OPEN_FILE,
            (false, true) => ROOK_ON_HALF_OPEN_FILE,
            _ => Tapered::default(),
        }
    }

    /// Doubled, isolated and passed pawns; the king's shield.
    fn pawn_structure(&self, them: &Side<'_>) -> Tapered {
        let mut sum = Tapered::default();
        for pawn in self.pawns {
            let front = front_span(self.color, pawn);
            let file = Bitboard::from_file(pawn.file());
            if (self.pawns & front & file).any() {
                sum += DOUBLED_PAWN;
            }
            if (self.pawns & beside(file)).is_empty() {
                sum += ISOLATED_PAWN;
            }
            if (them.pawns & front).is_empty() && (self.pawns & front & file).is_empty() {
                sum += self.passed(pawn, them);
            }
        }
        let file = Bitboard::from_file(self.king.file());
        let near = file | beside(file);
        let shield = front_span(self.color, self.king) & near & self.pawns & {
            let rank = self.king.rank();
            let up = if self.color.is_white() { 1 } else { -1 };
            let rank_at = |n: i32| rank.offset(n * up).map_or(Bitboard::EMPTY, Bitboard::from_rank);
            rank_at(1) | rank_at(2)
        };
        sum += SHIELD_PAWN * shield.count() as i32;
        for step in -1..=1 {
            if let Some(file) = self.king.file().offset(step)
                && (self.pawns & Bitboard::from_file(file)).is_empty()
            {
                sum += OPEN_FILE_AT_KING;
            }
        }
        sum
    }

    /// A passed pawn: its rank, whether it can go on, and which king is nearer.
    fn passed(&self, pawn: Square, them: &Side<'_>) -> Tapered {
        let rank = relative_rank(self.color, pawn);
        let mut value = PASSED[rank];
        let step = if self.color.is_white() { 8 } else { -8 };
        let Some(stop) = pawn.offset(step) else { return value };
        if self.board.occupied().contains(stop) {
            value = tapered(value.midgame / 2, value.endgame / 2);
        }
        let lead = stop.distance(them.king) as i32 * 2 - stop.distance(self.king) as i32;
        value + tapered(0, lead * (rank as i32 - 1).max(0))
    }

    /// Against a bare king: drive it to the edge and come near.
    fn mating_net(&self, them: &Side<'_>) -> Tapered {
        if them.ours.count() > 1 || self.pieces_value() < 500 {
            return Tapered::default();
        }
        let (file, rank) = (i32::from(them.king.file()), i32::from(them.king.rank()));
        let edge = (2 * file - 7).abs() / 2 + (2 * rank - 7).abs() / 2;
        let near = 7 - self.king.distance(them.king) as i32;
        tapered(0, 200 + 12 * edge + 8 * near)
    }
}

fn relative_rank(color: Color, square: Square) -> usize {
    let rank = usize::from(square.rank());
    if color.is_white() { rank } else { 7 - rank }
}

/// The files to the left and right of a file.
fn beside(file: Bitboard) -> Bitboard {
    let west = Bitboard(file.0 >> 1) & !Bitboard::from_file(shakmaty::File::H);
    let east = Bitboard(file.0 << 1) & !Bitboard::from_file(shakmaty::File::A);
    west | east
}

/// The squares that `pawns` of this colour attack.
pub(super) fn pawn_attacks(pawns: Bitboard, color: Color) -> Bitboard {
    let west = pawns & !Bitboard::from_file(shakmaty::File::A);
    let east = pawns & !Bitboard::from_file(shakmaty::File::H);
    if color.is_white() {
        Bitboard(west.0 << 7 | east.0 << 9)
    } else {
        Bitboard(west.0 >> 9 | east.0 >> 7)
    }
}

/// All squares in front of a pawn here, on its own and the neighbouring files.
fn front_span(color: Color, square: Square) -> Bitboard {
    let file = Bitboard::from_file(square.file());
    let rank = u32::from(square.rank());
    let ahead = match color {
        Color::White if rank == u32::from(Rank::Eighth) => 0,
        Color::White => u64::MAX << (8 * (rank + 1)),
        Color::Black => (1_u64 << (8 * rank)) - 1,
    };
    (file | beside(file)) & Bitboard(ahead)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, EnPassantMode, FromSetup};

    use super::*;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    fn mirrored(position: &Chess) -> Chess {
        let setup = position.to_setup(EnPassantMode::Legal).into_mirrored();
        Chess::from_setup(setup, CastlingMode::Standard).unwrap()
    }

    proptest! {
        #[test]
        fn colours_are_equal(choices in prop::collection::vec(any::<u16>(), 0..150)) {
            let mut position = Chess::default();
            for choice in choices {
                let legal = position.legal_moves();
                if legal.is_empty() || position.is_insufficient_material() {
                    break;
                }
                position.play_unchecked(legal[usize::from(choice) % legal.len()]);
                prop_assert_eq!(centipawns(&position), centipawns(&mirrored(&position)));
            }
        }
    }

    #[test]
    fn the_start_is_worth_the_tempo() {
        assert_eq!(centipawns(&Chess::default()), TEMPO);
    }

    #[test]
    fn more_material_is_better() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKB1R b KQkq - 0 1",
            "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            "4k3/8/8/8/8/8/8/R3K3 w - - 0 1",
        ] {
            assert!(centipawns(&position(fen)) > 80, "{fen}");
        }
    }

    #[test]
    fn a_lone_minor_piece_is_near_a_draw() {
        assert!(centipawns(&position("4k3/8/8/8/8/8/8/B3K3 w - - 0 1")) < 50);
        assert!(centipawns(&position("4k1r1/8/8/8/8/8/8/RB2K3 w - - 0 1")) < 150);
    }

    #[test]
    fn spans_look_ahead() {
        assert_eq!(
            front_span(Color::White, Square::A7),
            Bitboard::from(Square::A8).with(Square::B8)
        );
        assert_eq!(
            front_span(Color::Black, Square::H2),
            Bitboard::from(Square::H1).with(Square::G1)
        );
        assert_eq!(front_span(Color::White, Square::E8), Bitboard::EMPTY);
    }
}
