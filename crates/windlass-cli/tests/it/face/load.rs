//! Tools that print much: the face shows a line of each call, and keeps nothing of the rest.

use super::talk;
use crate::kit::Home;
use crate::server::Reply;

/// Ten thousand lines of 400 bytes, and one line of ten megabytes.
const TOOLS: &str = r#"
tools:
  - command:
      name: lines
      run: [sh, -c, "seq -f \"line %g of $(head -c 400 /dev/zero | tr '\\0' x)\" 10000"]
      effect: read_only
      parameters: { type: object }
  - command:
      name: line
      run: [sh, -c, "printf 'line 1 of '; head -c 10000000 /dev/zero | tr '\\0' x"]
      effect: read_only
      parameters: { type: object }
"#;
#[test]
fn of_a_long_result_ctrl_o_shows_both_ends_and_the_command_that_writes_all_of_it() {
    let home = Home::new();
    let (mut seat, _server) = talk(
        &home,
        vec![Reply::Call("lines".into(), "{}".into()), Reply::Pieces(vec!["Read."])],
        TOOLS,
        (500, 40),
    );
    seat.keys("Go\r");
    seat.shows("answered: ");
    seat.keys("\u{f}");
    seat.shows("line 10000 of x");
    let whole = seat.whole();
    let (_, command) = whole.split_once(" more bytes: `windlass ").unwrap();
    let (command, _) = command.split_once(" FILE` writes all of it to a file").unwrap();
    seat.keys("\u{4}");
    assert_eq!(seat.code(), 0);
    let written = home.command(command.split(' ').chain(["all.txt"])).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    assert_eq!(home.read("all.txt").lines().count(), 10_000);
}
