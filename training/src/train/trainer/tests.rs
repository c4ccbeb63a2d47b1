use std::fs;
use std::path::PathBuf;

use shakmaty::{Chess, Position};
use tesla_nn::model::backprop::Backprop;
use tesla_nn::model::{ModelConfig, Precision};

use super::guard::BAD_IN_A_ROW;
use super::*;
use crate::labelled::{GameRecord, Ply, pack};
use crate::train::adamw::Grads;
use crate::train::loss::LossWeights;
use burn::optim::GradientsParams;

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-run-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Games that go on and on by the `k`-th legal move, with scores that mean nothing.
fn dataset() -> Dataset {
    let mut dataset = Dataset::default();
    for k in 1..=12 {
        let start = Chess::default();
        let mut position = start.clone();
        let mut plies = Vec::new();
        for ply in 0..40 {
            let moves = position.legal_moves();
            let Some(&played) = moves.get((k * 7 + ply) % moves.len().max(1)) else { break };
            let score = ((ply * 37 + k * 11) % 400) as i16 - 200;
            plies.push(Ply { played: pack(played), best: pack(moves[0]), score });
            position.play_unchecked(played);
        }
        dataset.push(GameRecord { start, result: 1, plies, others: Vec::new() });
    }
    dataset
}

fn config(steps: u64) -> TrainConfig {
    TrainConfig {
        window: 5,
        batch: 8,
        steps,
        warm_up: 0,
        final_rate: 1.0,
        ..TrainConfig::new(ModelConfig::tiny())
    }
}

fn open(config: TrainConfig, folder: &Folder) -> Trainer {
    Trainer::open(config, &folder.0, &Device::flex()).unwrap()
}

fn jobs(dataset: &Dataset, batch: usize) -> Vec<Job> {
    let plan = dataset.plan(5, 8, 1, 0);
    let (batch, labels) = dataset.batch(&plan[batch]);
    vec![Job { batch, labels, whole: None }]
}

/// A pass that changes nothing of the gradients.
fn plain_pass<'a>(weights: &'a LossWeights, trainer: &'a Trainer) -> Pass<'a> {
    let precision = Precision::F32;
    Pass { weights, precision, scale: 1.0, device: &trainer.device, workers: 1 }
}

fn weights_of(trainer: &Trainer) -> Vec<u8> {
    weights::to_exact_bytes(&trainer.network(), &trainer.config.model).unwrap()
}

#[test]
fn a_bad_batch_is_left_out() {
    let (folder, dataset) = (Folder::new("bad"), dataset());
    let mut trainer = open(config(9), &folder);
    let mut pace = Pace::new();
    assert_eq!(trainer.train_step(&jobs(&dataset, 0), &mut pace), Ruling::Fine);
    let before = (weights_of(&trainer), trainer.optimizer.to_bytes().unwrap());
    let mut bad = jobs(&dataset, 1);
    bad[0].labels.score[0] = f32::NAN;
    assert!(matches!(trainer.train_step(&bad, &mut pace), Ruling::Skipped(_)));
    // No weight, no moment and no sum has seen it.
    assert!(before == (weights_of(&trainer), trainer.optimizer.to_bytes().unwrap()));
    assert_eq!((trainer.step(), trainer.skipped()), (2, 1));
    assert_eq!(trainer.train_step(&jobs(&dataset, 2), &mut pace), Ruling::Fine);
    assert!(before.0 != weights_of(&trainer));
    trainer.save().unwrap();
    drop(trainer);
    assert_eq!(open(config(9), &folder).skipped(), 1);
}

/// The batches of a checkpoint are counted in the plan that it was written under, however often the
/// run was killed under another one before the next checkpoint.
#[test]
fn a_changed_plan_begins_a_new_epoch_once() {
    let folder = Folder::new("plan");
    let mut trainer = open(config(3), &folder);
    trainer.run(&Arc::new(dataset()), &StopToken::default(), &|_| ()).unwrap();
    assert_eq!((trainer.progress.epoch, trainer.progress.batch), (0, 6));
    drop(trainer);
    let other = TrainConfig { batch: 4, ..config(9) };
    for _ in 0..2 {
        let trainer = open(other.clone(), &folder);
        assert_eq!((trainer.progress.epoch, trainer.progress.batch), (1, 0));
    }
    // What comes back to the old plan before a checkpoint was made goes on as if nothing had been.
    let trainer = open(config(9), &folder);
    assert_eq!((trainer.progress.epoch, trainer.progress.batch), (0, 6));
}

/// Scores that look ahead say which windows are decided, so batches depend on how far they look.
#[test]
fn what_decides_the_batches_is_in_the_plan() {
    let plain = config(1);
    let ahead = TrainConfig { look_ahead: 0.5, ..config(1) };
    assert!(plain.plan() != ahead.plan() && plain.plan() == config(9).plan());
}

/// Muon keeps no second moment: what it leaves would make steps of `AdamW` as large as they get.
#[test]
fn matrices_are_moved_by_the_same_optimizer_to_the_end() {
    let folder = Folder::new("mover");
    let by_muon = |muon: f32, steps: u64| {
        let mut config = config(steps);
        config.optimizer.muon = muon;
        config
    };
    let mut trainer = open(by_muon(1.0, 2), &folder);
    trainer.run(&Arc::new(dataset()), &StopToken::default(), &|_| ()).unwrap();
    drop(trainer);
    let refused = Trainer::open(by_muon(0.0, 4), &folder.0, &Device::flex()).map(drop);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("optimizer.muon") && refused.contains("--start-from"), "{refused}");
    assert_eq!(open(by_muon(0.5, 4), &folder).step(), 2);
    let _ = fs::remove_dir_all(&folder.0);
    open(by_muon(0.0, 1), &folder).save().unwrap();
    assert!(Trainer::open(by_muon(1.0, 1), &folder.0, &Device::flex()).is_err());
}

#[test]
fn a_run_that_leaves_out_all_windows_ends() {
    let folder = Folder::new("nothing");
    let mut dataset = Dataset::default();
    let start = Chess::default();
    let played = pack(start.legal_moves()[0]);
    let plies = vec![Ply { played, best: played, score: 900 }];
    dataset.push(GameRecord { start, result: 1, plies, others: Vec::new() });
    dataset.keep_decided(0.0);
    let config = TrainConfig { decided: 0.0, ..config(3) };
    let run = open(config, &folder).run(&Arc::new(dataset), &StopToken::default(), &|_| ());
    assert!(run.unwrap_err().to_string().contains("nothing to learn from: decided is 0"));
}

#[test]
fn a_run_that_diverges_keeps_its_last_good_checkpoint() {
    let folder = Folder::new("diverged");
    let mut data = dataset();
    let good = Arc::new(dataset());
    let mut trainer = open(config(3), &folder);
    trainer.run(&good, &StopToken::default(), &|_| ()).unwrap();
    let at_three = weights_of(&trainer);
    drop(trainer);

    data.weigh_as_refuted(f32::NAN);
    // A checkpoint is due after every step.
    let every = TrainConfig { checkpoint_steps: Some(1), ..config(20) };
    let heard = std::cell::RefCell::new(Vec::new());
    let say = |sentence: &str| heard.borrow_mut().push(sentence.to_owned());
    let run = open(every, &folder).run(&Arc::new(data), &StopToken::default(), &say);
    let error = run.unwrap_err();
    assert!(matches!(error, TrainError::Diverged(_)), "{error}");
    assert_eq!(heard.borrow().len() as u32, BAD_IN_A_ROW - 1);
    let mut trainer = open(config(5), &folder);
    assert_eq!(trainer.step(), 3);
    assert!(weights_of(&trainer) == at_three);
    trainer.run(&good, &StopToken::default(), &|_| ()).unwrap();
    assert_eq!((trainer.step(), trainer.skipped()), (5, 0));
}

#[test]
fn weights_that_are_no_numbers_replace_none() {
    let folder = Folder::new("poisoned");
    let mut trainer = open(config(1), &folder);
    trainer.run(&Arc::new(dataset()), &StopToken::default(), &|_| ()).unwrap();
    let good = weights_of(&trainer);
    let settings =
        crate::train::optimizer::Optimizer { clip_norm: f32::NAN, ..trainer.config.optimizer };
    let jobs = jobs(&dataset(), 0);
    let weights = &LossWeights::default();
    let pass = plain_pass(weights, &trainer);
    let sum = gradients::gradients(&trainer.model, &jobs, pass, &mut Memory::default());
    let gradient = State::measured(&trainer.model, sum.grads, 1.0);
    let model = trainer.model.clone();
    trainer.model = trainer.optimizer.step(&settings, f32::NAN, model, gradient);
    assert!(matches!(trainer.save(), Err(TrainError::Diverged(1))));
    drop(trainer);
    assert!(weights_of(&open(config(1), &folder)) == good);
}

/// Loss and gradient in half precision are those of f32 but for rounding.
#[test]
fn half_precision_teaches_the_same() {
    let (folder, dataset) = (Folder::new("half"), dataset());
    let trainer = open(config(1), &folder);
    let jobs = jobs(&dataset, 0);
    let found = |precision, scale| {
        let weights = &LossWeights::default();
        let pass = Pass { weights, precision, scale, device: &trainer.device, workers: 1 };
        let sum = gradients::gradients(&trainer.model, &jobs, pass, &mut Memory::default());
        let parts = sum.parts[0].0;
        (parts, State::measured(&trainer.model, sum.grads, scale).norm)
    };
    let (parts, norm) = found(Precision::F32, 1.0);
    for (precision, scale) in [(Precision::Bf16, 1.0), (Precision::F16, 8192.0)] {
        let (half, half_norm) = found(precision, scale);
        let rounds = parts.iter().zip(&half).any(|(a, b)| (a - b).abs() > 0.0);
        assert!(rounds, "{precision} rounds");
        for (a, b) in parts.iter().zip(&half) {
            assert!((a - b).abs() < 0.02 * a.abs().max(0.1), "{precision}: {parts:?} {half:?}");
        }
        assert!((norm - half_norm).abs() < 0.05 * norm, "{precision}: {norm} {half_norm}");
    }
}

#[test]
fn half_precision_learns_and_keeps_its_weights_in_f32() {
    let data = Arc::new(dataset());
    let after = |precision| {
        let folder = Folder::new(&format!("learns-{precision}"));
        let mut trainer = open(TrainConfig { precision, ..config(100) }, &folder);
        trainer.run(&data, &StopToken::default(), &|_| ()).unwrap();
        let log = fs::read_to_string(folder.0.join("loss.csv")).unwrap();
        let value: f32 = log.lines().last().unwrap().split(',').nth(3).unwrap().parse().unwrap();
        (value, weights_of(&trainer).len(), trainer.skipped())
    };
    let (f32_value, size, _) = after(Precision::F32);
    for precision in [Precision::Bf16, Precision::F16] {
        let (value, same_size, skipped) = after(precision);
        assert_eq!(size, same_size);
        assert!((value - f32_value).abs() < 0.1, "{precision}: {value} against {f32_value}");
        assert!(skipped < 10);
    }
}

/// The training pass written out is that of burn's graph but for rounding, and what a worker finds
/// in batches one after another is what workers find side by side.
#[test]
fn the_written_pass_teaches_what_the_graph_does() {
    let mut shape = ModelConfig::tiny();
    (shape.width, shape.heads, shape.feed_forward, shape.value_hidden) = (48, 4, 40, 20);
    for shape in [ModelConfig::tiny(), shape, ModelConfig::small()] {
        let (folder, dataset) = (Folder::new("written"), dataset());
        let config = TrainConfig { model: shape, ..config(1) };
        let trainer = open(config, &folder);
        let mut jobs = jobs(&dataset, 0);
        jobs.extend(self::jobs(&dataset, 3));
        jobs.extend(self::jobs(&dataset, 2));
        let pass = Pass {
            weights: &LossWeights::default(),
            precision: Precision::F32,
            scale: 2.0,
            device: &trainer.device,
            workers: 2,
        };
        assert!(jobs.len() > 2);
        let graph = gradients::graph_gradients(&trainer.model, &jobs, pass);
        let Grads::Tensors(tensors) = &graph.grads else { panic!("a graph makes tensors") };
        let mut memory = Memory::default();
        // The memory of another batch changes nothing.
        let _ = gradients::gradients(&trainer.model, &self::jobs(&dataset, 2), pass, &mut memory);
        for workers in [2, jobs.len()] {
            let pass = Pass { workers, ..pass };
            let written = gradients::gradients(&trainer.model, &jobs, pass, &mut memory);
            assert_eq!(written.parts.len(), graph.parts.len());
            for ((a, n), (b, m)) in written.parts.iter().zip(&graph.parts) {
                assert_eq!(n, m);
                assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4), "{a:?} {b:?}");
            }
            let Grads::List(list) = written.grads else { panic!("the written pass makes a list") };
            let mut compared = Compared { list: &list, tensors };
            trainer.model.visit(&mut compared);
            assert!(compared.list.is_empty());
        }
    }
}

struct Compared<'a> {
    list: &'a [f32],
    tensors: &'a GradientsParams,
}

impl ModuleVisitor for Compared<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let length = param.val().shape().num_elements();
        let (list, rest) = self.list.split_at(length);
        self.list = rest;
        let expected: Vec<f32> = match self.tensors.get::<D>(param.id) {
            Some(tensor) => tensor.into_data().try_to_vec().unwrap(),
            None => vec![0.0; length],
        };
        let size = expected.iter().map(|x| x * x).sum::<f32>().sqrt();
        let apart: f32 = expected.iter().zip(list).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(apart.sqrt() <= 1e-4 * size + 1e-7, "{} of {size} apart", apart.sqrt());
    }
}

/// Wherever a run is stopped, and where an epoch ends with fewer batches than a step takes.
#[test]
fn micro_batches_go_on_where_they_stopped() {
    let data = Arc::new(dataset());
    let config = TrainConfig { micro_batches: 4, ..config(5) };
    let [whole, parts] = ["micro-whole", "micro-parts"].map(Folder::new);
    open(config.clone(), &whole).run(&data, &StopToken::default(), &|_| ()).unwrap();
    for end in 1..=5 {
        let mut trainer = open(config.clone(), &parts);
        trainer.run_to(end, &data, &StopToken::default(), &|_| ()).unwrap();
        assert_eq!(trainer.step(), end);
    }
    let [whole, parts] = [whole, parts].map(|folder| open(config.clone(), &folder));
    assert!(weights_of(&whole) == weights_of(&parts));
    let (batches, step) = (data.plan(5, 8, 1, 0).len(), config.batches_a_step());
    assert!(!batches.is_multiple_of(step) && whole.progress.epoch == 2, "{batches}");
}

/// Gradients in a list and as tensors move the weights alike, by Muon as by `AdamW`.
#[test]
fn both_kinds_of_gradients_take_the_same_step() {
    for muon in [0.0, 1.0] {
        let (folder, dataset) = (Folder::new(&format!("kinds-{muon}")), dataset());
        let trainer = open(config(1), &folder);
        let jobs = jobs(&dataset, 0);
        let weights = &LossWeights::default();
        let pass = plain_pass(weights, &trainer);
        let graph = gradients::graph_gradients(&trainer.model, &jobs, pass).grads;
        let Grads::Tensors(tensors) = &graph else { panic!("a graph makes tensors") };
        let mut list = Listed { list: Vec::new(), tensors };
        trainer.model.visit(&mut list);
        let settings = crate::train::optimizer::Optimizer { muon, ..trainer.config.optimizer };
        let bf16 = Grads::List(list.list.clone());
        let list = Grads::List(list.list);
        let kinds = [(list, Precision::F32), (graph, Precision::F32), (bf16, Precision::Bf16)];
        let after = kinds.map(|(grads, precision)| {
            let gradient = State::measured(&trainer.model, grads, 1.0).in_precision(precision);
            let mut state = State::default();
            let model = state.step(&settings, 0.01, trainer.model.clone(), gradient);
            let mut all = Flat(Vec::new());
            model.visit(&mut all);
            state.check(&model).unwrap();
            all.0
        });
        let [list, graph, bf16] = &after;
        let apart =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let largest = apart(list, graph);
        assert!(largest < 1e-4, "{largest} apart with muon = {muon}");
        // Only Muon's products are rounded, and only where there are tiles.
        let rounding = apart(list, bf16);
        let rounds = muon > 0.0 && Backprop::has_tiles();
        assert!(
            if rounds { (1e-6..2e-3).contains(&rounding) } else { rounding == 0.0 },
            "{rounding}"
        );
    }
}

/// Gradients end to end.
struct Listed<'a> {
    list: Vec<f32>,
    tensors: &'a GradientsParams,
}

impl ModuleVisitor for Listed<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let length = param.val().shape().num_elements();
        match self.tensors.get::<D>(param.id) {
            Some(tensor) => self.list.extend(tensor.into_data().try_to_vec::<f32>().unwrap()),
            None => self.list.extend(vec![0.0; length]),
        }
    }
}

/// Weights end to end.
struct Flat(Vec<f32>);

impl ModuleVisitor for Flat {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.extend(param.val().into_data().try_to_vec::<f32>().unwrap());
    }
}
