//! `windlass init`: a folder with an agent to begin from: its file, a tool, a test and a page.

mod name;
mod questions;
pub(super) mod templates;
pub(super) mod writing;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use windlass_models::{ModelError, ModelSettings, resolve};

use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};
use crate::home::{self, export, quoted};
use crate::interrupts::Interrupts;
use crate::out;
use crate::stdin;
use crate::view::table::aligned;
use name::Named;
use templates::{Choices, Template};
use writing::{NewFile, Written};

/// The model of an agent whose user has named none: it works without a key.
const AUTO: &str = "auto";

/// The model that is none.
const TOUR: &str = "tour";

/// Indentation of the lines after the first of a written file.
const INDENT: usize = 4;

const HELP: &str = "\
At a terminal it asks for what no option says; Enter takes the default. Elsewhere it asks nothing.

Examples:
  windlass init
  windlass init shop
  windlass init notes --from files
  windlass init orders --from extract --model openai/gpt-5-mini
  windlass test shop";

/// The arguments of `windlass init`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InitArgs {
    /// Folder to write into, `.` for this one; it is made if it is not there [default: a new one of the agent's name]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// What to begin from [default: chat]
    #[arg(long, value_name = "TEMPLATE")]
    from: Option<Template>,
    /// The agent's name [default: the folder's, else assistant]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The model: provider/model, `auto` or `tour` [default: auto]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// One JSON object; nothing is asked
    #[arg(long)]
    json: bool,
}

/// Writes the files, after all that has to be asked.
pub(crate) async fn run(args: InitArgs) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::listen()?;
    out::calm(args.json);
    let chosen = async {
        let (choices, missing) = choices(&args).await?;
        let scripted = choices.scripted().await;
        Ok::<_, Failure>((choices, missing, scripted))
    };
    let (choices, missing, scripted) = interrupts.or(Box::pin(chosen)).await??;
    let files = choices.files();
    let written = writing::write(&files, args.force)?;
    let next = next_commands(&choices.folder, choices.template);
    if args.json {
        out::json(&report(&choices, &files, &written, &next, scripted.is_some()))?;
        return Ok(Exit::Good);
    }
    show(&files, &written)?;
    if let Some(missing) = missing {
        out::say_item(&missing, INDENT);
    }
    out::note("next:");
    for command in &next {
        out::note(format_args!("  {command}"));
    }
    if let Some(scripted) = scripted {
        out::say_item(&scripted, INDENT);
    }
    Ok(Exit::Good)
}

/// Choices by the options, by the user, else by default; and the thing that the model lacks in this environment.
async fn choices(args: &InitArgs) -> Result<(Choices, Option<String>), Failure> {
    let folder = args.folder.as_deref();
    let named = args.name.as_deref().map(|name| Named::by_name(name, folder)).transpose()?;
    let model = args.model.as_deref().map(usable).transpose()?;
    if stdin::somebody() && !args.json {
        let given = questions::Given { named, template: args.from, model };
        return questions::ask(given, args).await;
    }
    let (model, missing) = model.unwrap_or_else(|| (AUTO.to_owned(), None));
    let template = args.from.unwrap_or_default();
    let Named { name, folder } = match (named, folder) {
        (Some(named), _) => named,
        (None, Some(folder)) => Named::by_folder(folder),
        (None, None) => Named::by_name(name::ASSISTANT, None)?,
    };
    Ok((Choices { name, folder, template, model }, missing))
}

/// A model's name, and what it lacks in this environment: a key may come later.
fn usable(model: &str) -> Result<(String, Option<String>), Failure> {
    let model = model.trim();
    name::visible(model, "the model's name")?;
    if model == AUTO {
        return Ok((AUTO.to_owned(), None));
    }
    match resolve(&ModelSettings::named(model), &home::env) {
        Ok(_) | Err(ModelError::Offline { .. }) => Ok((model.to_owned(), None)),
        Err(ModelError::MissingKey { variable, .. } | ModelError::MissingVariable { variable, .. }) => {
            let note = format!("the model needs {variable}, which is not set: {}", export(&variable));
            Ok((model.to_owned(), Some(note)))
        }
        Err(error) => Err(Failure::of(Exit::Usage, &error).maybe_hint(error.hint())),
    }
}

/// The commands to type next, in the folder.
fn next_commands(folder: &Path, template: Template) -> Vec<String> {
    let here = folder.as_os_str() == ".";
    let folder = folder.display().to_string();
    // `cd` would take a name that begins with `-` for an option.
    let folder = if folder.starts_with('-') { format!("./{folder}") } else { folder };
    let change = (!here).then(|| format!("cd {}", quoted(&folder)));
    let commands = [template.first_run(), "windlass chat agent.yaml", "windlass test tests"];
    change.into_iter().chain(commands.map(str::to_owned)).collect()
}

fn show(files: &[NewFile], written: &[Written]) -> std::io::Result<()> {
    let row = |(file, written): (&NewFile, &Written)| {
        [format!("{} {}", written.verb(), file.path.display()), file.what.to_owned()]
    };
    let rows: Vec<_> = files.iter().zip(written).map(row).collect();
    aligned(&rows).iter().try_for_each(|row| out::item(row, INDENT))
}

fn report(
    choices: &Choices,
    files: &[NewFile],
    written: &[Written],
    next: &[String],
    scripted: bool,
) -> Value {
    let files = files.iter().zip(written).map(|(file, written)| {
        json!({ "path": file.path, "what": file.what, "replaced": *written == Written::Replaced })
    });
    json!({
        "type": "init", "folder": choices.folder, "template": choices.template.name(), "name": choices.name,
        "model": choices.model, "files": files.collect::<Vec<_>>(), "next": next,
        "scripted": scripted,
    })
}
