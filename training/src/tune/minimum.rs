//! The lowest point of a function of a few numbers, by Nelder and Mead's simplex (1965).

/// Steps at most.
const STEPS: usize = 2000;
/// Difference of the simplex's values at which it has arrived.
const ARRIVED: f64 = 1e-9;

/// A corner of the simplex.
#[derive(Clone)]
struct Corner {
    at: Vec<f64>,
    cost: f64,
}

/// Where `cost` is lowest, by a simplex from `start` with corners `steps` away along each number.
/// What is not a number counts as too dear.
pub fn minimum(start: &[f64], steps: &[f64], cost: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let corner = |at: Vec<f64>| {
        let said = cost(&at);
        Corner { at, cost: if said.is_finite() { said } else { f64::MAX } }
    };
    let mut simplex = vec![corner(start.to_vec())];
    for (place, step) in steps.iter().enumerate() {
        let mut at = start.to_vec();
        at[place] += step;
        simplex.push(corner(at));
    }
    for _ in 0..STEPS {
        simplex.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let worst = simplex.len() - 1;
        if simplex[worst].cost - simplex[0].cost < ARRIVED {
            break;
        }
        let centre = centre(&simplex[..worst]);
        // A point on the line from the worst corner through the centre of the others.
        let at = |share: f64| {
            let from = &simplex[worst].at;
            let along = |(centre, worst): (&f64, &f64)| centre + share * (centre - worst);
            corner(centre.iter().zip(from).map(along).collect())
        };
        let reflected = at(1.0);
        let better = if reflected.cost < simplex[0].cost {
            let expanded = at(2.0);
            Some(if expanded.cost < reflected.cost { expanded } else { reflected })
        } else if reflected.cost < simplex[worst - 1].cost {
            Some(reflected)
        } else {
            let is_outside = reflected.cost < simplex[worst].cost;
            let contracted = at(if is_outside { 0.5 } else { -0.5 });
            let bar = if is_outside { reflected.cost } else { simplex[worst].cost };
            (contracted.cost < bar).then_some(contracted)
        };
        if let Some(better) = better {
            simplex[worst] = better;
        } else {
            let best = simplex[0].at.clone();
            for shrunk in &mut simplex[1..] {
                let halfway = shrunk.at.iter().zip(&best).map(|(a, b)| 0.5 * (a + b));
                *shrunk = corner(halfway.collect());
            }
        }
    }
    simplex.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    simplex.swap_remove(0).at
}

fn centre(corners: &[Corner]) -> Vec<f64> {
    let share = 1.0 / corners.len() as f64;
    let mut centre = vec![0.0; corners[0].at.len()];
    for corner in corners {
        centre.iter_mut().zip(&corner.at).for_each(|(sum, at)| *sum += share * at);
    }
    centre
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bottom_of_a_valley() {
        let rosenbrock = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let found = minimum(&[-1.2, 1.0], &[0.5, 0.5], rosenbrock);
        assert!((found[0] - 1.0).abs() < 1e-3 && (found[1] - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn walls_of_no_number_are_walked_around() {
        let walled = |x: &[f64]| if x[0] < 0.0 { f64::NAN } else { (x[0] - 0.5).powi(2) };
        let found = minimum(&[3.0], &[1.0], walled);
        assert!((found[0] - 0.5).abs() < 1e-3, "{found:?}");
    }
}
