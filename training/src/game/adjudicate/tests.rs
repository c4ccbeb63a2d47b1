use super::*;
use crate::game::openings::Opening;

/// Feeds scores of alternating moves (White's first) of a game of knight moves without end, and
/// says after which ply it was adjudicated.
fn feed(
    fen: Option<&str>,
    rules: Adjudication,
    scores: &[Option<UciScore>],
) -> Option<(usize, Ending)> {
    let fen = fen.unwrap_or("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1").to_owned();
    let opening = Opening { fen, moves: Vec::new(), chess960: false, name: None };
    let mut game = GameState::new(&opening).unwrap();
    let mut adjudicator = Adjudicator::new(rules);
    for (ply, &score) in scores.iter().enumerate() {
        let uci = ["g1f3", "g8f6", "f3g1", "f6g8"][ply % 4];
        game.play(uci.parse().unwrap()).unwrap();
        if let Some(ending) = adjudicator.observe(&game, score) {
            return Some((ply + 1, ending));
        }
    }
    None
}

fn cp(scores: &[i32]) -> Vec<Option<UciScore>> {
    scores.iter().map(|&score| Some(UciScore::Cp(score))).collect()
}

fn draws(text: &str) -> Adjudication {
    Adjudication { draw: Some(text.parse().unwrap()), ..Adjudication::default() }
}

fn resigns(text: &str) -> Adjudication {
    Adjudication { resign: Some(text.parse().unwrap()), ..Adjudication::default() }
}

const DRAW: Ending = Ending {
    result: crate::game::ending::GameResult::Draw,
    termination: Termination::DrawAdjudication,
};

#[test]
fn a_draw_needs_small_scores_of_both_in_a_row() {
    let rules = draws("movenumber=0,movecount=2,score=10");
    assert_eq!(feed(None, rules, &cp(&[10, -10, 0, 3])), Some((4, DRAW)));
    assert_eq!(feed(None, rules, &cp(&[0, 0, 0, 11, 0, 0, 0, 0])), Some((8, DRAW)));
    assert_eq!(feed(None, rules, &cp(&[0, 0, 0, i32::MIN, 0, 0, 0])), None);
    let mut scores = cp(&[0; 7]);
    scores[3] = None;
    assert_eq!(feed(None, rules, &scores), None, "a missing score starts the count afresh");
    scores[3] = Some(UciScore::Mate(1));
    assert_eq!(feed(None, rules, &scores), None, "a mate is not a small score");
}

#[test]
fn a_draw_waits_for_the_move_number_of_the_fen() {
    let rules = draws("movenumber=4,movecount=1,score=0");
    assert_eq!(feed(None, rules, &cp(&[0; 8])), Some((8, DRAW)));
    let later = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 3";
    assert_eq!(feed(Some(later), rules, &cp(&[0; 8])), Some((4, DRAW)));
}

#[test]
fn captures_and_pawn_moves_start_the_count_of_a_draw_afresh() {
    let opening = Opening {
        fen: "4k3/8/8/8/8/8/P7/4K3 w - - 0 1".to_owned(),
        moves: Vec::new(),
        chess960: false,
        name: None,
    };
    let mut game = GameState::new(&opening).unwrap();
    let mut adjudicator = Adjudicator::new(draws("movenumber=0,movecount=2,score=10"));
    for (uci, ends) in [
        ("e1e2", false),
        ("e8e7", false),
        ("e2e1", false),
        ("e7e8", true), // four in a row: would end here
        ("a2a3", false),
        ("e8e7", false),
        ("e1e2", false),
        ("e7e8", true), // the pawn move is the first of four
    ] {
        game.play(uci.parse().unwrap()).unwrap();
        assert_eq!(adjudicator.observe(&game, Some(UciScore::Cp(0))).is_some(), ends, "{uci}");
    }
}

#[test]
fn a_side_resigns_by_its_own_scores() {
    let rules = resigns("movecount=3,score=500");
    let lost = Ending::loss(Color::Black, Termination::ResignAdjudication);
    assert_eq!(feed(None, rules, &cp(&[0, -500, 0, -900, 0, -501])), Some((6, lost)));
    assert_eq!(feed(None, rules, &cp(&[0, -500, 0, -499, 0, -501, 0, -501])), None);
    assert_eq!(feed(None, rules, &cp(&[900, 0, 900, 0, 900, 0])), None, "winning is no reason");
    let mut scores = cp(&[0, -500, 0, 0, 0, -500]);
    scores[3] = Some(UciScore::Mate(-7));
    assert_eq!(feed(None, rules, &scores), Some((6, lost)));
    scores[3] = Some(UciScore::Mate(0));
    assert_eq!(feed(None, rules, &scores), Some((6, lost)));
    scores[3] = Some(UciScore::Mate(7));
    assert_eq!(feed(None, rules, &scores), None);
    scores[3] = None;
    assert_eq!(feed(None, rules, &scores), None);
}

#[test]
fn two_sided_asks_the_winner_too() {
    let rules = resigns("movecount=2,score=500,twosided=true");
    let lost = Ending::loss(Color::White, Termination::ResignAdjudication);
    assert_eq!(feed(None, rules, &cp(&[-600, 500, -600, 500, -600])), Some((5, lost)));
    assert_eq!(feed(None, rules, &cp(&[-600, 100, -600, 499, -600, 499, -600])), None);
    // fastchess would count these, though each side says that it loses.
    assert_eq!(feed(None, rules, &cp(&[-600, -600, -600, -600, -600, -600])), None);
    let mates = [-3, 3, -2, 2, -1].map(|moves| Some(UciScore::Mate(moves)));
    assert_eq!(feed(None, rules, &mates), Some((5, lost)));
}

#[test]
fn the_longest_game() {
    let rules = Adjudication { max_moves: Some(3), ..Adjudication::default() };
    let draw = Ending::draw(Termination::MaxPlies);
    assert_eq!(feed(None, rules, &[None; 9]), Some((6, draw)));
    assert_eq!(feed(None, Adjudication::default(), &cp(&[-9999; 40])), None);
}

#[test]
fn texts_of_rules() {
    let draw = DrawRule { move_number: 40, move_count: 8, score_cp: 10 };
    assert_eq!("movenumber=40,movecount=8,score=10".parse(), Ok(draw));
    assert_eq!("score=10, movecount=8, movenumber=40".parse(), Ok(draw));
    let resign = ResignRule { move_count: 4, score_cp: 600, two_sided: false };
    assert_eq!("movecount=4,score=600".parse(), Ok(resign));
    let two_sided = ResignRule { two_sided: true, ..resign };
    assert_eq!("movecount=4,score=600,twosided=true".parse(), Ok(two_sided));
    let refusal = |text: &str| text.parse::<ResignRule>().unwrap_err();
    let example = "write for example movecount=4,score=600,twosided=true";
    assert_eq!(refusal(""), format!("\"\" is not of the form key=value; {example}"));
    assert_eq!(refusal("movecount=4"), format!("missing field `score`; {example}"));
    let unknown = refusal("movecount=4,score=5,x=1");
    assert!(unknown.starts_with("unknown field `x`") && unknown.ends_with(example), "{unknown}");
    assert_eq!(refusal("score=4,score=5"), "\"score\" is given twice");
    let negative = refusal("movecount=1,score=-5");
    assert_eq!(negative, format!("invalid value: integer `-5`, expected u32; {example}"));
    let flag = refusal("movecount=1,score=5,twosided=yes");
    assert_eq!(flag, format!("invalid type: string \"yes\", expected a boolean; {example}"));
    for (rules, what) in [
        (draws("movenumber=0,movecount=0,score=5"), "draw's movecount is 0"),
        (resigns("movecount=0,score=5"), "resign's movecount is 0"),
        (resigns("movecount=1,score=0"), "resign's score is 0"),
    ] {
        let refusal = rules.check().unwrap_err().to_string();
        assert!(refusal.starts_with(what), "{refusal}");
    }
}
