//! Chance by design: every draw follows from the seed and the number of the game.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::span::Span;

/// The draws of one game. Written out here, so that no update of a library changes games.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// The dice of game `number` in a run with this seed.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(number);
        Self(rng)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The bias of the remainder is below 2^-32 for any bound that counts things in memory.
        (self.0.next_u64() % bound as u64) as usize
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Says yes with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A whole number of the range.
    pub fn whole(&mut self, range: Span<u16>) -> u16 {
        range.low + self.below(usize::from(range.high - range.low) + 1) as u16
    }

    /// A share of the range.
    pub fn share(&mut self, range: Span<f64>) -> f64 {
        range.low + self.unit() * (range.high - range.low)
    }

    /// At most `count` different ones of `items`, in any order.
    pub fn few<T: Copy>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut items = items.to_vec();
        let count = count.min(items.len());
        for place in 0..count {
            let other = place + self.below(items.len() - place);
            items.swap(place, other);
        }
        items.truncate(count);
        items
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_game_has_its_own_draws() {
        let draws = |seed, number| {
            let mut dice = Dice::new(seed, number);
            [(); 4].map(|()| dice.below(1 << 20))
        };
        assert_eq!(draws(1, 7), draws(1, 7));
        assert_ne!(draws(1, 7), draws(1, 8));
        assert_ne!(draws(1, 7), draws(2, 7));
    }

    #[test]
    fn draws_stay_in_their_ranges() {
        let mut dice = Dice::new(3, 0);
        let whole: HashSet<u16> = (0..200).map(|_| dice.whole(Span { low: 2, high: 4 })).collect();
        assert_eq!(whole, HashSet::from([2, 3, 4]));
        assert_eq!(dice.whole(Span { low: 5, high: 5 }), 5);
        assert!((0..200).all(|_| (0.1..0.3).contains(&dice.share(Span { low: 0.1, high: 0.3 }))));
        assert!(!dice.chance(0.0) && dice.chance(1.0));
        let few: HashSet<u32> = dice.few(&[1, 2, 3, 4, 5], 4).into_iter().collect();
        assert_eq!(few.len(), 4);
        assert_eq!(dice.few(&[1, 2], 4).len(), 2);
        assert!(dice.few::<u8>(&[], 1).is_empty());
    }
}
