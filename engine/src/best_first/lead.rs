//! The two best children of a node, and how far behind them the others are.

use crate::best_first::backup::{child_value, prior_value};
use crate::best_first::error_model::Model;
use crate::chess::score::Verdict;
use crate::tree::edge::Edge;
use crate::tree::node::{EXCLUDED, Node, UNEVALUATED};

/// A child: its index among those that have nodes, or that of its move among the legal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// It has a node.
    Node(usize),
    /// It has no node: it was never searched.
    Edge(usize),
}

impl Child {
    /// The one so many places later.
    pub(super) fn later(self, places: usize) -> Self {
        match self {
            Self::Node(index) => Self::Node(index + places),
            Self::Edge(index) => Self::Edge(index + places),
        }
    }
}

/// Best and second best value among a node's children.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    /// The best child.
    pub best: Child,
    /// Its policy.
    pub(super) policy: f32,
    /// Its value.
    pub first: f32,
    /// The value of the next best, one score unit less if there is none.
    pub second: f32,
}

impl Lead {
    /// The two best of these children that do not lose by force. A child that was not searched is
    /// the best only if none was; then it is the one with the highest policy.
    pub fn of(children: &[Node], edges: &[Edge], model: &Model) -> Self {
        let nothing = f32::NEG_INFINITY;
        let mut lead = Self { best: Child::Node(0), policy: 1.0, first: nothing, second: nothing };
        // Among those without an evaluation: the child, its policy and its value.
        let mut likeliest: Option<(Child, f32, f32)> = None;
        for (index, child) in children.iter().enumerate() {
            if child.has(EXCLUDED) || matches!(child.verdict, Verdict::Win(_)) {
                continue;
            }
            let value = child_value(child, model);
            if child.has(UNEVALUATED) && !child.is_proven() {
                if likeliest.is_none_or(|(_, policy, _)| child.policy > policy) {
                    likeliest = Some((Child::Node(index), child.policy, value));
                }
            } else if value > lead.first {
                let (best, policy) = (Child::Node(index), child.policy);
                lead = Self { best, policy, first: value, second: lead.first };
            } else if value > lead.second {
                lead.second = value;
            }
        }
        if lead.second > nothing {
            return lead;
        }
        if let Some((index, edge)) = Edge::likeliest(edges)
            && likeliest.is_none_or(|(_, policy, _)| edge.policy() > policy)
        {
            let value = prior_value(edge.action_value(), model);
            likeliest = Some((Child::Edge(index), edge.policy(), value));
        }
        if let Some((best, policy, value)) = likeliest {
            if lead.first <= nothing {
                lead = Self { best, policy, first: value, second: value };
            } else {
                lead.second = value.min(lead.first);
            }
        }
        // The only move leads by as much as there is.
        lead.second = lead.second.max(lead.first - 1.0);
        lead
    }

    /// Gap of a child to the value at which the choice changes: to the best, or for the best to the
    /// second.
    pub fn gap(&self, child: Child, value: f32) -> f32 {
        if child == self.best { self.first - self.second } else { self.first - value }
    }
}
