//! An evaluator that checks what it is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shakmaty::Position as _;
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};

/// Counts what is asked, checks that it may be asked, and fails when told to.
pub(crate) struct Watched {
    inner: ClassicalEvaluator,
    asked: Arc<AtomicU64>,
    fail_after: u64,
    is_lost: bool,
}

impl Watched {
    pub(crate) fn new(batch: usize, fail_after: u64) -> (Box<Self>, Arc<AtomicU64>) {
        let asked = Arc::new(AtomicU64::new(0));
        let inner = ClassicalEvaluator::with_batch_size(batch);
        (Box::new(Self { inner, asked: Arc::clone(&asked), fail_after, is_lost: false }), asked)
    }
}

impl Evaluator for Watched {
    fn description(&self) -> String {
        self.inner.description()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.inner.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        assert!(batch.len() <= self.batch_size());
        for request in &batch {
            assert!(!request.moves.is_empty());
            assert_eq!(request.moves[..], request.position.legal_moves()[..]);
        }
        self.asked.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.inner.submit(batch);
    }

    fn in_flight(&self) -> usize {
        if self.is_lost { 0 } else { self.inner.in_flight() }
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.is_lost = self.asked.load(Ordering::Relaxed) >= self.fail_after;
        if self.is_lost {
            while self.inner.collect().is_ok() {}
            self.fail_after = u64::MAX; // the next search finds it repaired
            return Err(EvalError::DeviceLost("unplugged".to_owned()));
        }
        self.inner.collect()
    }
}
