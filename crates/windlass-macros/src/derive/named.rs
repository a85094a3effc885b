//! The code that `#[derive(Named)]` makes: the names of an enum's variants.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Variant};

/// Implements `name`, and where the enum asks for it `ALL` and `from_name`, or `NAMES`.
pub(crate) fn named(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only the variants of an enum have names"));
    };
    let (ident, vis) = (&input.ident, &input.vis);
    let plain = data.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit));
    let names = data.variants.iter().map(name).collect::<Result<Vec<_>>>()?;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let Asked { all, copied, listed } = asked(&input.attrs)?;
    if all && !plain {
        return Err(Error::new_spanned(ident, "a variant with fields cannot stand in `ALL`"));
    }
    // An enum without fields is copied, so that the function can be handed on.
    let receiver = if plain || copied { quote!(self) } else { quote!(&self) };
    let count = variants.len();
    let list = all.then(|| {
        quote! {
            /// All of them, in the order of their declaration.
            #vis const ALL: [Self; #count] = [#(Self::#variants),*];

            /// The one of that name.
            #vis fn from_name(name: &str) -> ::core::option::Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    });
    let listed = listed.then(|| {
        quote! {
            /// The names of all variants, in the order of their declaration.
            #vis const NAMES: [&'static str; #count] = [#(#names),*];
        }
    });
    Ok(quote! {
        #[automatically_derived]
        #[allow(dead_code)]
        impl #ident {
            #list
            #listed

            /// The name.
            #vis fn name(#receiver) -> &'static str {
                match self {
                    #(Self::#variants { .. } => #names,)*
                }
            }
        }
    })
}

/// The items that an enum asks for beside `name`.
#[derive(Default)]
struct Asked {
    /// `ALL` and `from_name`.
    all: bool,
    /// A `name` that takes a copy.
    copied: bool,
    /// `NAMES`.
    listed: bool,
}

fn asked(attributes: &[Attribute]) -> Result<Asked> {
    let mut asked = Asked::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("named")) {
        attribute.parse_nested_meta(|meta| {
            match meta.path.get_ident() {
                Some(name) if name == "all" => asked.all = true,
                Some(name) if name == "copy" => asked.copied = true,
                Some(name) if name == "names" => asked.listed = true,
                _ => return Err(meta.error("unknown argument; the known ones are all, copy and names")),
            }
            Ok(())
        })?;
    }
    Ok(asked)
}

/// The name of a variant: the one that it is given, or its own in snake case.
fn name(variant: &Variant) -> Result<String> {
    let given = variant.attrs.iter().find(|attribute| attribute.path().is_ident("named"));
    let given = given.map(Attribute::parse_args::<LitStr>).transpose()?;
    Ok(given.map_or_else(|| snake_case(&variant.ident), |name| name.value()))
}

/// As serde's `rename_all = "snake_case"` has it.
fn snake_case(ident: &Ident) -> String {
    let mut name = String::new();
    for letter in ident.to_string().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenStream;

    fn expand(item: &str) -> Result<String, String> {
        let item: TokenStream = item.parse().unwrap();
        super::named(item).map(|code| code.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_in_snake_case_unless_they_are_given() {
        let code = expand("pub enum E { ToolCall, #[named(\"a text\")] Text(String) }").unwrap();
        assert!(code.contains("Self :: ToolCall { .. } => \"tool_call\""), "{code}");
        assert!(code.contains("Self :: Text { .. } => \"a text\""), "{code}");
        assert!(code.contains("fn name (& self)") && !code.contains("ALL"), "{code}");
        let copied = expand("#[named(copy)] enum E { Text(u8) }").unwrap();
        assert!(copied.contains("fn name (self)"), "{copied}");
    }

    #[test]
    fn all_variants_are_listed_on_demand() {
        let code = expand("#[named(all)] enum E { One, Two }").unwrap();
        assert!(code.contains("const ALL : [Self ; 2usize] = [Self :: One , Self :: Two]"), "{code}");
        assert!(code.contains("fn name (self)"), "{code}");
    }

    #[test]
    fn names_are_listed_on_demand_also_of_variants_with_fields() {
        let code = expand("#[named(names)] enum E { One, #[named(\"a text\")] Text(String) }").unwrap();
        assert!(code.contains("const NAMES : [& 'static str ; 2usize] = [\"one\" , \"a text\"]"), "{code}");
        assert!(!code.contains("ALL"), "{code}");
    }

    #[test]
    fn what_has_no_names_does_not_compile() {
        for (item, says) in [
            ("struct S;", "only the variants of an enum"),
            ("#[named(all)] enum E { One(u8) }", "cannot stand in `ALL`"),
            ("#[named(every)] enum E { One }", "unknown argument"),
            ("enum E { #[named(1)] One }", "expected string literal"),
        ] {
            let error = expand(item).unwrap_err();
            assert!(error.contains(says), "{item}: {error}");
        }
    }
}
