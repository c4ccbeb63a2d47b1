//! The rule that a search follows: Tesla's own or, as its control, PUCT's. Tree, batches, device and
//! clock are the same for both and know only this.

use shakmaty::Chess;
use tesla_nn::evaluator::Evaluation;

use crate::best_first::gather::Gatherer;
use crate::best_first::mate;
use crate::best_first::model::Model;
use crate::best_first::params::Params;
use crate::best_first::puct::{self, Puct};
use crate::best_first::root;
use crate::chess::score::Score;
use crate::chess::tablebase::Tables;
use crate::search::table::Table;
use crate::tree::arena::Tree;
use crate::tree::batch::give_up;
use crate::tree::batch::{Gathered, Harvest};
use crate::tree::leaf::Leaf;
use crate::tree::node::{BranchId, NodeId};
use crate::tree::sweep::Backup;

/// Where a batch comes from, and how large it may be.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The root's position.
    pub root: &'a Chess,
    /// Keys of the game's earlier positions.
    pub earlier: &'a [u64],
    /// Positions and legal moves in flight, which need room in the tree too.
    pub promised: (usize, usize),
    /// Leaves at most.
    pub size: u32,
    /// Leaves that the limits still allow, this batch's among them.
    pub remaining: u32,
    /// Endgame tables.
    pub endings: Option<&'a Tables>,
}

/// A rule with its tunables.
#[derive(Debug)]
pub struct Rule {
    params: Params,
    model: Model,
    /// The control's; `None` = benefit/cost and minimax.
    puct: Option<Puct>,
    /// Of `go mate`: moves to the mate.
    mate: Option<u32>,
}

impl Rule {
    /// Tesla's rule, or PUCT.
    pub fn new(params: Params, is_puct: bool) -> Self {
        let (model, puct) = (Model::new(&params), is_puct.then(|| Puct::new(&params)));
        Self { params, model, puct, mate: None }
    }

    /// The tunables.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The error model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether it is the control.
    pub fn is_puct(&self) -> bool {
        self.puct.is_some()
    }

    /// Looks from now on for a mate in so many moves and for nothing else, or for whatever is best.
    pub fn seek_mate(&mut self, moves: Option<u32>) {
        self.mate = moves;
        self.model.seeks_mate = moves.is_some();
    }

    /// Whether it looks for a mate and for nothing else.
    pub fn seeks_mate(&self) -> bool {
        self.mate.is_some()
    }

    /// Picks the leaves of a batch.
    pub fn gather(&mut self, tree: &mut Tree, table: &Table, order: &Order<'_>) -> Gathered {
        let Order { root, earlier, promised, size, remaining, endings } = *order;
        match &mut self.puct {
            None => {
                // A mate in the table may be too long.
                let table = Some(table).filter(|_| self.mate.is_none());
                let harvest = Harvest::new(table, earlier, promised, size);
                let harvest = harvest.with_endings(endings).with_mate(self.mate);
                Gatherer::new(tree, &self.model, &self.params, harvest).gather(root, size)
            }
            Some(puct) => {
                // Averages take nothing from the table: its values are minimax's or other trees'.
                let harvest = Harvest::new(None, earlier, promised, size);
                let harvest = harvest.with_endings(endings).with_mate(self.mate);
                puct.gather(tree, &self.model, harvest, root, [size, remaining])
            }
        }
    }

    /// An answer that is about to go into the tree.
    pub fn receive(&mut self, tree: &Tree, leaf: &Leaf, answer: &mut Evaluation) {
        if let Some(puct) = &mut self.puct {
            puct.land(tree, leaf);
            puct.flatten(answer);
        }
    }

    /// A leaf that will not be answered.
    pub fn give_up(&mut self, tree: &mut Tree, leaf: &Leaf) {
        if let Some(puct) = &mut self.puct {
            puct.land(tree, leaf);
        }
        give_up(tree, &self.model.effort, leaf);
    }

    /// A batch has been answered, or is lost.
    pub fn end_batch(&mut self) {
        if let Some(puct) = &mut self.puct {
            puct.forget_collisions();
        }
    }

    /// Nothing is in flight any more.
    pub fn clear(&mut self) {
        if let Some(puct) = &mut self.puct {
            puct.clear();
        }
    }

    /// Policy from which a new child is looked up in the table.
    pub fn table_policy(&self) -> f32 {
        let is_unused = self.is_puct() || self.mate.is_some();
        if is_unused { f32::INFINITY } else { self.params.table_policy }
    }

    /// Depth from which a value goes into the table, plies.
    pub fn table_depth(&self) -> f32 {
        let is_unused = self.is_puct() || self.mate.is_some();
        if is_unused { f32::INFINITY } else { self.params.table_depth }
    }

    /// A root move's score.
    pub fn score(&self, tree: &Tree, child: NodeId) -> Score {
        if self.mate.is_some() { mate::score(tree, child) } else { root::score(tree, child) }
    }

    /// The root move to play, as far as is known.
    pub fn choose(&self, tree: &Tree) -> Option<NodeId> {
        self.choose_beside(tree, &[])
    }

    /// The next best root moves behind `best`, at most so many.
    pub fn others(&self, tree: &Tree, best: NodeId, count: usize) -> Vec<NodeId> {
        let mut taken = vec![best];
        while taken.len() <= count
            && let Some(next) = self.choose_beside(tree, &taken)
        {
            taken.push(next);
        }
        taken.split_off(1)
    }

    fn choose_beside(&self, tree: &Tree, taken: &[NodeId]) -> Option<NodeId> {
        if self.mate.is_some() {
            mate::choose(tree, taken)
        } else if self.is_puct() {
            puct::choose(tree, &self.model, taken)
        } else {
            root::choose(tree, &self.model, &self.params, taken)
        }
    }
}

impl Backup for Rule {
    fn recompute(&self, tree: &mut Tree, id: BranchId) {
        match &self.puct {
            None => self.model.recompute(tree, id),
            Some(puct) => puct.recompute(tree, &self.model, id),
        }
    }
}
