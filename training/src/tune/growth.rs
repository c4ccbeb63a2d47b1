//! The effective branching factor: how many times the evaluations one more ply takes.
//!
//! A uniform tree with branching factor `b` and `W` positions has them at a mean depth of
//! `ln W / ln b` plus a constant. So `ln b` is the slope of `ln W` against the mean depth as one
//! tree grows; each tree has a constant of its own.

use super::interval::Interval;

/// A tree as it grew: positions in it, and the mean of their depths in plies.
pub type Growth = [(u32, f32)];

/// The branching factor that the trees share, by least squares, with its 95 % interval over trees;
/// `None` where no tree grew.
pub fn branching(trees: &[&Growth], seed: u64) -> Option<Interval> {
    // Sums of squares and products about each tree's own means, from which any sample of trees
    // has its slope.
    let sums: Vec<[f64; 2]> = trees.iter().filter_map(|growth| moments(growth)).collect();
    Interval::bootstrap(sums.len(), seed, |sample| {
        let [product, square] = sample.iter().fold([0.0; 2], |[p, s], &tree| {
            let [product, square] = sums[tree];
            [p + product, s + square]
        });
        (square > 0.0).then(|| (product / square).exp())
    })
}

/// Sums of products and of squares about the means, of ln W and depth.
fn moments(growth: &Growth) -> Option<[f64; 2]> {
    if growth.len() < 2 {
        return None;
    }
    let n = growth.len() as f64;
    let (work, depth): (Vec<f64>, Vec<f64>) =
        growth.iter().map(|&(work, depth)| (f64::from(work).ln(), f64::from(depth))).unzip();
    let (mean_work, mean_depth) = (work.iter().sum::<f64>() / n, depth.iter().sum::<f64>() / n);
    let mut sums = [0.0; 2];
    for (work, depth) in work.into_iter().zip(depth) {
        sums[0] += (work - mean_work) * (depth - mean_depth);
        sums[1] += (depth - mean_depth).powi(2);
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows a uniform tree of branching factor `b`, level by level.
    fn uniform(b: u32, levels: u32) -> Vec<(u32, f32)> {
        let (mut count, mut depths, mut growth) = (0_u64, 0_u64, Vec::new());
        for level in 0..levels {
            let width = u64::from(b).pow(level);
            count += width;
            depths += width * u64::from(level);
            if level >= 3 {
                growth.push((count as u32, depths as f32 / count as f32));
            }
        }
        growth
    }

    #[test]
    fn the_branching_of_uniform_trees_is_found() {
        for b in [2, 3, 7] {
            let levels = 2 + (12.0 / f64::from(b).ln()) as u32;
            let tree = uniform(b, levels.max(6));
            let found = branching(&[&tree, &tree], 1).unwrap();
            let error = found.value / f64::from(b) - 1.0;
            assert!(error.abs() < 0.05, "{b}: {found:?}");
        }
        assert_eq!(branching(&[], 1), None);
        assert_eq!(branching(&[&[(5, 1.0)]], 1), None);
        assert_eq!(branching(&[&[(5, 1.0), (9, 1.0)]], 1), None);
    }
}
