//! One sentence on a snapshot: which move, why this one, where the next evaluations go, and why the
//! search ended.

use shakmaty::Position as _;

use crate::chess::notation::from_fen;
use crate::search::snapshot::{MoveSnapshot, Outlook, Proof, Snapshot, Stop};

/// Values closer than this are level, points.
const LEVEL: f32 = 1.0;
/// A lead that nobody overtakes with this probability is clear.
const CLEAR: f32 = 0.01;
/// From this many points on, tenths are not shown.
const WHOLE: f32 = 2.95;

/// The names of one third to one tenth.
const ORDINALS: [&str; 8] =
    ["third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// The sentence.
pub fn why(snapshot: &Snapshot) -> String {
    let mut parts = Vec::new();
    match snapshot.root.moves.split_first() {
        None => parts.push("Nothing is known yet".to_owned()),
        Some((best, others)) => {
            let settled =
                proven(snapshot.root.proof, best).or_else(|| alone(snapshot, best, others));
            match settled {
                Some(part) => parts.push(part),
                None if best.overtake.is_some() => parts.extend(overtaking(snapshot, best, others)),
                None if best.next.is_some() => parts.extend(visited(best, others)),
                None => parts.push(searched(snapshot, best, others)),
            }
        }
    }
    parts.extend(snapshot.progress.stopped.map(|stop| stopped(snapshot, stop)));
    parts.join("; ") + "."
}

/// What there is to say of a proven position.
fn proven(proof: Option<Proof>, best: &MoveSnapshot) -> Option<String> {
    let san = &best.san;
    Some(match proof? {
        Proof { result: Outlook::Win, mate: Some(1) } => format!("{san} is mate"),
        Proof { result: Outlook::Win, mate: Some(moves) } => format!("{san} mates in {moves}"),
        Proof { result: Outlook::Win, mate: None } => format!("{san} wins by the endgame tables"),
        Proof { result: Outlook::Draw, .. } => format!("{san} draws, and no move does better"),
        Proof { result: Outlook::Loss, mate: Some(moves) } => {
            format!("Every move loses, and {san} holds out longest: mate in {moves}")
        }
        Proof { result: Outlook::Loss, mate: None } => {
            format!("Every move loses by the endgame tables, and {san} holds out longest")
        }
    })
}

/// What there is to say where nothing can be compared.
fn alone(snapshot: &Snapshot, best: &MoveSnapshot, others: &[MoveSnapshot]) -> Option<String> {
    if others.is_empty() {
        let position = from_fen(&snapshot.root.fen, true);
        let has_choice = position.is_ok_and(|position| position.legal_moves().len() > 1);
        let of = if has_choice { " that was to be searched" } else { "" };
        return Some(format!("{} is the only move{of}", best.san));
    }
    let is_unknown = !best.is_evaluated && others.iter().all(|other| !other.is_evaluated);
    is_unknown
        .then(|| format!("{} is the evaluator's guess: no move has been searched yet", best.san))
}

/// Tesla: who leads, who may overtake, and where the next evaluations go.
fn overtaking(snapshot: &Snapshot, best: &MoveSnapshot, others: &[MoveSnapshot]) -> Vec<String> {
    let mut parts = vec![lead(snapshot, best, others)];
    let rival = others.iter().max_by(|a, b| known(a.overtake).total_cmp(&known(b.overtake)));
    if let Some(rival) = rival.filter(|rival| known(rival.overtake) >= CLEAR) {
        let chance = percent(known(rival.overtake));
        parts.push(format!("{} may overtake with {chance}", rival.san));
        parts.extend(rival.next.map(|share| goes(share, "there")));
    } else {
        parts.push("no other move has a chance of 1 % to overtake it".to_owned());
        parts.extend(best.next.map(|share| goes(share, &format!("to {}", best.san))));
    }
    parts
}

/// By how much the best move leads, or why it is played though it does not.
fn lead(snapshot: &Snapshot, best: &MoveSnapshot, others: &[MoveSnapshot]) -> String {
    let san = &best.san;
    let evaluated = others.iter().filter(|other| other.is_evaluated);
    let second = evaluated.max_by(|a, b| known(a.value).total_cmp(&known(b.value)));
    let Some(second) = second else { return format!("{san} is the only move searched so far") };
    let gap = known(best.value) - known(second.value);
    if gap.abs() < LEVEL {
        let played = if gap < 0.0 || snapshot.root.leader.as_ref() != Some(&best.uci) {
            format!(", and {san} is the better known")
        } else {
            String::new()
        };
        return format!("{san} and {} are level{played}", second.san);
    }
    if gap < 0.0 {
        return format!(
            "{san} is {} points behind {}, but rests on {} evaluations against {}",
            rounded(-gap),
            second.san,
            best.visits,
            second.visits
        );
    }
    format!("{san} leads by {} points", rounded(gap))
}

/// PUCT: who has the visits.
fn visited(best: &MoveSnapshot, others: &[MoveSnapshot]) -> Vec<String> {
    let mut parts = vec![format!("{} has {} of the visits", best.san, percent(best.work))];
    if let Some(second) = others.iter().max_by_key(|other| other.visits).filter(|m| m.visits > 0) {
        parts.push(format!("{} is next with {}", second.san, percent(second.work)));
        parts.extend(second.next.map(|share| goes(share, "there")));
    }
    parts
}

/// Alpha-beta: the best of a depth.
fn searched(snapshot: &Snapshot, best: &MoveSnapshot, others: &[MoveSnapshot]) -> String {
    let depth = snapshot.progress.depth;
    let start = format!("{} is best at depth {depth}", best.san);
    let exact = others.iter().filter(|other| !other.is_bound && other.is_evaluated);
    let second = exact.max_by(|a, b| known(a.value).total_cmp(&known(b.value)));
    match second {
        Some(second) if known(best.value) - known(second.value) >= LEVEL => {
            let gap = rounded(known(best.value) - known(second.value));
            format!("{start}, {gap} points before {}", second.san)
        }
        Some(second) => format!("{start}, level with {}", second.san),
        None => format!("{start}; no other move was found to be better"),
    }
}

/// Why it ended.
fn stopped(snapshot: &Snapshot, stop: Stop) -> String {
    let count = snapshot.progress.evaluations;
    let is_tesla = snapshot.root.leader.is_some();
    let reason = match stop {
        Stop::Asked => "it was told to".to_owned(),
        Stop::Time => "time is up".to_owned(),
        Stop::Planned => "the time planned for the move is spent".to_owned(),
        Stop::Satisfied if is_tesla => "no move is worth its time".to_owned(),
        Stop::Satisfied => "no other move can come first in the time that is left".to_owned(),
        Stop::OnlyMove => "there is nothing to choose".to_owned(),
        Stop::Proof => "the result is proven".to_owned(),
        Stop::Nodes => format!("its {count} evaluations are spent"),
        Stop::Depth => format!("depth {} is reached", snapshot.progress.depth),
        Stop::Memory => "the memory is full".to_owned(),
        Stop::Exhausted => "nothing new is left to search".to_owned(),
        Stop::Failed => "the evaluator failed".to_owned(),
    };
    format!("it stops because {reason}")
}

/// A share of the next evaluations, in words.
fn goes(share: f32, whither: &str) -> String {
    let nth = (1.0 / share.max(1e-6)).round() as usize;
    if share >= 0.9 {
        format!("nearly every evaluation goes {whither}")
    } else if share >= 0.7 {
        format!("three of four evaluations go {whither}")
    } else if share >= 0.58 {
        format!("two of three evaluations go {whither}")
    } else if nth <= 2 {
        format!("every second evaluation goes {whither}")
    } else if let Some(ordinal) = ORDINALS.get(nth - 3) {
        format!("every {ordinal} evaluation goes {whither}")
    } else if nth <= 200 {
        format!("one evaluation in {nth} goes {whither}")
    } else {
        format!("hardly an evaluation goes {whither}")
    }
}

/// Points, in words.
fn rounded(points: f32) -> String {
    if points >= WHOLE { format!("{points:.0}") } else { format!("{points:.1}") }
}

fn percent(share: f32) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A figure, nothing where it is not known.
fn known(figure: Option<f32>) -> f32 {
    figure.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::snapshot::{NodeSnapshot, Progress};

    /// A move of Tesla's: value, visits, overtake, share of the next evaluations.
    fn told(san: &str, value: f32, visits: u64, overtake: f32, next: f32) -> MoveSnapshot {
        MoveSnapshot {
            uci: san.to_owned(),
            san: san.to_owned(),
            value: Some(value),
            is_evaluated: visits > 0,
            visits,
            work: visits as f32 / 1000.0,
            overtake: Some(overtake),
            next: Some(next),
            ..MoveSnapshot::default()
        }
    }

    fn snapshot(moves: Vec<MoveSnapshot>, stopped: Option<Stop>) -> Snapshot {
        Snapshot {
            search: "Tesla".to_owned(),
            progress: Progress { evaluations: 1000, depth: 9, stopped, ..Progress::default() },
            root: NodeSnapshot {
                leader: moves.first().map(|told| told.uci.clone()),
                moves,
                ..NodeSnapshot::default()
            },
            ..Snapshot::default()
        }
    }

    fn proof(result: Outlook, mate: Option<u16>) -> String {
        let moves = vec![told("Kh8", 0.0, 10, 0.0, 0.0), told("Kh7", 0.0, 9, 0.0, 0.0)];
        let mut snapshot = snapshot(moves, None);
        snapshot.root.proof = Some(Proof { result, mate });
        why(&snapshot)
    }

    #[test]
    fn what_is_proven_says_so() {
        assert_eq!(proof(Outlook::Win, Some(1)), "Kh8 is mate.");
        assert_eq!(proof(Outlook::Win, Some(4)), "Kh8 mates in 4.");
        assert_eq!(proof(Outlook::Win, None), "Kh8 wins by the endgame tables.");
        assert_eq!(proof(Outlook::Draw, None), "Kh8 draws, and no move does better.");
        let lost = "Every move loses, and Kh8 holds out longest: mate in 3.";
        assert_eq!(proof(Outlook::Loss, Some(3)), lost);
        let lost = "Every move loses by the endgame tables, and Kh8 holds out longest.";
        assert_eq!(proof(Outlook::Loss, None), lost);
    }

    #[test]
    fn who_leads_and_who_may_overtake() {
        let close = || vec![told("Qh3", 62.0, 600, 0.07, 0.4), told("g6", 53.0, 300, 0.07, 0.33)];
        let start = "Qh3 leads by 9 points; g6 may overtake with 7 %; \
                     every third evaluation goes there";
        assert_eq!(why(&snapshot(close(), None)), format!("{start}."));
        let ends = [
            (Stop::Satisfied, "no move is worth its time"),
            (Stop::Nodes, "its 1000 evaluations are spent"),
            (Stop::Time, "time is up"),
            (Stop::Planned, "the time planned for the move is spent"),
            (Stop::Asked, "it was told to"),
            (Stop::Depth, "depth 9 is reached"),
            (Stop::Memory, "the memory is full"),
            (Stop::Exhausted, "nothing new is left to search"),
            (Stop::Failed, "the evaluator failed"),
        ];
        for (stop, reason) in ends {
            let wanted = format!("{start}; it stops because {reason}.");
            assert_eq!(why(&snapshot(close(), Some(stop))), wanted);
        }
    }

    #[test]
    fn a_clear_lead_and_a_close_race() {
        let clear = vec![told("Nf3", 80.0, 990, 0.003, 0.95), told("a3", 20.0, 9, 0.003, 0.05)];
        let wanted = "Nf3 leads by 60 points; no other move has a chance of 1 % to overtake it; \
                      nearly every evaluation goes to Nf3.";
        assert_eq!(why(&snapshot(clear, None)), wanted);
        let race = vec![told("e4", 54.2, 400, 0.46, 0.3), told("d4", 53.9, 390, 0.46, 0.5)];
        let wanted = "e4 and d4 are level; d4 may overtake with 46 %; \
                      every second evaluation goes there.";
        assert_eq!(why(&snapshot(race, None)), wanted);
        let slim = vec![told("e4", 54.2, 400, 0.2, 0.3), told("d4", 52.8, 390, 0.2, 0.65)];
        let wanted = "e4 leads by 1.4 points; d4 may overtake with 20 %; \
                      two of three evaluations go there.";
        assert_eq!(why(&snapshot(slim, None)), wanted);
    }

    /// Played is the move that is safe, which need not be the one with the highest value.
    #[test]
    fn the_better_known_move_is_played() {
        let mut behind =
            snapshot(vec![told("Nf3", 50.0, 900, 0.3, 0.2), told("g4", 55.0, 12, 0.3, 0.8)], None);
        behind.root.leader = Some("g4".to_owned());
        let wanted = "Nf3 is 5 points behind g4, but rests on 900 evaluations against 12; \
                      g4 may overtake with 30 %; three of four evaluations go there.";
        assert_eq!(why(&behind), wanted);
        let mut level =
            snapshot(vec![told("Nf3", 50.0, 900, 0.5, 0.2), told("g4", 50.4, 12, 0.5, 0.01)], None);
        level.root.leader = Some("g4".to_owned());
        let wanted = "Nf3 and g4 are level, and Nf3 is the better known; \
                      g4 may overtake with 50 %; one evaluation in 100 goes there.";
        assert_eq!(why(&level), wanted);
    }

    #[test]
    fn there_may_be_little_to_say() {
        assert_eq!(why(&snapshot(Vec::new(), None)), "Nothing is known yet.");
        let only = snapshot(vec![told("Kg1", 30.0, 9, 0.0, 1.0)], Some(Stop::OnlyMove));
        assert_eq!(
            why(&only),
            "Kg1 is the only move; it stops because there is nothing to choose."
        );
        let guess =
            snapshot(vec![told("e4", 50.0, 0, 0.1, 0.5), told("d4", 50.0, 0, 0.1, 0.5)], None);
        assert_eq!(why(&guess), "e4 is the evaluator's guess: no move has been searched yet.");
        let first =
            snapshot(vec![told("e4", 50.0, 1, 0.3, 0.5), told("d4", 50.0, 0, 0.3, 0.0)], None);
        let wanted = "e4 is the only move searched so far; d4 may overtake with 30 %; \
                      hardly an evaluation goes there.";
        assert_eq!(why(&first), wanted);
    }

    #[test]
    fn other_searches_say_what_they_know() {
        let mut moves = vec![told("e4", 54.0, 610, 0.0, 0.5), told("d4", 53.0, 200, 0.0, 0.1)];
        for told in &mut moves {
            told.overtake = None;
        }
        let mut puct = snapshot(moves.clone(), Some(Stop::Satisfied));
        puct.root.leader = None;
        let wanted = "e4 has 61 % of the visits; d4 is next with 20 %; every tenth evaluation goes \
                      there; it stops because no other move can come first in the time that is \
                      left.";
        assert_eq!(why(&puct), wanted);
        for told in &mut moves {
            told.next = None;
        }
        let wanted = "e4 is best at depth 9, 1.0 points before d4.";
        assert_eq!(why(&snapshot(moves.clone(), None)), wanted);
        moves[1].value = Some(53.5);
        assert_eq!(why(&snapshot(moves.clone(), None)), "e4 is best at depth 9, level with d4.");
        moves[1].is_bound = true;
        let wanted = "e4 is best at depth 9; no other move was found to be better.";
        assert_eq!(why(&snapshot(moves, None)), wanted);
    }
}
