//! What is taken away from a process: its log, its file descriptors, the room that it may write. Each is an error that
//! says so, and no run is lost without a word.

use std::process::Command;

use crate::kit::{End, Home, PLAIN, SLOW, assert_end, end, finish, lines, until};

/// Runs it under limits of the shell, such as `ulimit -n 6`.
fn limited(home: &Home, limits: &str, args: &[&str]) -> End {
    let plain = home.command(args);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{limits}; exec \"$@\"")).arg("sh").arg(plain.get_program()).args(args);
    command.current_dir(home.path("")).env_clear();
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    end(command.output().unwrap())
}

#[test]
fn e31_a_log_that_is_removed_while_a_run_is_on_is_an_error() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    for ending in ["", "-wal", "-shm"] {
        std::fs::remove_file(home.path(&format!("home/log.db{ending}"))).unwrap();
    }
    home.write("go", "");
    let end = finish(child);
    assert_end!(home, end);
    assert_eq!(end.code, 70);
}

#[test]
fn e31_a_log_that_is_replaced_while_a_run_is_on_is_an_error() {
    let home = Home::new();
    home.write("agent.yaml", SLOW);
    let child = home.start(["run", "agent.yaml", "What is 2 + 5?"]);
    until("the sum has begun", || lines(&home.path("sums")) == 1);
    assert_eq!(home.windlass(["runs", "backup", "copy.db"]).code, 0);
    std::fs::rename(home.path("copy.db"), home.path("home/log.db")).unwrap();
    home.write("go", "");
    let end = finish(child);
    assert_eq!(end.code, 70, "{end:?}");
    assert!(end.stderr.contains("log.db was replaced by another file"), "{end:?}");
}

#[test]
fn too_few_file_descriptors_are_an_error() {
    let home = Home::new();
    home.write("agent.yaml", PLAIN);
    for few in 4..=14 {
        let end = limited(&home, &format!("ulimit -n {few}"), &["run", "agent.yaml", "Hello"]);
        assert_eq!(end.code, 70, "{few}: {end:?}");
        assert!(end.stderr.contains("file descriptors are free"), "{few}: {end:?}");
    }
    assert_end!(home, limited(&home, "ulimit -n 6", &["run", "agent.yaml", "Hello"]));
    assert_eq!(limited(&home, "ulimit -n 32", &["run", "agent.yaml", "Hello"]).code, 0);
}

#[test]
fn e31_a_bound_on_the_size_of_files_is_like_a_full_disk() {
    let mut full = 0;
    // Blocks of 512 bytes: from no file at all to one that holds a part of the run.
    for blocks in [0, 8, 24, 64, 128, 160] {
        let home = Home::new();
        home.write("agent.yaml", PLAIN);
        let end = limited(&home, &format!("ulimit -f {blocks}"), &["run", "agent.yaml", "What is 2 + 5?"]);
        assert_ne!(end.code, -1, "{blocks}: a signal ended it: {end:?}");
        if end.code == 0 {
            continue;
        }
        assert_eq!(end.code, 70, "{blocks}: {end:?}");
        assert!(
            end.stderr.contains("no space left on the disk") && end.stderr.contains("`ulimit -f`"),
            "{blocks}: {end:?}"
        );
        full += 1;
        // Without the bound what was kept goes on, or nothing was kept.
        let resumed = home.windlass(["runs", "resume", "last"]);
        assert!(resumed.code == 0 || resumed.stderr.contains("no run"), "{blocks}: {resumed:?}");
    }
    assert!(full >= 3, "the bounds never bit");
}
