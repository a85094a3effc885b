//! `windlass man`.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::failure::{Exit, Failure};
use crate::out;

const HELP: &str = "\
One page for each command: windlass.1, windlass-run.1, windlass-runs-list.1, … The folder is made if it is missing, and \
pages that are there are replaced.

Examples:
  windlass man ~/.local/share/man/man1
  windlass man pages && man pages/windlass-run.1";

/// The arguments of `windlass man`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ManArgs {
    /// Where the pages go
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Writes a page for each command of `grammar`, the whole command line.
pub(crate) fn run(args: &ManArgs, grammar: Command) -> Result<Exit, Failure> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    let mut grammar = grammar.disable_help_subcommand(true);
    grammar.build();
    let source = format!("{} {}", grammar.get_name(), env!("CARGO_PKG_VERSION"));
    let (mut open, mut written) = (vec![(grammar, None)], 0);
    while let Some((command, parent)) = open.pop() {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let path = folder.join(format!("{name}.1"));
        let page = page(&command, parent.as_deref(), &source)?;
        std::fs::write(&path, page).map_err(|error| unwritten(&path, &error))?;
        written += 1;
        let visible = command.get_subcommands().filter(|child| !child.is_hide_set());
        open.extend(visible.map(|child| (child.clone(), Some(name.clone()))));
    }
    out::note(format_args!("{written} pages are in {}", folder.display()));
    Ok(Exit::Good)
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {}", path.display()))
        .cause(error.to_string())
        .hint("name a folder that you may write to: windlass man FOLDER")
}

/// The page of one command. `parent` is the command that it belongs to.
fn page(command: &Command, parent: Option<&str>, source: &str) -> io::Result<Vec<u8>> {
    // An empty date would be no argument at all, and the next one stand in its place.
    let man = Man::new(command.clone()).date("\"\"").source(source).manual("Windlass");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|child| !child.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::new();
    if let Some(help) = command.get_after_help() {
        sections(&mut rest, &help.to_string());
    }
    if let Some(parent) = parent {
        rest.control("SH", ["SEE ALSO"]).text([bold(parent), roman("(1)")]);
    }
    rest.to_writer(&mut page)?;
    Ok(page)
}

/// The text after the options. `Man` would fill its lines; here examples and tables keep theirs.
fn sections(roff: &mut Roff, help: &str) {
    let (mut under_heading, mut verbatim) = (false, false);
    let mut lines = help.lines().peekable();
    while let Some(line) = lines.next() {
        let indented = line.starts_with(' ');
        if verbatim && !indented {
            roff.control("fi", []).control("RE", []);
            verbatim = false;
        }
        if indented && !verbatim {
            roff.control("RS", ["4"]).control("nf", []);
            verbatim = true;
        }
        let heads = !indented && lines.peek().is_some_and(|next| next.starts_with(' '));
        if let Some(heading) = line.strip_suffix(':').filter(|_| heads) {
            roff.control("SH", [heading.to_uppercase().as_str()]);
            under_heading = true;
        } else if line.is_empty() {
            roff.control("PP", []);
        } else {
            if !under_heading {
                roff.control("SH", ["NOTES"]);
                under_heading = true;
            }
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
    }
    if verbatim {
        roff.control("fi", []).control("RE", []);
    }
}
