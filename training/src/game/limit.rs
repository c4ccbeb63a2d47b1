//! How long a side may think: evaluations, nodes, depth, a clock, or a fixed time.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Times are shorter than this, seconds.
const LONGEST_S: u64 = 1_000_000_000;

/// By how much a move may take longer than it has before it is lost, ms, unless a match says
/// otherwise.
pub const MARGIN_MS: u64 = 50;

/// A sentence on a move that took longer than it had.
pub fn overrun(used: Duration, had: Duration) -> String {
    format!("it used {:.3} s of {:.3} s", used.as_secs_f64(), had.as_secs_f64())
}

/// A clock as tournaments write it: `40/60+0.6` is 40 moves in 60 seconds and 0.6 seconds for each
/// move; `10+0.1` and `10` are the whole game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeControl {
    /// Moves to each time control; `None` = the whole game.
    pub moves: Option<u32>,
    /// Time on the clock at the start and, with `moves`, added at each time control.
    pub time: Duration,
    /// Added after each move.
    pub increment: Duration,
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_secs() < LONGEST_S)
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (moves, rest) = match text.split_once('/') {
                Some((moves, rest)) => (Some(moves.parse().ok().filter(|&n| n > 0)?), rest),
                None => (None, text),
            };
            let (time, increment) = rest.split_once('+').unwrap_or((rest, "0"));
            Some(Self { moves, time: seconds(time)?, increment: seconds(increment)? })
        };
        read().filter(|control| control.time > Duration::ZERO).ok_or_else(|| {
            format!("'{text}' is not a time control; write seconds as in 10+0.1, 60 or 40/60+0.6")
        })
    }
}

impl TryFrom<String> for TimeControl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TimeControl> for String {
    fn from(control: TimeControl) -> Self {
        control.to_string()
    }
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(moves) = self.moves {
            write!(f, "{moves}/")?;
        }
        write!(f, "{}", self.time.as_secs_f64())?;
        if !self.increment.is_zero() {
            write!(f, "+{}", self.increment.as_secs_f64())?;
        }
        Ok(())
    }
}

/// Limits of one move, on the command line.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct MoveLimit {
    /// Evaluations or nodes a move, for sides without a limit of their own. A teacher, of datagen
    /// or book, needs one of the three limits.
    #[arg(long)]
    nodes: Option<u64>,
    /// Depth in plies, likewise.
    #[arg(long)]
    depth: Option<u32>,
    /// Seconds a move, likewise.
    #[arg(long)]
    movetime: Option<f64>,
}

impl From<MoveLimit> for Limit {
    fn from(MoveLimit { nodes, depth, movetime }: MoveLimit) -> Self {
        Self { nodes, depth, movetime, ..Self::default() }
    }
}

/// The limits on a side's search for one move; all that are given hold at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Evaluations for network searches, nodes for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Depth in plies, as the engine counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// A clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc: Option<TimeControl>,
    /// Seconds for each move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movetime: Option<f64>,
    /// Evaluations that count as a millisecond of `tc` or `movetime`, for our own searches: games
    /// under a clock that repeat, however busy the machine is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodestime: Option<NonZeroU32>,
}

impl Limit {
    /// Where this limit says nothing, the other one holds; a limit that says anything stands alone.
    /// `nodestime` alone limits nothing: it says how the other one's clock is counted.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let nodestime = self.nodestime.or(other.nodestime);
        if self == (Self { nodestime: self.nodestime, ..Self::default() }) {
            Self { nodestime, ..other }
        } else {
            self
        }
    }

    /// Checks that the limit ends a move.
    ///
    /// # Errors
    /// A sentence on what is missing or contradictory.
    pub fn check(&self) -> Result<(), String> {
        let zero = |name| Err(format!("{name} must be more than zero"));
        match self {
            Self { nodes: None, depth: None, tc: None, movetime: None, .. } => {
                Err("it has no limit; \
                give it nodes=N, depth=N, movetime=SECONDS or tc=10+0.1"
                    .to_owned())
            }
            Self { tc: Some(_), movetime: Some(_), .. } => {
                Err("tc and movetime exclude each other; leave one out".to_owned())
            }
            Self { tc: None, movetime: None, nodestime: Some(_), .. } => {
                Err("nodestime says what tc or movetime means; give one of them too".to_owned())
            }
            Self { nodes: Some(0), .. } => zero("nodes"),
            Self { depth: Some(0), .. } => zero("depth"),
            Self { movetime: Some(time), .. } if *time >= LONGEST_S as f64 => Err(format!(
                "movetime is {time:e} seconds, which is too large; it must be below {LONGEST_S}"
            )),
            Self { movetime: Some(time), .. } if time.is_nan() || *time <= 0.0 => zero("movetime"),
            _ => Ok(()),
        }
    }

    /// Evaluations that a move may cost for good, where they are the clock: those that its clock
    /// gets back for each move, or those of a fixed time.
    pub fn counted_allowance(&self) -> Option<f64> {
        let per_ms = f64::from(self.nodestime?.get());
        let back = self.tc.map(|TimeControl { moves, time, increment }| {
            let share = moves.map_or(0.0, |moves| time.as_secs_f64() / f64::from(moves));
            increment.as_secs_f64() + share
        });
        Some(1000.0 * per_ms * back.or(self.movetime)?)
    }

    /// Whether the real time of a move counts. Games without are the same on every machine.
    pub fn is_timed(&self) -> bool {
        self.nodestime.is_none() && (self.tc.is_some() || self.movetime.is_some())
    }

    /// Time for each move, where it is fixed.
    pub fn move_time(&self) -> Option<Duration> {
        self.movetime.and_then(|time| Duration::try_from_secs_f64(time).ok())
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.nodes.map(|nodes| format!("{nodes} nodes")),
            self.depth.map(|depth| format!("depth {depth}")),
            self.tc.map(|control| control.to_string()),
            self.movetime.map(|time| format!("{time} s a move")),
            self.nodestime.map(|per_ms| format!("{per_ms} evaluations as 1 ms")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// One side's clock during a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameClock {
    control: TimeControl,
    /// Time left.
    pub remaining: Duration,
    moves_made: u32,
}

impl GameClock {
    /// A clock at the start of a game.
    pub fn new(control: TimeControl) -> Self {
        Self { control, remaining: control.time, moves_made: 0 }
    }

    /// Added after each move.
    pub fn increment(&self) -> Duration {
        self.control.increment
    }

    /// Moves to the next time control; `None` = the rest of the game.
    pub fn moves_to_go(&self) -> Option<u32> {
        self.control.moves.map(|moves| moves - self.moves_made % moves)
    }

    /// Takes a move's time off. `false` = more was used than there was, and `margin` did not cover
    /// it.
    pub fn spend(&mut self, used: Duration, margin: Duration) -> bool {
        if used > self.remaining + margin {
            self.remaining = Duration::ZERO;
            return false;
        }
        self.remaining = self.remaining.saturating_sub(used) + self.control.increment;
        self.moves_made += 1;
        if self.control.moves.is_some_and(|moves| self.moves_made.is_multiple_of(moves)) {
            self.remaining += self.control.time;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls() {
        let read = |text: &str| text.parse::<TimeControl>();
        let control = read("40/60+0.6").unwrap();
        assert_eq!(control.moves, Some(40));
        assert_eq!(control.time, Duration::from_mins(1));
        assert_eq!(control.increment, Duration::from_millis(600));
        for text in ["40/60+0.6", "10+0.1", "60", "0.5+1"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for text in ["", "+", "x", "0/5", "0", "0+1", "-1", "5+-1", "inf", "nan", "1e300", "5:00"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn clocks_run_and_are_refilled() {
        let ms = Duration::from_millis;
        let mut clock = GameClock::new("2/1+0.1".parse().unwrap());
        assert_eq!(clock.moves_to_go(), Some(2));
        assert!(clock.spend(ms(400), Duration::ZERO));
        assert_eq!((clock.remaining, clock.moves_to_go()), (ms(700), Some(1)));
        assert!(clock.spend(ms(710), ms(20)));
        assert_eq!((clock.remaining, clock.moves_to_go()), (ms(1100), Some(2)));
        assert!(!clock.spend(ms(1121), ms(20)));
    }

    #[test]
    fn limits_are_checked() {
        let none = Limit::default();
        assert!(none.check().unwrap_err().contains("no limit"));
        let nodes = Limit { nodes: Some(5), ..none };
        assert!(nodes.check().is_ok() && !nodes.is_timed());
        assert_eq!(none.or(nodes), nodes);
        assert_eq!(Limit { depth: Some(3), ..none }.or(nodes).nodes, None);
        let zero = Limit { nodes: Some(0), ..none }.check();
        assert_eq!(zero, Err("nodes must be more than zero".to_owned()));
        let by_time = |time| Limit { movetime: Some(time), ..none }.check();
        for time in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(by_time(time).unwrap_err().contains("more than zero"), "{time}");
        }
        for time in [1e9, 1e300, f64::INFINITY] {
            assert!(by_time(time).unwrap_err().contains("too large"), "{time}");
        }
        let tc = Some("1+0.1".parse().unwrap());
        assert!(Limit { movetime: Some(1.0), tc, ..none }.check().is_err());
        assert!(Limit { nodes: Some(9), tc, ..none }.check().is_ok());
        let nodestime = NonZeroU32::new(20);
        assert!(Limit { nodestime, ..nodes }.check().unwrap_err().contains("tc or movetime"));
        let counted = Limit { tc, nodestime, ..none };
        assert!(counted.check().is_ok() && !counted.is_timed());
        // It says how the match's clock is counted, and where there is none it is missed.
        let alone = Limit { nodestime, ..none };
        assert_eq!(alone.or(Limit { tc, ..none }), counted);
        assert_eq!(none.or(counted), counted);
        assert!(alone.or(nodes).check().unwrap_err().contains("tc or movetime"));
        assert_eq!(counted.to_string(), "1+0.1, 20 evaluations as 1 ms");
        let allowance = |tc: &str| {
            let tc = Some(tc.parse().unwrap());
            Limit { tc, nodestime, ..none }.counted_allowance().map(f64::round)
        };
        assert_eq!([allowance("1+0.1"), allowance("40/2")], [Some(2000.0), Some(1000.0)]);
        assert_eq!(nodes.counted_allowance(), None);
    }
}
