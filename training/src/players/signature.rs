//! What tells one version of our search from another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tesla_engine::search::{Info, StopToken};
use tesla_engine::setup::factory;
use tesla_engine::setup::mode::SearchMode;

use super::side::Side;

/// Evaluations at each bench position whose signature goes into the results file.
const SIGNATURE_NODES: u64 = 200;

/// By the search modes of our own sides a signature, the same for the same search; nothing where no
/// side is ours.
pub(crate) fn search_signatures<'a>(sides: impl IntoIterator<Item = &'a Side>) -> Option<Value> {
    let own = sides.into_iter().filter(|side| side.is_own());
    let modes: BTreeSet<SearchMode> =
        own.filter_map(|side| Some(side.machine().ok()?.search)).collect();
    let signature = |mode: SearchMode| {
        let mut search = factory::bench_search_of(mode).ok()?;
        let (stop, hear) = (StopToken::default(), &mut |_: &str, _: &Info| {});
        let total =
            tesla_engine::commands::bench::run(search.as_mut(), SIGNATURE_NODES, &stop, hear);
        Some((mode.name(), format!("{:016x}", total.signature)))
    };
    let signatures: BTreeMap<_, _> = modes.into_iter().filter_map(signature).collect();
    (!signatures.is_empty()).then(|| json!(signatures))
}
