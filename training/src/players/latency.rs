//! A simulated device for one of our own sides: what the same search is worth on another GPU.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tesla_nn::simulated::Behaviour;

/// Longest part, µs: a batch cannot be interrupted.
const LONGEST: u32 = 1_000_000;

/// Time that the device takes for a batch, written as in `300+1`: microseconds for any batch, and
/// for each position of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Latency {
    /// For any batch, µs.
    pub base: u32,
    /// For each position, µs.
    pub per_position: u32,
}

impl Latency {
    /// As the device behaves.
    pub fn behaviour(self) -> Behaviour {
        Behaviour::of_micros(self.base.into(), self.per_position.into())
    }
}

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (base, per_position) = text.split_once('+')?;
            let part = |text: &str| text.parse().ok().filter(|&part| part <= LONGEST);
            Some(Self { base: part(base)?, per_position: part(per_position)? })
        };
        read().ok_or_else(|| {
            format!(
                "'{text}' is no latency; write microseconds of a batch and of a position, up to a \
                 second each: 300+1"
            )
        })
    }
}

impl TryFrom<String> for Latency {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Latency> for String {
    fn from(latency: Latency) -> Self {
        latency.to_string()
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.base, self.per_position)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::Chess;
    use tesla_engine::search::StopToken;

    use super::*;
    use crate::game::state::GameState;
    use crate::players::devices::Devices;
    use crate::players::own::OwnPlayer;
    use crate::players::player::{Player as _, Turn};
    use crate::players::side::{Side, parse_sides};

    /// Nodes of a move on a device of this latency.
    fn nodes(latency: &str) -> u64 {
        let words =
            ["name=A", "movetime=0.3", "option.Evaluator=Classical", &format!("latency={latency}")];
        let sides: Vec<Side> = parse_sides(&words.map(str::to_owned)).unwrap();
        let devices = Devices::default();
        let mut player = OwnPlayer::new(&sides[0], &devices, StopToken::default()).unwrap();
        player.new_game(false).unwrap();
        let state = GameState::from_position(Chess::default());
        let (limit, allowance) = (&sides[0].limit, Duration::ZERO);
        let turn = Turn { state: &state, limit, clocks: [None; 2], allowance, only: &[] };
        player.play(&turn).unwrap().nodes.unwrap()
    }

    #[test]
    fn a_slow_device_answers_fewer_batches() {
        let slow = nodes("100000+0");
        // The root alone, and two or three batches of what little a small tree is asked for.
        assert!((1..60).contains(&slow), "{slow}");
        assert!(nodes("0+0") > 4 * slow);
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        let latency: Latency = "300+1".parse().unwrap();
        assert_eq!(latency, Latency { base: 300, per_position: 1 });
        assert_eq!(latency.to_string().parse(), Ok(latency));
        assert_eq!(latency.behaviour().latency(200), Duration::from_micros(500));
        for wrong in ["", "300", "300+", "+1", "-1+1", "300+1.5", "1000001+0"] {
            assert!(wrong.parse::<Latency>().unwrap_err().contains("300+1"), "{wrong}");
        }
    }
}
