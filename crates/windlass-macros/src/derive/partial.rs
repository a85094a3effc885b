//! The struct that `#[derive(Partial)]` makes: the same fields, all optional.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Meta, Path, Result, Token};

/// Serde attributes that name a field or struct; the others concern values.
const NAMING: [&str; 3] = ["rename", "rename_all", "alias"];

/// Rewrites `#[derive(Partial)]`.
pub(crate) fn partial(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only a struct can be seen field by field"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "the fields need names"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "a partial struct cannot be generic"));
    }
    let room = room(&input.attrs)?.map_or_else(|| quote!(::windlass::runtime), |path| quote!(#path));
    let fields = named.named.iter().map(|field| optional(field, &room)).collect::<Result<Vec<_>>>()?;
    let (ident, visibility, naming) = (&input.ident, &input.vis, naming(&input.attrs)?);
    let made = format_ident!("Partial{ident}");
    let doc = format!("What stands so far of a [`{ident}`] that is being written.");
    let serde = quote!(#room::__private::serde);
    let path = as_path(&serde);
    Ok(quote! {
        #[doc = #doc]
        #[derive(
            ::core::clone::Clone, ::core::fmt::Debug, ::core::default::Default, #serde::Deserialize
        )]
        #[serde(crate = #path)]
        #(#naming)*
        #visibility struct #made {
            #(#fields,)*
        }

        #[automatically_derived]
        impl #room::Partially for #ident {
            type Partial = #made;
        }
    })
}

fn optional(field: &Field, room: &TokenStream) -> Result<TokenStream> {
    let Field { vis, ident, ty, attrs, .. } = field;
    let naming = naming(attrs)?;
    let docs = attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let reader = as_path(&quote!(#room::__private::so_far));
    let nested = attrs.iter().any(|attribute| attribute.path().is_ident("partial"));
    let ty = if nested { quote!(<#ty as #room::Partially>::Partial) } else { quote!(#ty) };
    Ok(quote! {
        #(#docs)*
        #(#naming)*
        #[serde(default, deserialize_with = #reader)]
        #vis #ident: ::core::option::Option<#ty>
    })
}

/// The attributes of serde that say names.
fn naming(attributes: &[Attribute]) -> Result<Vec<TokenStream>> {
    let mut kept = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        let metas = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
        let names = metas.iter().filter(|meta| NAMING.iter().any(|name| meta.path().is_ident(name)));
        kept.extend(names.map(|meta| quote!(#[serde(#meta)])));
    }
    Ok(kept)
}

/// Path to windlass-runtime: `#[partial(crate = path)]`.
fn room(attributes: &[Attribute]) -> Result<Option<Path>> {
    let mut room = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("partial")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown argument; known is crate"));
            }
            room = Some(meta.value()?.parse()?);
            Ok(())
        })?;
    }
    Ok(room)
}

/// A path in the form that serde's attributes take.
fn as_path(tokens: &TokenStream) -> String {
    tokens.to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    fn expand(item: &str) -> Result<String, String> {
        let item: TokenStream = item.parse().unwrap();
        super::partial(item).map(|code| code.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a19_what_has_no_fields_to_see_is_refused_with_the_reason() {
        for (item, says) in [
            ("enum E { A }", "only a struct"),
            ("struct S(i64);", "the fields need names"),
            ("struct S<T> { a: T }", "cannot be generic"),
            ("#[partial(room = x)] struct S { a: i64 }", "known is crate"),
        ] {
            let found = expand(item).unwrap_err();
            assert!(found.contains(says), "{found:?} should say {says:?}");
        }
    }

    #[test]
    fn a19_names_are_kept_and_what_is_about_whole_values_is_not() {
        let code = expand(
            "#[serde(rename_all = \"camelCase\", deny_unknown_fields)] struct S { #[serde(rename = \"b\", default)] pub a: i64 }",
        );
        let code = code.unwrap();
        assert!(code.contains("rename_all") && code.contains("rename = \"b\""), "{code}");
        assert!(!code.contains("deny_unknown_fields"), "{code}");
        assert!(
            code.contains("struct PartialS") && code.contains("pub a : :: core :: option :: Option"),
            "{code}"
        );
    }
}
