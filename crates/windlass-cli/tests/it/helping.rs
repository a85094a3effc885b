//! `--help` of all commands.

use crate::kit::Home;

/// The width that help is wrapped to where no terminal says another one.
const WIDTH: usize = 100;

/// All commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The help texts of all commands, each with its words.
fn all(home: &Home) -> Vec<(Vec<String>, String)> {
    let (mut found, mut next) = (Vec::new(), vec![Vec::new()]);
    while let Some(words) = next.pop() {
        let out = home.command(words.iter().map(String::as_str).chain(["--help"])).output().unwrap();
        let help = String::from_utf8(out.stdout).unwrap();
        for name in commands(&help).into_iter().filter(|name| name != "help") {
            next.push(words.iter().cloned().chain([name]).collect());
        }
        found.push((words, help));
    }
    found
}

#[test]
fn paragraphs_fill_the_width_and_no_line_exceeds_it() {
    let helps = all(&Home::new());
    assert!(helps.len() > 30, "{helps:?}");
    for (words, help) in helps {
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let (line, next) = (pair[0], pair[1]);
            assert!(line.chars().count() <= WIDTH, "{words:?}: {line}");
            let prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.contains("  ");
            let ended = line.ends_with(['.', ':', '?']) || line.starts_with("Usage");
            let first = next.split(' ').next().unwrap_or_default();
            let full = line.chars().count() + 1 + first.chars().count() > WIDTH;
            assert!(!prose(line) || !prose(next) || ended || full, "{words:?}: {line}\n{next}");
        }
    }
}

#[test]
fn options_of_the_logs_durability_are_described_once() {
    let helps = all(&Home::new());
    let with: Vec<_> = helps.iter().filter(|(_, help)| help.contains("--log-flush-ms")).collect();
    assert!(with.len() == 1 && with[0].0.is_empty(), "{with:?}");
    assert!(helps.iter().any(|(words, help)| words == &["runs", "list"] && help.contains("--log <FILE>")));
}

#[test]
fn the_page_of_the_command_line_has_every_command_and_exit_code() {
    let page = include_str!("../../../../docs/cli.md");
    let helps = all(&Home::new());
    for (words, help) in &helps {
        if !words.is_empty() && commands(help).is_empty() {
            assert!(
                page.contains(&format!("`{}`", words.join(" "))),
                "docs/cli.md lacks `{}`",
                words.join(" ")
            );
        }
    }
    let (_, help) = helps.iter().find(|(words, _)| words.is_empty()).unwrap();
    let codes = help.split("Exit codes:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    for line in codes {
        let (codes, meaning) = line.trim().split_once("  ").unwrap();
        let row = page.lines().find(|row| row.starts_with(&format!("| {codes} |")));
        let row = row.unwrap_or_else(|| panic!("docs/cli.md lacks exit code {codes}"));
        // The page may say more, never something else.
        let first = meaning.split([',', ';', '(']).next().unwrap().trim();
        assert!(row.contains(first), "{row}: {meaning}");
    }
}

/// The value of `runs export --as` is the name under which somebody looks for it.
#[test]
fn help_names_none_of_the_five_systems() {
    for (words, help) in all(&Home::new()) {
        let help = help.to_lowercase();
        for name in ["kaos", "promptchain", "session 10", "session10", "acorn", "swiftagent"] {
            let exported = words == ["runs", "export"] && name == "session10";
            assert!(exported || !help.contains(name), "{words:?}: {name}\n{help}");
        }
    }
}
