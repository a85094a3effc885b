//! Owns the counting: allocations of a piece of work, and those that a clone made.

use std::future::Future;
use std::path::Path;

use serde_json::Value;

use crate::{Figure, Outcome};

/// How much of a stack is looked at. A clone stands some ten frames above the allocation that it makes.
const FRAMES: usize = 40;

/// Words of a frame that copies a value.
const COPIES: [&str; 3] = ["Clone>::clone", "ToOwned>::to_owned", "to_vec"];

/// Counts of a piece of work.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    allocations: f64,
    bytes: f64,
    /// Bytes of allocations that clones made.
    cloned: f64,
}

impl Counts {
    /// The cost of one step, if `self` had `more` steps than `fewer`: costs that both pay once fall out.
    pub(crate) fn per_step(self, fewer: Self, more: usize) -> Self {
        let each = |many: f64, few: f64| (many - few) / more as f64;
        Self {
            allocations: each(self.allocations, fewer.allocations),
            bytes: each(self.bytes, fewer.bytes),
            cloned: each(self.cloned, fewer.cloned),
        }
    }

    pub(crate) fn figures(self, of: &str) -> Vec<Figure> {
        vec![
            Figure::new(format!("{of}.allocations"), self.allocations),
            Figure::new(format!("{of}.bytes"), self.bytes),
            Figure::new(format!("{of}.cloned_bytes"), self.cloned),
        ]
    }
}

/// Counts the allocations of a future.
pub(crate) async fn count<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<Counts> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("heap.json");
    let profiler = dhat::Profiler::builder().file_name(&file).trim_backtraces(Some(FRAMES)).build();
    let done = work.await;
    // Writes the file.
    drop(profiler);
    done?;
    read(&file)
}

/// The bytes that are held now. A profiler must be running.
pub(crate) fn held() -> f64 {
    dhat::HeapStats::get().curr_bytes as f64
}

fn read(file: &Path) -> Outcome<Counts> {
    let profile: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let list = |key: &str| profile.get(key).and_then(Value::as_array).ok_or("the profile has another form");
    let copies: Vec<bool> = list("ftbl")?.iter().map(is_copy).collect();
    let mut counts = Counts::default();
    for point in list("pps")? {
        let number = |key: &str| point.get(key).and_then(Value::as_f64).unwrap_or_default();
        counts.allocations += number("tbk");
        counts.bytes += number("tb");
        let frames = point.get("fs").and_then(Value::as_array).into_iter().flatten();
        let mut places = frames.filter_map(Value::as_u64);
        if places.any(|place| copies.get(place as usize).copied().unwrap_or_default()) {
            counts.cloned += number("tb");
        }
    }
    Ok(counts)
}

fn is_copy(frame: &Value) -> bool {
    frame.as_str().is_some_and(|frame| COPIES.iter().any(|word| frame.contains(word)))
}
