//! `windlass-bench counts`: what a turn, a piece of a stream, an append, a waiting run and one that has ended take, as counts.
//!
//! Counts are the same on a busy and on a quiet machine, so a test may hold them: `tests/counts.rs` compares them with the table
//! `counts.txt`. They are taken under another allocator than that of `windlass-bench`, which is why this is a program of its own. The
//! test's build is not optimised: only there does each clone stand in the stack of its allocations.

mod heap;
mod playback;
mod runs;

use std::error::Error;

use windlass_core::State;

/// Counts and tells where each allocation comes from.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A row of the table.
struct Figure {
    name: String,
    value: f64,
}

impl Figure {
    fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value }
    }
}

fn main() -> Outcome<()> {
    // One thread: the counts of others would fall into ours by chance.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for Figure { name, value } in runtime.block_on(figures())? {
        println!("{name} {value:.1}");
    }
    Ok(())
}

async fn figures() -> Outcome<Vec<Figure>> {
    let mut figures = Vec::new();
    figures.extend(runs::turn().await?);
    figures.extend(runs::short_run().await?);
    figures.extend(runs::piece().await?);
    figures.extend(runs::append().await?);
    figures.push(Figure::new("size_of.State", size_of::<State>() as f64));
    figures.push(runs::future().await?);
    figures.push(runs::in_flight().await?);
    figures.push(runs::ended().await?);
    Ok(figures)
}
