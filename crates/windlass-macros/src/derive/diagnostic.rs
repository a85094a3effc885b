//! The code that `#[derive(Diagnostic)]` makes: kind, code and help of an error, from an attribute at each variant.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, Result, Token};

/// The variants of `Kind`.
const KINDS: [&str; 7] =
    ["Invalid", "NotFound", "Conflict", "Forbidden", "Exhausted", "Unavailable", "Internal"];

/// Implements `Diagnostic` for an enum or a struct.
pub(crate) fn diagnostic(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let mut arms = Arms::default();
    match &input.data {
        Data::Enum(data) => {
            for variant in &data.variants {
                let name = &variant.ident;
                arms.add(&quote!(Self::#name), name, &variant.attrs, &variant.fields)?;
            }
        }
        Data::Struct(data) => arms.add(&quote!(Self), &input.ident, &input.attrs, &data.fields)?,
        Data::Union(_) => return Err(Error::new_spanned(&input.ident, "an error is an enum or a struct")),
    }
    let Arms { kinds, codes, helps } = arms;
    let (ident, (generics, types, bounds)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables, clippy::all, clippy::pedantic)]
        impl #generics ::windlass_error::Diagnostic for #ident #types #bounds {
            fn kind(&self) -> ::windlass_error::Kind {
                use ::windlass_error::Diagnostic as _;
                match self { #(#kinds,)* }
            }

            fn code(&self) -> &'static str {
                use ::windlass_error::Diagnostic as _;
                match self { #(#codes,)* }
            }

            fn help(&self) -> ::core::option::Option<::std::borrow::Cow<'_, str>> {
                use ::windlass_error::Diagnostic as _;
                match self { #(#helps,)* }
            }
        }
    })
}

/// The arms of the three functions.
#[derive(Default)]
struct Arms {
    kinds: Vec<TokenStream>,
    codes: Vec<TokenStream>,
    helps: Vec<TokenStream>,
}

impl Arms {
    fn add(
        &mut self,
        path: &TokenStream,
        name: &Ident,
        attributes: &[Attribute],
        fields: &Fields,
    ) -> Result<()> {
        let arguments = Arguments::of(attributes)?;
        let pattern = pattern(path, fields);
        let source =
            arguments.transparent.then(|| source(arguments.field.as_ref(), name, fields)).transpose()?;
        let missing = |argument: &str| {
            Error::new_spanned(name, format!("say `#[diagnostic({argument})]`, or that it is `transparent`"))
        };
        let kind = match (&arguments.kind, &source) {
            (Some(kind), _) => quote!(#kind),
            (None, Some(source)) => quote!(::windlass_error::Diagnostic::kind(#source)),
            (None, None) => return Err(missing("kind = ..")),
        };
        let code = match (&arguments.code, &source) {
            (Some(code), _) => quote!(#code),
            (None, Some(source)) => quote!(::windlass_error::Diagnostic::code(#source)),
            (None, None) => return Err(missing("code = \"..\"")),
        };
        let help = match (&arguments.help, &source) {
            (Some(help), _) => quote!(::windlass_error::__private::help(#help)),
            (None, Some(source)) => quote!(::windlass_error::Diagnostic::help(#source)),
            (None, None) => quote!(::core::option::Option::None),
        };
        self.kinds.push(quote!(#pattern => #kind));
        self.codes.push(quote!(#pattern => #code));
        self.helps.push(quote!(#pattern => #help));
        Ok(())
    }
}

/// The arguments of an attribute.
#[derive(Default)]
struct Arguments {
    kind: Option<TokenStream>,
    code: Option<Expr>,
    help: Option<TokenStream>,
    transparent: bool,
    /// The field of a transparent variant, if the attribute names one.
    field: Option<Ident>,
}

impl Arguments {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut arguments = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("diagnostic")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let twice = match name.as_str() {
                    "kind" => arguments.kind.replace(kind(&meta.value()?.parse()?)?).is_some(),
                    "code" => arguments.code.replace(meta.value()?.parse()?).is_some(),
                    "help" => arguments.help.replace(help(&meta.value()?.parse()?)).is_some(),
                    "transparent" => {
                        if meta.input.peek(Token![=]) {
                            arguments.field = Some(meta.value()?.parse()?);
                        }
                        std::mem::replace(&mut arguments.transparent, true)
                    }
                    _ => {
                        return Err(
                            meta.error("unknown argument; the known ones are kind, code, help, transparent")
                        );
                    }
                };
                if twice { Err(meta.error(format!("`{name}` is given twice"))) } else { Ok(()) }
            })?;
        }
        Ok(arguments)
    }
}

/// A kind by its name, or by an expression.
fn kind(value: &Expr) -> Result<TokenStream> {
    let Expr::Path(path) = value else { return Ok(quote!(#value)) };
    let Some(name) = path.path.get_ident() else { return Ok(quote!(#value)) };
    if KINDS.iter().any(|kind| name == kind) {
        return Ok(quote!(::windlass_error::Kind::#name));
    }
    Err(Error::new_spanned(name, format!("unknown kind `{name}`; the known ones are {}", KINDS.join(", "))))
}

/// A text with fields in braces, or an expression.
fn help(value: &Expr) -> TokenStream {
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value
        && text.value().contains(['{', '}'])
    {
        return quote!(::std::format!(#text));
    }
    quote!(#value)
}

/// A pattern that binds all fields, those of a tuple as `_0`, `_1`.
fn pattern(path: &TokenStream, fields: &Fields) -> TokenStream {
    match fields {
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!(#path { #(#names),* })
        }
        Fields::Unnamed(fields) => {
            let names = (0..fields.unnamed.len()).map(|place| format_ident!("_{place}"));
            quote!(#path(#(#names),*))
        }
        Fields::Unit => path.clone(),
    }
}

/// The field that a transparent variant takes what it says from.
fn source(named: Option<&Ident>, variant: &Ident, fields: &Fields) -> Result<Ident> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let names: Vec<_> = fields.iter().map(|field| field.ident.clone()).collect();
    let source = names.iter().flatten().find(|name| *name == "source");
    match (source, names.as_slice()) {
        (Some(source), _) | (None, [Some(source)]) => Ok(source.clone()),
        (None, [None]) => Ok(format_ident!("_0")),
        _ => Err(Error::new_spanned(variant, "which field? write `transparent = field`")),
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    fn expand(item: &str) -> Result<String, String> {
        let item: TokenStream = item.parse().unwrap();
        super::diagnostic(item).map(|code| code.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_variant_without_kind_or_code_does_not_compile() {
        for (item, says) in [
            (
                "enum E { #[diagnostic(kind = Invalid, code = \"a.b\")] A, B }",
                "say `#[diagnostic(kind = ..)]`",
            ),
            ("enum E { #[diagnostic(code = \"a.b\")] A }", "say `#[diagnostic(kind = ..)]`"),
            ("enum E { #[diagnostic(kind = Invalid)] A }", "say `#[diagnostic(code = \"..\")]`"),
            ("struct S { a: i64 }", "say `#[diagnostic(kind = ..)]`"),
            (
                "#[diagnostic(kind = Bad, code = \"a.b\")] struct S;",
                "unknown kind `Bad`; the known ones are Invalid",
            ),
            ("#[diagnostic(kind = Invalid, kind = Invalid)] struct S;", "`kind` is given twice"),
            ("#[diagnostic(hint = \"x\")] struct S;", "the known ones are kind, code, help, transparent"),
            ("#[diagnostic(transparent)] struct S { a: A, b: B }", "write `transparent = field`"),
            ("#[diagnostic(transparent)] struct S;", "write `transparent = field`"),
            ("union U { a: u8 }", "an enum or a struct"),
        ] {
            let found = expand(item).unwrap_err();
            assert!(found.contains(says), "{item}: {found:?} should say {says:?}");
        }
    }

    #[test]
    fn only_a_help_with_braces_is_formatted() {
        let help = |text: &str| {
            expand(&format!(
                "#[diagnostic(kind = Invalid, code = \"a.b\", help = {text})] struct S {{ a: i64 }}"
            ))
        };
        assert!(!help("\"plain\"").unwrap().contains("format !"));
        assert!(help("\"with {a}\"").unwrap().contains(":: std :: format ! (\"with {a}\")"));
        assert!(help("a.words()").unwrap().contains("help (a . words ())"));
    }
}
