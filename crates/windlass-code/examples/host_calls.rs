//! What a step of code costs: `perf stat target/release/examples/host_calls STEPS CALLS` counts both processes.
//!
//! Each step starts a child, makes so many host calls one after the other and as many together, and ends.

use std::time::Instant;

use windlass_code::{Answer, Code, CodeError, Function, HostResult, Limits, Program, Step};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), CodeError> {
    windlass_code::child();
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>().unwrap_or(1));
    let (steps, calls) = (numbers.next().unwrap_or(20), numbers.next().unwrap_or(100));
    // Another program may be the child: its start is what is measured then.
    let code = std::env::args().nth(3).map_or_else(Code::this_program, |path| Ok(Code::program(path)))?;
    let (half, limits) = (calls / 2, Limits { calls: calls.max(1), ..Limits::default() });
    let source = format!(
        "total = 0\nfor i in range({half}):\n    total += add(total, i)\n\
         found = parallel(*[add(i, i) for i in range({half})])\nreturn total % 97 + len(found)"
    );
    let (mut starts, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        let began = Instant::now();
        let program = Program::new(source.clone()).function(Function::new("add", ["a", "b"]));
        let mut session = code.start(&limits, program).await?;
        starts.push(began.elapsed());
        let mut step = session.next(Vec::new()).await?;
        while let Step::Calls(asked) = step {
            let result = |place| Answer { place, result: HostResult::Value(1.into()) };
            step = session.next(asked.iter().map(|call| result(call.place)).collect()).await?;
        }
        wholes.push(began.elapsed());
    }
    starts.sort();
    wholes.sort();
    let middle = |times: &[std::time::Duration]| times.get(times.len() / 2).copied().unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let medians = (middle(&starts), middle(&wholes));
    std::io::Write::write_fmt(
        &mut out,
        format_args!("started after {:?}, ended after {:?} (medians)\n", medians.0, medians.1),
    )
    .ok();
    Ok(())
}
