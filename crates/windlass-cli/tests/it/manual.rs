//! `windlass man`.

use crate::kit::Home;

/// The subcommands and the options that a command's help lists.
fn listed(help: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut commands, mut options, mut section) = (Vec::new(), Vec::new(), "");
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut words = line.split_whitespace().map(|word| word.trim_end_matches(','));
        match section {
            // The text of an entry goes on further to the right.
            "Commands:" if indent == 2 => commands.extend(words.next().filter(|word| *word != "help")),
            "Options:" if (2..8).contains(&indent) => {
                options.extend(words.take_while(|word| word.starts_with('-')));
            }
            _ if indent == 0 => section = line,
            _ => {}
        }
    }
    (commands, options)
}

/// Holds the page of a command against its help. Returns its subcommands, and how many options it has.
fn check(home: &Home, command: &str) -> (Vec<String>, usize) {
    let shown = home.command(command.split(' ').skip(1).chain(["--help"])).output().unwrap().stdout;
    let help = String::from_utf8(shown).unwrap();
    let name = command.replace(' ', "-");
    let page = home.read(&format!("new/man1/{name}.1"));
    // The text without its markup.
    let page = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\*(Aq", "'");
    let title = format!(".TH {name} 1 \"\" \"windlass {}\" Windlass", env!("CARGO_PKG_VERSION"));
    assert!(page.lines().any(|line| line == title), "{name}: {page}");
    let (commands, options) = listed(&help);
    for option in &options {
        // Its entry begins with its names.
        let entry =
            |line: &str| line.starts_with('-') && line.split([',', ' ', '[']).any(|word| word == *option);
        assert!(page.lines().any(entry), "{name} has no {option}: {page}");
    }
    let examples = help.split("\nExamples:\n").nth(1).unwrap_or_default().lines();
    for example in examples.take_while(|line| line.starts_with("  ")) {
        let example = example.strip_prefix("  ").unwrap().replace('\\', "\\\\");
        assert!(page.lines().any(|line| line == example), "{name} has no {example:?}: {page}");
    }
    for child in &commands {
        assert!(page.contains(&format!("{name}-{child}(1)")), "{name} does not list {child}");
    }
    (commands.iter().map(|child| format!("{command} {child}")).collect(), options.len())
}

#[test]
fn every_command_has_a_page_with_its_options_and_examples() {
    let home = Home::new();
    let end = home.windlass(["man", "new/man1"]);
    assert_eq!(end.code, 0, "{end:?}");
    let (mut open, mut pages, mut options) = (vec!["windlass".to_owned()], 0, 0);
    while let Some(command) = open.pop() {
        let (children, has) = check(&home, &command);
        open.extend(children);
        pages += 1;
        options += has;
    }
    assert_eq!(std::fs::read_dir(home.path("new/man1")).unwrap().count(), pages);
    assert!(pages > 40 && options > 200, "{pages} pages, {options} options");
}

#[test]
fn pages_that_cannot_be_written_are_an_error_with_its_cause() {
    let home = Home::new();
    home.write("file", "not a folder");
    let end = home.windlass(["man", "file"]);
    assert_eq!(end.code, 1, "{end:?}");
    assert!(end.stderr.contains("cannot write file") && end.stderr.contains("hint: "), "{end:?}");
    assert_eq!(home.windlass(["man"]).code, 2);
}
