//! The questions to the user at a terminal: three, each with a default.

use windlass_core::text::nearest;
use windlass_models::choose_auto;

use super::name::{ASSISTANT, Named};
use super::templates::{Choices, Template, in_folder};
use super::{AUTO, InitArgs, name, usable, writing};
use crate::failure::{Exit, Failure};
use crate::home;
use crate::out;
use crate::stdin::Stdin;

/// Indentation of the lines after the first of a choice.
const INDENT: usize = 4;

/// The choices that the options have made.
pub(super) struct Given {
    pub(super) named: Option<Named>,
    pub(super) template: Option<Template>,
    pub(super) model: Option<(String, Option<String>)>,
}

/// Asks for what is not given.
pub(super) async fn ask(given: Given, args: &InitArgs) -> Result<(Choices, Option<String>), Failure> {
    let mut asked = Asked(Stdin::new());
    let folder = args.folder.as_deref();
    // Nobody answers questions about files that cannot be written.
    if let Some(folder) = folder {
        let certain: Vec<_> = Template::certain(given.template).map(|path| in_folder(folder, path)).collect();
        writing::check(certain.iter().map(|path| &**path), args.force)?;
    }
    if given.named.is_none() || given.template.is_none() || given.model.is_none() {
        let place = match (folder, &given.named) {
            (Some(folder), _) if folder.as_os_str() == "." => "this folder".to_owned(),
            (Some(folder), _) => folder.display().to_string(),
            (None, Some(named)) => named.folder.display().to_string(),
            (None, None) => "a new folder of its name (`.` for this folder)".to_owned(),
        };
        out::say_item(&format!("a new agent in {place}; Enter takes what stands in brackets"), 0);
    }
    let named = if let Some(named) = given.named {
        named
    } else {
        let default = folder.map_or_else(|| ASSISTANT.to_owned(), name::of_folder);
        asked.answer("name", &default, |name| Named::by_name(name, folder)).await?
    };
    let Named { name, folder } = named;
    let template = if let Some(template) = given.template {
        template
    } else {
        for template in Template::ALL {
            out::say_item(&format!("  {:<8} {}", template.name(), template.does()), INDENT);
        }
        asked.answer("template", Template::default().name(), template_named).await?
    };
    let mut choices = Choices { name, folder, template, model: AUTO.to_owned() };
    // The template has more files than those that all have.
    writing::check(choices.files().iter().map(|file| &*file.path), args.force)?;
    let (model, missing) = if let Some(model) = given.model {
        model
    } else {
        let auto = choose_auto(&home::env).await;
        out::say_item(&format!("  auto is {} here ({})", auto.name, auto.reason), INDENT);
        out::say_item("  `windlass models list` shows which others can be used", INDENT);
        asked.answer("model", AUTO, usable).await?
    };
    choices.model = model;
    Ok((choices, missing))
}

fn template_named(word: &str) -> Result<Template, Failure> {
    let lower = word.to_lowercase();
    Template::ALL.into_iter().find(|template| template.name() == lower).ok_or_else(|| {
        let names = Template::ALL.map(Template::name);
        let near = nearest(&lower, names);
        let near = if near.is_empty() { names.to_vec().join(", ") } else { near.join(" or ") };
        Failure::new(Exit::Usage, format!("no template `{word}`")).hint(format!("did you mean {near}?"))
    })
}

/// The user at the terminal.
struct Asked(Stdin);

impl Asked {
    /// Asks until the answer can be used. An empty line is the default.
    async fn answer<T>(
        &mut self,
        what: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        loop {
            out::prompt(&format!("{what} [{default}]: "));
            let Some(line) = self.0.line().await? else {
                out::say("");
                return Err(Failure::note(Exit::Cancelled, "nothing was written"));
            };
            let line = line.trim();
            match read(if line.is_empty() { default } else { line }) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure.show(),
            }
        }
    }
}
