//! Families of errors, by statrs: densities for the fits, distribution functions for the checks.

use statrs::distribution::{Continuous, ContinuousCDF, Laplace, Normal, StudentsT};
use tesla_engine::best_first::error_model::Family;

/// A family of standard errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One that the engine has.
    Closed(Family),
    /// Student's t with any degrees of freedom, to see whether the engine's two are right.
    Student(f64),
}

impl Shape {
    /// The families that the engine has, in the order of its `error_family`.
    pub const ENGINE: [Self; 4] = [
        Self::Closed(Family::StudentT2),
        Self::Closed(Family::Normal),
        Self::Closed(Family::Logistic),
        Self::Closed(Family::Laplace),
    ];

    /// Its name for the user.
    pub fn name(self) -> String {
        match self {
            Self::Closed(Family::StudentT2) => "Student's t, 2 degrees".to_owned(),
            Self::Closed(Family::Normal) => "normal".to_owned(),
            Self::Closed(Family::Logistic) => "logistic".to_owned(),
            Self::Closed(Family::Laplace) => "Laplace".to_owned(),
            Self::Student(degrees) => format!("Student's t, {degrees:.2} degrees"),
        }
    }

    /// Logarithm of the density at `z`, nats.
    pub fn ln_density(self, z: f64) -> f64 {
        match self {
            Self::Closed(Family::StudentT2) => student(2.0, |t| t.ln_pdf(z)),
            Self::Closed(Family::Normal) => Normal::standard().ln_pdf(z),
            // statrs has no logistic distribution.
            Self::Closed(Family::Logistic) => -z.abs() - 2.0 * (-z.abs()).exp().ln_1p(),
            Self::Closed(Family::Laplace) => {
                Laplace::new(0.0, 1.0).map_or(f64::NAN, |l| l.ln_pdf(z))
            }
            Self::Student(degrees) => student(degrees, |t| t.ln_pdf(z)),
        }
    }

    /// Probability of an error below `z`.
    pub fn cdf(self, z: f64) -> f64 {
        match self {
            Self::Closed(Family::StudentT2) => student(2.0, |t| t.cdf(z)),
            Self::Closed(Family::Normal) => Normal::standard().cdf(z),
            Self::Closed(Family::Logistic) => 1.0 / (1.0 + (-z).exp()),
            Self::Closed(Family::Laplace) => Laplace::new(0.0, 1.0).map_or(f64::NAN, |l| l.cdf(z)),
            Self::Student(degrees) => student(degrees, |t| t.cdf(z)),
        }
    }

    /// An error at random, from a share in (0, 1).
    pub fn quantile(self, share: f64) -> f64 {
        match self {
            Self::Closed(Family::StudentT2) => student(2.0, |t| t.inverse_cdf(share)),
            Self::Closed(Family::Normal) => Normal::standard().inverse_cdf(share),
            Self::Closed(Family::Logistic) => (share / (1.0 - share)).ln(),
            Self::Closed(Family::Laplace) => {
                Laplace::new(0.0, 1.0).map_or(f64::NAN, |l| l.inverse_cdf(share))
            }
            Self::Student(degrees) => student(degrees, |t| t.inverse_cdf(share)),
        }
    }
}

/// Something of Student's t with these degrees of freedom; no number where there is none.
fn student(degrees: f64, of: impl Fn(StudentsT) -> f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_are_slopes_of_the_distribution() {
        for shape in Shape::ENGINE.into_iter().chain([Shape::Student(1.3)]) {
            for step in -30..=30 {
                let (z, h) = (f64::from(step) / 7.0, 1e-5);
                let slope = (shape.cdf(z + h) - shape.cdf(z - h)) / (2.0 * h);
                let error = slope - shape.ln_density(z).exp();
                assert!(error.abs() < 1e-4, "{} at {z}: {error}", shape.name());
                let back = shape.quantile(shape.cdf(z));
                assert!((back - z).abs() < 1e-3, "{} at {z}: {back}", shape.name());
            }
        }
    }

    #[test]
    fn the_engine_has_the_same_families() {
        for shape in Shape::ENGINE {
            let Shape::Closed(family) = shape else { unreachable!("all are closed") };
            for step in -30..=30 {
                let z = f64::from(step) / 7.0;
                let engine = f64::from(family.survival(z as f32));
                assert!((1.0 - shape.cdf(z) - engine).abs() < 1e-5, "{} at {z}", shape.name());
            }
        }
    }
}
