//! The arguments of `#[tool(...)]`.

use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitInt, LitStr, Path, Result, Token};

/// The names that the attribute knows, in the order of its documentation.
const NAMES: &str = "name, effect, timeout_ms, retries, approve, poll, check, crate";

/// Options of `#[tool(...)]`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    /// The variant of `Effect`.
    pub(crate) effect: Option<Ident>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) retries: Option<u32>,
    pub(crate) approve: bool,
    pub(crate) poll: bool,
    pub(crate) check: Option<Path>,
    /// Path to windlass-tools.
    pub(crate) room: Option<Path>,
}

/// One argument: a name, and how to read its value.
struct Argument(Ident, Value);

enum Value {
    Flag,
    Text(LitStr),
    Number(LitInt),
    Path(Path),
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = Ident::parse_any(input)?;
        if !input.peek(Token![=]) {
            return Ok(Self(name, Value::Flag));
        }
        input.parse::<Token![=]>()?;
        let value = if input.peek(LitStr) {
            Value::Text(input.parse()?)
        } else if input.peek(LitInt) {
            Value::Number(input.parse()?)
        } else {
            Value::Path(input.call(Path::parse_mod_style)?)
        };
        Ok(Self(name, value))
    }
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for Argument(name, value) in Punctuated::<Argument, Token![,]>::parse_terminated(input)? {
            let key = name.to_string();
            if seen.contains(&key) {
                return Err(Error::new(name.span(), format!("`{key}` is given twice")));
            }
            options.set(&name, &key, value)?;
            seen.push(key);
        }
        options.checked()
    }
}

impl Options {
    fn set(&mut self, name: &Ident, key: &str, value: Value) -> Result<()> {
        let wrong = |example: &str| Err(Error::new(name.span(), format!("write `{example}`")));
        match (key, value) {
            ("name", Value::Text(text)) => self.name = Some(function_name(text)?),
            ("name", _) => return wrong("name = \"add\""),
            ("effect", Value::Text(text)) => self.effect = Some(effect(&text)?),
            ("effect", _) => return wrong("effect = \"once\""),
            ("timeout_ms", Value::Number(number)) => self.timeout_ms = Some(number.base10_parse()?),
            ("timeout_ms", _) => return wrong("timeout_ms = 5000"),
            ("retries", Value::Number(number)) => self.retries = Some(number.base10_parse()?),
            ("retries", _) => return wrong("retries = 2"),
            ("approve", Value::Flag) => self.approve = true,
            ("approve", _) => return wrong("approve"),
            ("poll", Value::Flag) => self.poll = true,
            ("poll", _) => return wrong("poll"),
            ("check", Value::Path(path)) => self.check = Some(path),
            ("check", _) => return wrong("check = path::to::function"),
            ("crate", Value::Path(path)) => self.room = Some(path),
            ("crate", _) => return wrong("crate = ::windlass::tools"),
            _ => {
                return Err(Error::new(
                    name.span(),
                    format!("unknown argument `{key}`; the known ones are {NAMES}"),
                ));
            }
        }
        Ok(())
    }

    /// Checks across several options.
    fn checked(self) -> Result<Self> {
        match &self.check {
            Some(check) if self.effect.as_ref().is_none_or(|effect| effect != "Once") => {
                Err(Error::new_spanned(
                    check,
                    "a `check` is asked only for tools with `effect = \"once\"`: others just run again",
                ))
            }
            _ => Ok(self),
        }
    }
}

fn effect(text: &LitStr) -> Result<Ident> {
    let variant = match text.value().as_str() {
        "read_only" => "ReadOnly",
        "idempotent" => "Idempotent",
        "once" => "Once",
        other => {
            let message = format!("unknown effect `{other}`; the known ones are read_only, idempotent, once");
            return Err(Error::new(text.span(), message));
        }
    };
    Ok(Ident::new(variant, text.span()))
}

/// The rule that `ToolSet` holds at run time, held here already.
fn function_name(text: LitStr) -> Result<LitStr> {
    let name = text.value();
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if fits {
        Ok(text)
    } else {
        Err(Error::new(text.span(), "a tool's name has 1 to 64 of a-z, A-Z, 0-9, _ and -"))
    }
}
