use shakmaty::{Move, Role};

use super::*;
use crate::chess::game::Game;
use crate::chess::notation::{from_fen, parse, parse_move};
use crate::chess::score::Score;

/// Knows what a test tells it of the material on the board.
struct Made(fn(&Chess) -> Option<(Wdl, i32)>);

impl Prober for Made {
    fn max_pieces(&self) -> usize {
        4
    }

    fn wdl(&self, position: &Chess) -> Result<Option<Wdl>, String> {
        Ok((self.0)(position).map(|(wdl, _)| wdl))
    }

    fn dtz(&self, position: &Chess) -> Result<Option<MaybeRounded<Dtz>>, String> {
        Ok((self.0)(position).map(|(_, dtz)| MaybeRounded::Precise(Dtz(dtz))))
    }
}

/// The side with a rook wins, in as many plies to the next capture as twice the losing king is away
/// from h8.
fn rook_wins(position: &Chess) -> Option<(Wdl, i32)> {
    let board = position.board();
    let rook = board.rooks().first()?;
    let winner = board.color_at(rook)?;
    let way = 2 * board.king_of(!winner)?.distance(shakmaty::Square::H8) as i32 + 2;
    Some(if position.turn() == winner { (Wdl::Win, way) } else { (Wdl::Loss, -way) })
}

fn tables(made: fn(&Chess) -> Option<(Wdl, i32)>) -> Tables {
    Tables::new(Box::new(Made(made)), &TablebaseSettings::default())
}

fn moves(tables: &Tables, position: &str) -> (Vec<String>, Score) {
    let game = parse(position, false).unwrap();
    let advice = tables.advise(&game, &game.position().legal_moves()).unwrap();
    let written = |(m, _): &(Move, Score)| m.to_uci(shakmaty::CastlingMode::Standard).to_string();
    (advice.moves.iter().map(written).collect(), advice.score)
}

#[test]
fn only_positions_after_captures_and_pawn_moves_have_verdicts() {
    let tables = tables(rook_wins);
    let verdict = |fen: &str| tables.verdict(&from_fen(fen, false).unwrap());
    assert_eq!(verdict("8/8/8/4k3/8/8/8/R3K3 w - - 0 1"), Some(Verdict::Win(TABLE_PLIES)));
    assert_eq!(verdict("8/8/8/4k3/8/8/8/R3K3 b - - 0 1"), Some(Verdict::Loss(TABLE_PLIES)));
    assert_eq!(verdict("8/8/8/4k3/8/8/8/R3K3 w - - 1 1"), None, "the clock runs");
    assert_eq!(verdict("8/8/8/4k3/8/8/8/R3K3 w Q - 0 1"), None, "castling");
    assert_eq!(verdict("8/4p3/8/4k3/8/4P3/8/R3K3 w - - 0 1"), None, "five pieces");
    assert_eq!(tables.hits(), 2);
    tables.forget_hits();
    assert_eq!(tables.hits(), 0);
}

#[test]
fn the_fifty_move_rule_counts_or_not() {
    let cursed = |_: &Chess| Some((Wdl::CursedWin, 120));
    let position = from_fen("8/8/8/4k3/8/8/8/R3K3 w - - 0 1", false).unwrap();
    assert_eq!(tables(cursed).verdict(&position), Some(Verdict::Draw));
    let settings = TablebaseSettings { fifty_moves: false, ..TablebaseSettings::default() };
    let lenient = Tables::new(Box::new(Made(cursed)), &settings);
    assert_eq!(lenient.verdict(&position), Some(Verdict::Win(TABLE_PLIES)));
}

#[test]
fn a_won_root_takes_the_shortest_way_and_does_not_repeat() {
    let losing_king_chooses = tables(rook_wins);
    let (all, score) = moves(&losing_king_chooses, "fen 8/8/8/4k3/8/8/8/R3K3 b - - 0 1");
    assert!(matches!(score, Score::Loss(plies) if plies > TABLE_PLIES));
    assert_eq!(all.len(), 8, "a lost root leaves the choice to the search");
    // Each of its moves has the distance of its own, and the root that of the longest.
    let game = parse("fen 8/8/8/4k3/8/8/8/R3K3 b - - 0 1", false).unwrap();
    let advice = losing_king_chooses.advise(&game, &game.position().legal_moves()).unwrap();
    for (played, distance) in [("e5e4", 11), ("e5f6", 7), ("e5f5", 9)] {
        let played = parse_move(played, game.position()).unwrap();
        let lost = Score::Loss(TABLE_PLIES + distance);
        assert_eq!(advice.sharpen(Score::Estimate(0.1), Some(&played)), lost, "{played:?}");
    }
    let longest = advice.moves.iter().map(|(_, score)| score.rank()).max();
    assert_eq!(Some(score.rank()), longest);
    assert!(score.rank() >= Score::Loss(TABLE_PLIES + 11).rank(), "{score:?}");
    // Rook moves are all worth the same here but those that bring a position back.
    let line = "fen 8/8/8/4k3/8/8/8/R3K3 w - - 0 1";
    let (fresh, score) = moves(&losing_king_chooses, line);
    assert!(fresh.contains(&"a1a2".to_owned()), "{fresh:?}");
    assert_eq!(score, Score::Win(TABLE_PLIES + 9));
    let again = format!("{line} moves a1a2 e5d5 a2a1 d5e5");
    assert!(!moves(&losing_king_chooses, &again).0.contains(&"a1a2".to_owned()));
}

#[test]
fn the_clock_of_the_game_spoils_wins() {
    let slow = |position: &Chess| {
        let us = position.board().by_color(position.turn()).count();
        Some(if us > 1 { (Wdl::Win, 30) } else { (Wdl::Loss, -30) })
    };
    let tables = tables(slow);
    let (_, in_time) = moves(&tables, "fen 8/8/8/4k3/8/8/8/R3K3 w - - 60 80");
    assert_eq!(in_time, Score::Win(TABLE_PLIES + 31));
    let (_, too_late) = moves(&tables, "fen 8/8/8/4k3/8/8/8/R3K3 w - - 80 90");
    assert_eq!(too_late, Score::Draw);
}

#[test]
fn a_mate_on_the_board_needs_no_table() {
    let game = parse("fen 7k/8/6K1/8/8/8/8/R7 w - - 98 120", false).unwrap();
    let advice = tables(rook_wins).advise(&game, &game.position().legal_moves()).unwrap();
    let (mate, score) = (parse_move("a1a8", game.position()).unwrap(), Score::Win(TABLE_PLIES + 1));
    assert_eq!(advice.moves, [(mate, score)]);
    assert_eq!(advice.sharpen(Score::Win(1), Some(&mate)), Score::Win(1), "mates are kept");
    assert_eq!(advice.sharpen(Score::Estimate(0.7), Some(&mate)), score);
    assert_eq!(advice.sharpen(Score::Estimate(0.7), None), score);
}

#[test]
fn faults_are_told_once_and_missing_folders_named() {
    struct Damaged;
    impl Prober for Damaged {
        fn max_pieces(&self) -> usize {
            7
        }
        fn wdl(&self, _: &Chess) -> Result<Option<Wdl>, String> {
            Err("torn".to_owned())
        }
        fn dtz(&self, _: &Chess) -> Result<Option<MaybeRounded<Dtz>>, String> {
            Err("torn".to_owned())
        }
    }
    let tables = Tables::new(Box::new(Damaged), &TablebaseSettings::default());
    let position = from_fen("8/8/8/4k3/8/8/8/R3K3 w - - 0 1", false).unwrap();
    assert_eq!(tables.verdict(&position), None);
    assert!(tables.advise(&Game::new(position.clone()), &position.legal_moves()).is_none());
    assert_eq!(tables.take_error().as_deref(), Some("torn"));
    assert_eq!(tables.take_error(), None);
    let settings = TablebaseSettings {
        path: Some("/no/such/folder".to_owned()),
        ..TablebaseSettings::default()
    };
    let (none, notes) = open(&settings);
    assert!(none.is_none() && notes.len() == 2, "{notes:?}");
    assert!(notes[0].contains("/no/such/folder"), "{notes:?}");
}

/// The tables of two endings, 25 kB, shipped for this test alone.
fn shipped() -> Tables {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/syzygy");
    let settings =
        TablebaseSettings { path: Some(folder.to_owned()), ..TablebaseSettings::default() };
    let (tables, notes) = open(&settings);
    tables.unwrap_or_else(|| panic!("{notes:?}"))
}

#[test]
fn a_won_pawn_ending_is_won_by_the_files() {
    let tables = shipped();
    // Only the opposition wins.
    let (best, score) = moves(&tables, "fen 4k3/8/3K4/4P3/8/8/8/8 w - - 0 1");
    assert_eq!(best, ["d6e6"]);
    assert!(matches!(score, Score::Win(plies) if plies > TABLE_PLIES), "{score:?}");
    let (best, score) = moves(&tables, "fen 8/8/4k3/8/4K3/4P3/8/8 w - - 0 1");
    assert_eq!(score, Score::Draw, "{best:?}");
    let (best, score) = moves(&tables, "fen 8/8/4k3/8/4K3/4P3/8/8 b - - 0 1");
    assert!(matches!(score, Score::Loss(_)) && best.len() == 5, "{score:?} {best:?}");
}

/// Tables against the shortest defence: the mate comes, and the fifty-move rule does not.
#[test]
fn a_won_ending_is_played_to_mate() {
    let tables = shipped();
    let mut game = parse("fen 4k3/8/3K4/4P3/8/8/8/8 w - - 60 100", false).unwrap();
    for _ in 0..140 {
        let legal = game.position().legal_moves();
        if legal.is_empty() {
            break;
        }
        let advice = tables.advise(&game, &legal).unwrap();
        let others: Vec<_> = advice.others.iter().map(|(played, _)| *played).collect();
        let kept: Vec<_> = advice.moves.iter().map(|(played, _)| *played).collect();
        assert!(legal.iter().all(|m| kept.contains(m) != others.contains(m)));
        let worth = advice.others.iter().map(|(_, score)| score.expected());
        assert!(worth.clone().is_sorted_by(|a, b| a >= b));
        assert!(worth.clone().all(|other| other <= advice.score.expected()));
        game.play(kept[0]);
        assert!(game.position().halfmoves() < 100 && game.repetitions() < 2);
        let roles = game.position().board();
        assert!(!(roles.by_role(Role::Pawn) | roles.queens() | roles.rooks()).is_empty());
    }
    assert!(game.position().is_checkmate(), "{:?}", game.position().board());
}

/// A table that was fetched by half is named, and the others serve.
#[test]
fn one_damaged_file_costs_no_other() {
    let folder = std::env::temp_dir().join(format!("tesla-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/syzygy");
    let mut files = 0;
    for entry in std::fs::read_dir(tables).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        files += u32::from(path.extension().is_some_and(|ext| ext == "rtbw" || ext == "rtbz"));
    }
    std::fs::write(folder.join("KQvK.rtbw"), [0; 100]).unwrap();
    let path = Some(folder.to_str().unwrap().to_owned());
    let (found, notes) = open(&TablebaseSettings { path, ..TablebaseSettings::default() });
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(found.is_some());
    assert!(notes[0].contains("KQvK.rtbw cannot be used"), "{notes:?}");
    assert_eq!(notes[1], format!("{} Syzygy tables of up to 3 pieces", files - 1));
}
