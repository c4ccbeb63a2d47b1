//! What alpha-beta knows of its root moves: for the best its value, for the others a bound that
//! shows them to be no better.

use std::cmp::Reverse;

use shakmaty::{Chess, Move};

use super::value::to_score;
use crate::chess::score::Score;
use crate::search::snapshot::{
    MoveSnapshot, NodeSnapshot, Progress, Proof, Snapshot, fen, points, written, written_line,
};
use crate::search::watch::Watched;
use crate::search::why::why;

/// One root move, as the last look at it left it.
#[derive(Clone, Debug)]
struct Row {
    played: Move,
    /// Centipawns or a mate, for the side that makes it; `None` = not searched yet.
    value: Option<i32>,
    /// Whether the value is the most that it may be worth.
    is_bound: bool,
    /// Nodes spent below it in this search.
    nodes: u64,
    line: Vec<Move>,
}

/// All root moves.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    rows: Vec<Row>,
    position: Chess,
    progress: Progress,
}

impl Account {
    /// For these moves, none of which was searched yet.
    pub(super) fn new(position: &Chess, moves: &[Move]) -> Self {
        let row =
            |&played| Row { played, value: None, is_bound: false, nodes: 0, line: vec![played] };
        Self {
            rows: moves.iter().map(row).collect(),
            position: position.clone(),
            progress: Progress::default(),
        }
    }

    /// Notes a look at a move: the nodes it took and, unless it was broken off, what it found; a
    /// line where the value is more than a bound.
    pub(super) fn note(&mut self, played: Move, nodes: u64, found: Option<(i32, Option<&[Move]>)>) {
        let Some(row) = self.rows.iter_mut().find(|row| row.played == played) else { return };
        row.nodes += nodes;
        if let Some((value, line)) = found {
            (row.value, row.is_bound) = (Some(value), line.is_none());
            if let Some(line) = line {
                row.line = line.to_vec();
            }
        }
    }

    /// How far the search is.
    pub(super) fn set_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// The search as it stands with this move as the best; nothing before the first look.
    pub(super) fn snapshot(&self, best: Option<Move>) -> Option<Snapshot> {
        let best = best.or_else(|| Some(self.rows.iter().max_by_key(|row| row.value)?.played))?;
        let value = self.rows.iter().find(|row| row.played == best)?.value?;
        let total: u64 = self.rows.iter().map(|row| row.nodes).sum();
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| Reverse((row.played == best, row.value, row.nodes)));
        let moves: Vec<MoveSnapshot> =
            rows.into_iter().map(|row| self.told(row, total.max(1))).collect();
        let score = to_score(value);
        let root = NodeSnapshot {
            fen: fen(&self.position),
            value: Some(points(score.expected())),
            visits: total,
            evaluations: Some(self.progress.evaluations),
            proof: Proof::of(score),
            best: moves.first().map(|told| told.uci.clone()),
            moves,
            ..NodeSnapshot::default()
        };
        let mut snapshot = Snapshot {
            search: "AlphaBeta".to_owned(),
            progress: self.progress.clone(),
            root,
            focus: None,
            why: String::new(),
        };
        snapshot.why = why(&snapshot);
        Some(snapshot)
    }

    fn told(&self, row: &Row, total: u64) -> MoveSnapshot {
        let (uci, san) = written(&self.position, row.played);
        let (pv, pv_san) = written_line(&self.position, &row.line);
        let score = row.value.map(to_score);
        MoveSnapshot {
            uci,
            san,
            value: score.map(|score| points(score.expected())),
            is_bound: row.is_bound,
            is_evaluated: row.value.is_some(),
            visits: row.nodes,
            evaluations: Some(row.nodes),
            work: row.nodes as f32 / total as f32,
            // A bound proves nothing but that the move loses.
            proof: score
                .filter(|score| !row.is_bound || matches!(score, Score::Loss(_)))
                .and_then(Proof::of),
            pv,
            pv_san,
            ..MoveSnapshot::default()
        }
    }
}

/// Shows the search as it ended.
pub(super) fn show_end(watched: &Watched, account: &Account, best: Move) {
    if let Some(watch) = watched.watch()
        && let Some(last) = account.snapshot(Some(best))
    {
        watch.put(last);
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Position as _;

    use super::*;

    #[test]
    fn bounds_are_told_apart() {
        let position = Chess::default();
        let moves = position.legal_moves();
        let mut account = Account::new(&position, &moves);
        assert_eq!(account.snapshot(None), None);
        account.note(moves[3], 70, Some((25, Some(&[moves[3]]))));
        account.note(moves[4], 30, Some((20, None)));
        account.note(moves[5], 10, None);
        let told = account.snapshot(Some(moves[3])).unwrap();
        let [best, second, ..] = &told.root.moves[..] else { panic!("{told:?}") };
        assert!(!best.is_bound && best.visits == 70 && second.is_bound && second.visits == 30);
        assert!(best.value > second.value && best.value > Some(50.0));
        let third = told.root.moves.iter().find(|told| told.visits == 10).unwrap();
        assert!(third.value.is_none() && !third.is_evaluated);
        assert_eq!(told.root.visits, 110);
    }
}
