//! `VerboseMoveStats`: every root move in a line of lc0's form, which GUIs and scripts read, with
//! Tesla's own figures behind it.
//!
//! The order is lc0's too: the fewest visits first, the move to play last, then the node itself.

use std::fmt::Write as _;

use shakmaty::Chess;

use crate::chess::notation::parse_move;
use crate::console::output::Style;
use crate::search::snapshot::{MoveSnapshot, Outlook, Proof, Snapshot};

/// What lc0 writes where it knows nothing.
const UNKNOWN: &str = "(WL:  -.-----) (D: -.---) (M:  -.-) ";

/// The lines, without `info string`; none of a search that has no visits.
pub(super) fn lines(snapshot: &Snapshot, position: &Chess, style: Style) -> Vec<String> {
    let root = &snapshot.root;
    let mut moves: Vec<&MoveSnapshot> =
        root.moves.iter().filter(|told| told.policy.is_some()).collect();
    if moves.is_empty() {
        return Vec::new();
    }
    let rank = |told: &&MoveSnapshot| (Some(&told.uci) == root.best.as_ref(), told.visits);
    let sum = |told: &MoveSnapshot| told.value.unwrap_or_default() / 50.0 + selection(told);
    moves.sort_by(|a, b| rank(a).cmp(&rank(b)).then(sum(a).total_cmp(&sum(b))));
    let legal = |told: &MoveSnapshot| {
        let number = root.moves.iter().position(|other| other.uci == told.uci);
        let played = parse_move(&told.uci, position).map(|played| style.written(played));
        (number.unwrap_or_default(), played.unwrap_or_else(|_| told.uci.clone()))
    };
    let mut lines: Vec<String> = moves
        .iter()
        .map(|told| {
            let (number, label) = legal(told);
            move_line(&label, number, told)
        })
        .collect();
    lines.push(node_line(snapshot, &moves));
    lines
}

fn move_line(label: &str, number: usize, told: &MoveSnapshot) -> String {
    let mut line = head(label, number, told.visits, told.policy.unwrap_or_default());
    line += &stats(told.value, told.is_evaluated);
    let value = signed(told.value.unwrap_or_default());
    let chosen_by = selection(told);
    // Writing to a String cannot fail.
    let _ = write!(line, "(U: {chosen_by:6.5}) (S: {:8.5}) ", value + chosen_by);
    line += &tail(told.static_value, told.proof);
    let units = |points: Option<f32>| points.unwrap_or_default() / 100.0;
    let _ = write!(line, "value {:.4}", units(told.value));
    for (name, figure) in [
        ("error", told.error.map(|error| error / 100.0)),
        ("overtake", told.overtake),
        ("next", told.next),
        ("benefit", told.benefit),
    ] {
        if let Some(figure) = figure {
            let _ = write!(line, " {name} {figure:.4}");
        }
    }
    if let Some(cost) = told.cost {
        let _ = write!(line, " cost {cost:.0}");
    }
    if let Some(gain) = told.gain {
        let _ = write!(line, " gain {:.5}", gain / 100.0);
    }
    let _ = write!(line, " evaluations {}", told.evaluations.unwrap_or_default());
    line
}

/// The root itself: what more thought is worth stands behind it.
fn node_line(snapshot: &Snapshot, moves: &[&MoveSnapshot]) -> String {
    let root = &snapshot.root;
    let visited = moves.iter().filter(|told| told.visits > 0).filter_map(|told| told.policy);
    let mut line =
        head("node", moves.len(), root.visits, visited.fold(0.0, |sum, policy| sum + policy));
    line += &stats(root.value, true);
    line += &tail(root.static_value, root.proof);
    // Writing to a String cannot fail.
    let _ = write!(line, "value {:.4}", root.value.unwrap_or_default() / 100.0);
    if let Some(worth) = &snapshot.progress.worth {
        let _ = write!(line, " gain {:.5} of {:.0}", worth.gain / 100.0, worth.evaluations);
        if let Some(price) = worth.price {
            let _ = write!(line, " price {:.5}", price / 100.0);
        }
    }
    let _ = write!(line, " evaluations {}", snapshot.progress.evaluations);
    line
}

fn head(label: &str, number: usize, visits: u64, policy: f32) -> String {
    let digits = if policy >= 0.999_95 { 1 } else { 2 };
    let percent = 100.0 * policy;
    // Visits in flight are not listed separately: N contains them.
    format!("{label:<5} ({number:<4}) N: {visits:>7} (+{:>2}) (P: {percent:>5.digits$}%) ", 0)
}

/// Win less loss, draws and their sum. A backed-up value tells only the balance; it is split as for
/// `UCI_ShowWDL`.
fn stats(value: Option<f32>, is_evaluated: bool) -> String {
    let value = value.unwrap_or(50.0);
    let q = signed(value);
    if !is_evaluated {
        return format!("{UNKNOWN}(Q: {q:8.5}) ");
    }
    let win = value / 100.0;
    format!("(WL: {q:8.5}) (D: {:5.3}) (M: {:4.1}) (Q: {q:8.5}) ", 2.0 * win * (1.0 - win), 0.0)
}

fn tail(static_value: Option<f32>, proof: Option<Proof>) -> String {
    let value = match proof.map(|proof| proof.result) {
        Some(Outlook::Win) => Some(1.0),
        Some(Outlook::Draw) => Some(0.0),
        Some(Outlook::Loss) => Some(-1.0),
        None => static_value.map(signed),
    };
    let text = value.map_or_else(|| "(V:  -.----) ".to_owned(), |v| format!("(V: {v:7.4}) "));
    if proof.is_some() { text + "(T) " } else { text }
}

/// What selects it: lc0's U or, of Tesla's, benefit per cost.
fn selection(told: &MoveSnapshot) -> f32 {
    // One score unit is two of lc0's.
    let exploration = told.exploration.map(|exploration| 2.0 * exploration);
    exploration.or(told.rate).unwrap_or_default()
}

/// Points to lc0's values from -1 to 1.
fn signed(points: f32) -> f32 {
    points / 50.0 - 1.0
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;

    use super::*;
    use crate::search::snapshot::{NodeSnapshot, Progress, Worth};

    fn told(uci: &str, value: f32, visits: u64) -> MoveSnapshot {
        MoveSnapshot {
            uci: uci.to_owned(),
            value: Some(value),
            visits,
            is_evaluated: visits > 0,
            policy: Some(0.2007),
            ..MoveSnapshot::default()
        }
    }

    fn written(moves: Vec<MoveSnapshot>) -> Vec<String> {
        let worth = Worth { next: 0.0, evaluations: 522.0, gain: 0.41, price: Some(0.1) };
        let progress = Progress { evaluations: 522, worth: Some(worth), ..Progress::default() };
        let root = NodeSnapshot {
            value: Some(53.11),
            static_value: Some(50.0),
            visits: 530,
            best: moves.first().map(|best| best.uci.clone()),
            moves,
            ..NodeSnapshot::default()
        };
        let snapshot = Snapshot { progress, root, ..Snapshot::default() };
        let style = Style { castling: CastlingMode::Standard, wdl: false };
        lines(&snapshot, &Chess::default(), style)
    }

    #[test]
    fn lines_are_lc0s_to_the_column() {
        let best = MoveSnapshot {
            static_value: Some(51.285),
            error: Some(1.42),
            overtake: Some(0.231),
            next: Some(0.31),
            benefit: Some(0.5),
            cost: Some(493.2),
            rate: Some(0.001_01),
            gain: Some(0.4),
            evaluations: Some(402),
            ..told("e2e4", 53.11, 411)
        };
        let mate = Proof { result: Outlook::Loss, mate: Some(1) };
        let lost = MoveSnapshot { proof: Some(mate), ..told("f2f3", 0.0, 1) };
        let wanted = [
            "a2a3  (1   ) N:       0 (+ 0) (P: 20.07%) (WL:  -.-----) (D: -.---) (M:  -.-) \
             (Q: -0.20000) (U: 0.00000) (S: -0.20000) (V:  -.----) value 0.4000 evaluations 0",
            "f2f3  (2   ) N:       1 (+ 0) (P: 20.07%) (WL: -1.00000) (D: 0.000) (M:  0.0) \
             (Q: -1.00000) (U: 0.00000) (S: -1.00000) (V: -1.0000) (T) value 0.0000 evaluations 0",
            "e2e4  (0   ) N:     411 (+ 0) (P: 20.07%) (WL:  0.06220) (D: 0.498) (M:  0.0) \
             (Q:  0.06220) (U: 0.00101) (S:  0.06321) (V:  0.0257) value 0.5311 error 0.0142 \
             overtake 0.2310 next 0.3100 benefit 0.5000 cost 493 gain 0.00400 evaluations 402",
            "node  (3   ) N:     530 (+ 0) (P: 40.14%) (WL:  0.06220) (D: 0.498) (M:  0.0) \
             (Q:  0.06220) (V:  0.0000) value 0.5311 gain 0.00410 of 522 price 0.00100 \
             evaluations 522",
        ];
        assert_eq!(written(vec![best, told("a2a3", 40.0, 0), lost]), wanted);
    }

    /// Nibbler ranks by the order of the lines, worst first.
    #[test]
    fn the_move_to_play_comes_last_before_the_node() {
        let moves = vec![told("e2e4", 54.0, 20), told("d2d4", 53.0, 90), told("c2c4", 52.0, 5)];
        let lines = written(moves);
        let order: Vec<&str> = lines.iter().map(|line| &line[..4]).collect();
        assert_eq!(order, ["c2c4", "d2d4", "e2e4", "node"]);
        assert_eq!(written(Vec::new()), Vec::<String>::new());
    }
}
