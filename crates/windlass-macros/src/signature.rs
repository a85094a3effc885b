//! The function's signature: its parameters, their documentation and defaults.

use proc_macro2::Span;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, Ident, ItemFn, Lit, Meta, Pat, PatType,
    PathArguments, Result, ReturnType, Signature, Type, parse_quote,
};

/// A parameter of the function.
pub(crate) struct Parameter {
    /// Its name in Rust.
    pub(crate) ident: Ident,
    /// Its name for the model.
    pub(crate) name: String,
    /// Its type as written.
    pub(crate) ty: Type,
    /// The type that the argument is read as.
    pub(crate) owned: Type,
    /// Whether the function takes a reference to that.
    pub(crate) lent: bool,
    pub(crate) role: Role,
    pub(crate) description: String,
}

/// Role of a parameter.
pub(crate) enum Role {
    Required,
    /// `Option<T>`.
    Optional,
    /// With `#[default]`.
    Default(Expr),
    /// The `ToolContext`, which the model does not see.
    Context,
}

/// Reads the parameters and takes from the signature what only this attribute understands.
pub(crate) fn parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    refuse(&function.sig)?;
    let parameters: Vec<_> = function.sig.inputs.iter_mut().map(parameter).collect::<Result<_>>()?;
    let mut contexts = parameters.iter().filter(|parameter| matches!(parameter.role, Role::Context));
    if let (Some(_), Some(second)) = (contexts.next(), contexts.next()) {
        return Err(Error::new(second.ident.span(), "one `ToolContext` is enough"));
    }
    Ok(parameters)
}

/// The text of the doc comments, without the space after each `///`.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(meta) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value
        {
            let text = text.value();
            lines.extend(
                text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()),
            );
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Signatures that cannot be tools.
fn refuse(signature: &Signature) -> Result<()> {
    let no = |span: Span, message: &str| Err(Error::new(span, message));
    if let Some(receiver) = signature.receiver() {
        return no(
            receiver.span(),
            "a tool has no `self`: write a function, or implement `Tool` for the type",
        );
    }
    if !signature.generics.params.is_empty() {
        return no(signature.generics.span(), "a tool cannot be generic: its schema needs the types");
    }
    if let Some(token) = &signature.unsafety {
        return no(token.span(), "a tool cannot be an unsafe function");
    }
    if let Some(abi) = &signature.abi {
        return no(abi.span(), "a tool cannot be an extern function");
    }
    if let Some(token) = &signature.constness {
        return no(token.span(), "a tool cannot be a const function");
    }
    match &signature.output {
        ReturnType::Type(_, output) if matches!(**output, Type::ImplTrait(_)) => {
            no(output.span(), "name the type that the tool gives, such as `String`")
        }
        ReturnType::Type(_, output)
            if matches!(**output, Type::Reference(_)) && signature.asyncness.is_some() =>
        {
            no(output.span(), "a tool gives an owned value, such as `String`")
        }
        ReturnType::Default | ReturnType::Type(..) => Ok(()),
    }
}

fn parameter(argument: &mut FnArg) -> Result<Parameter> {
    let FnArg::Typed(PatType { attrs, pat, ty, .. }) = argument else {
        return Err(Error::new(argument.span(), "a tool has no `self`"));
    };
    let Pat::Ident(pattern) = pat.as_ref() else {
        return Err(Error::new(pat.span(), "a tool's parameter needs a name, which the model is told"));
    };
    let (owned, lent) = owned(ty)?;
    let description = documentation(attrs);
    let role = role(attrs, &owned)?;
    attrs.retain(|attribute| !attribute.path().is_ident("doc") && !attribute.path().is_ident("default"));
    if let Some(attribute) = attrs.iter().find(|attribute| !is_lint(attribute)) {
        return Err(Error::new(attribute.span(), "only doc comments and `#[default]` have a meaning here"));
    }
    let name = pattern.ident.unraw().to_string();
    let ty = ty.as_ref().clone();
    Ok(Parameter { ident: pattern.ident.clone(), name, ty, owned, lent, role, description })
}

fn is_lint(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|name| attribute.path().is_ident(name))
}

/// The type that can be read from JSON, and whether the function wants a reference to it.
fn owned(ty: &Type) -> Result<(Type, bool)> {
    let Type::Reference(reference) = ty else {
        return if matches!(ty, Type::ImplTrait(_)) {
            Err(Error::new(ty.span(), "name the parameter's type: its schema is made of it"))
        } else {
            Ok((ty.clone(), false))
        };
    };
    if reference.mutability.is_some() {
        return Err(Error::new(ty.span(), "a tool's arguments cannot be lent as mutable"));
    }
    let elem = reference.elem.as_ref();
    let owned = if let Type::Slice(slice) = elem {
        let element = &slice.elem;
        parse_quote!(::std::vec::Vec<#element>)
    } else if matches!(elem, Type::Path(path) if path.path.is_ident("str")) {
        parse_quote!(::std::string::String)
    } else {
        elem.clone()
    };
    Ok((owned, true))
}

fn role(attributes: &[Attribute], owned: &Type) -> Result<Role> {
    let mut defaults = attributes.iter().filter(|attribute| attribute.path().is_ident("default"));
    let default = defaults.next();
    if let Some(second) = defaults.next() {
        return Err(Error::new(second.span(), "there is a default already"));
    }
    let Some(default) = default else {
        return Ok(match last_segment(owned).as_deref() {
            Some("ToolContext") => Role::Context,
            Some("Option") if has_one_argument(owned) => Role::Optional,
            _ => Role::Required,
        });
    };
    let value: Expr = match &default.meta {
        Meta::Path(_) => parse_quote!(::core::default::Default::default()),
        Meta::List(list) => list.parse_args()?,
        Meta::NameValue(_) => return Err(Error::new(default.span(), "write `#[default(value)]`")),
    };
    // `#[default("en")] language: String` is what everyone tries first.
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &value {
        return Ok(Role::Default(parse_quote!(::core::convert::Into::into(#text))));
    }
    Ok(Role::Default(value))
}

fn last_segment(ty: &Type) -> Option<String> {
    if let Type::Path(path) = ty {
        path.path.segments.last().map(|segment| segment.ident.to_string())
    } else if let Type::Paren(inner) = ty {
        last_segment(&inner.elem)
    } else if let Type::Group(inner) = ty {
        last_segment(&inner.elem)
    } else {
        None
    }
}

fn has_one_argument(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    match path.path.segments.last().map(|segment| &segment.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => {
            arguments.args.len() == 1 && matches!(arguments.args.first(), Some(GenericArgument::Type(_)))
        }
        _ => false,
    }
}

/// The type that the function gives, `()` if it says none.
pub(crate) fn output(signature: &Signature) -> proc_macro2::TokenStream {
    match &signature.output {
        ReturnType::Default => quote::quote!(()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    }
}
