//! The code that stands in the place of the function.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, ItemFn, LitStr, Result, Type};

use crate::options::Options;
use crate::signature::{Parameter, Role, documentation, output, parameters};

/// Rewrites a function under `#[tool(options)]`.
pub(crate) fn tool(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function: ItemFn = syn::parse2(function)?;
    let parameters = parameters(&mut function)?;
    let room = options.room.as_ref().map_or_else(|| quote!(::windlass::tools), |room| quote!(#room));
    let private = quote!(#room::__private);
    let made = Made { options, parameters, private, function };
    Ok(made.items())
}

/// Everything that the emitted code is made of.
struct Made {
    options: Options,
    parameters: Vec<Parameter>,
    /// Path to the support code.
    private: TokenStream,
    function: ItemFn,
}

impl Made {
    fn items(&self) -> TokenStream {
        let Self { private, function, .. } = self;
        let (visibility, ident) = (&function.vis, &function.sig.ident);
        let (outer, inner): (Vec<_>, Vec<_>) =
            function.attrs.iter().partition(|attribute| is_outer(attribute));
        let conditions = outer.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let mut body = function.clone();
        body.attrs = inner.into_iter().cloned().collect();
        body.vis = syn::Visibility::Inherited;
        let (callable, spec, call, check) = (self.callable(), self.spec(), self.call(), self.check());
        quote! {
            #(#outer)*
            #[allow(non_camel_case_types)]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::default::Default)]
            #visibility struct #ident;

            #(#conditions)*
            const _: () = {
                // Under its own name, so that it can call itself.
                #body

                #callable

                #[automatically_derived]
                impl #private::Tool for #ident {
                    fn spec(&self) -> &#private::ToolSpec {
                        #spec
                    }

                    fn call(
                        &self,
                        __context: #private::ToolContext,
                        __args: #private::Value,
                    ) -> #private::BoxFuture<'_, #private::ToolResult> {
                        #call
                    }

                    #check
                }
            };
        }
    }

    /// Lets the value be called like the function: a call looks through `Deref`.
    fn callable(&self) -> TokenStream {
        let Self { private, function, .. } = self;
        let (ident, output) = (&function.sig.ident, output(&function.sig));
        let names: Vec<_> = (0..self.parameters.len()).map(|n| format_ident!("a{n}")).collect();
        let lends = self.parameters.iter().any(|parameter| parameter.lent);
        let (target, value) = if function.sig.asyncness.is_some() {
            let types = self.parameters.iter().map(lifted);
            let (binder, life) =
                if lends { (quote!(for<'a>), quote!('a)) } else { (quote!(), quote!('static)) };
            let target = quote!(#binder fn(#(#types),*) -> #private::BoxFuture<#life, #output>);
            let span = function.sig.ident.span();
            (target, quote_spanned!(span=> |#(#names),*| ::std::boxed::Box::pin(#ident(#(#names),*))))
        } else {
            let types = self.parameters.iter().map(|parameter| &parameter.ty);
            (quote!(fn(#(#types),*) -> #output), quote!(#ident))
        };
        quote! {
            #[automatically_derived]
            impl ::core::ops::Deref for #ident {
                type Target = #target;

                fn deref(&self) -> &Self::Target {
                    const FUNCTION: #target = #value;
                    &FUNCTION
                }
            }
        }
    }

    fn spec(&self) -> TokenStream {
        let Self { private, function, options, .. } = self;
        let name = options.name.clone().unwrap_or_else(|| {
            let ident = syn::ext::IdentExt::unraw(&function.sig.ident);
            LitStr::new(&ident.to_string(), ident.span())
        });
        let description = documentation(&function.attrs);
        let properties = self.parameters.iter().filter_map(|parameter| property(parameter, private));
        // An undeclared effect is unknown: a crash must not repeat it.
        let effect = options.effect.as_ref().map_or_else(
            || quote!(spec.effect = #private::Effect::Once;),
            |effect| quote!(spec.effect = #private::Effect::#effect;),
        );
        let timeout =
            options.timeout_ms.iter().map(|ms| quote!(spec.timeout_ms = ::core::option::Option::Some(#ms);));
        let retries =
            options.retries.iter().map(|n| quote!(spec.retries = ::core::option::Option::Some(#n);));
        let (approve, poll, has_check) = (options.approve, options.poll, options.check.is_some());
        quote! {
            static SPEC: ::std::sync::OnceLock<#private::ToolSpec> = ::std::sync::OnceLock::new();
            SPEC.get_or_init(|| {
                #[allow(unused_mut)]
                let mut properties = #private::Properties::new();
                #(#properties)*
                let mut spec = #private::ToolSpec::new(#name, #description, properties.finish());
                #effect
                #(#timeout)*
                #(#retries)*
                spec.approve = #approve;
                spec.poll = #poll;
                spec.has_check = #has_check;
                spec.origin = ::core::concat!("code ", ::core::module_path!()).into();
                spec
            })
        }
    }

    fn call(&self) -> TokenStream {
        let Self { private, function, .. } = self;
        let (ident, span) = (&function.sig.ident, function.sig.ident.span());
        let reads = self.reads();
        let passed = self.passed();
        let convert = convert(private, &quote!(__value));
        let run = if function.sig.asyncness.is_some() {
            quote! {
                let __returned = #ident(#(#passed),*).await;
                #convert
            }
        } else {
            quote! {
                #private::blocking(move || {
                    let __returned = #ident(#(#passed),*);
                    #convert
                })
                .await
            }
        };
        quote_spanned! {span=>
            ::std::boxed::Box::pin(async move {
                #(#reads)*
                #run
            })
        }
    }

    fn check(&self) -> Option<TokenStream> {
        let private = &self.private;
        let check = self.options.check.as_ref()?;
        let reads = self.reads();
        let passed = self.passed();
        let inner = convert(private, &quote!(__value));
        let outer = shape(
            private,
            &quote!(match __value {
                ::core::option::Option::None => ::core::result::Result::Ok(::core::option::Option::None),
                ::core::option::Option::Some(__returned) => {
                    let __result: #private::ToolResult = #inner;
                    #private::outcome(__result).map(::core::option::Option::Some)
                }
            }),
        );
        Some(quote! {
            fn check(
                &self,
                __context: #private::ToolContext,
                __args: #private::Value,
            ) -> #private::BoxFuture<
                '_,
                ::core::result::Result<::core::option::Option<#private::CallOutcome>, #private::ToolError>,
            > {
                ::std::boxed::Box::pin(async move {
                    #(#reads)*
                    let __returned = #check(#(#passed),*).await;
                    #outer
                })
            }
        })
    }

    /// The statements that read each argument.
    fn reads(&self) -> Vec<TokenStream> {
        let private = &self.private;
        let mut reads = vec![quote! {
            #[allow(unused_mut, unused_variables)]
            let mut __args = #private::Args::new(__args)?;
        }];
        reads.extend(self.parameters.iter().enumerate().map(|(n, Parameter { name, owned, role, .. })| {
            let variable = format_ident!("__a{n}");
            let read = match role {
                Role::Required => quote_spanned!(owned.span()=> __args.required::<#owned>(#name)?),
                Role::Optional => quote_spanned!(owned.span()=> __args.optional::<#owned>(#name)?),
                Role::Default(value) => {
                    quote_spanned!(owned.span()=> __args.or_else::<#owned>(#name, || #value)?)
                }
                Role::Context => quote!(::core::clone::Clone::clone(&__context)),
            };
            quote!(let #variable: #owned = #read;)
        }));
        reads
    }

    /// Arguments of the call.
    fn passed(&self) -> Vec<TokenStream> {
        let pass = |(n, parameter): (usize, &Parameter)| {
            let variable = format_ident!("__a{n}");
            if parameter.lent { quote!(&#variable) } else { quote!(#variable) }
        };
        self.parameters.iter().enumerate().map(pass).collect()
    }
}

/// Whether an attribute belongs to the type; all others stay with the function's body.
fn is_outer(attribute: &Attribute) -> bool {
    ["doc", "cfg", "deprecated"].iter().any(|name| attribute.path().is_ident(name))
}

/// The parameter's type in a pointer to an async function, where the future borrows what is lent.
fn lifted(parameter: &Parameter) -> TokenStream {
    let ty = &parameter.ty;
    if let Type::Reference(reference) = ty {
        let element = &reference.elem;
        quote!(&'a #element)
    } else {
        quote!(#ty)
    }
}

/// The statement that adds a parameter to the schema.
fn property(parameter: &Parameter, private: &TokenStream) -> Option<TokenStream> {
    let Parameter { name, owned, role, description, .. } = parameter;
    let span = owned.span();
    Some(match role {
        Role::Context => return None,
        Role::Required => quote_spanned!(span=> properties.required::<#owned>(#name, #description);),
        Role::Optional => quote_spanned!(span=> properties.optional::<#owned>(#name, #description);),
        Role::Default(value) => quote_spanned! {span=>
            let default: #owned = #value;
            properties.with_default::<#owned>(#name, #description, #private::json(&default));
        },
    })
}

/// `__returned`, of any type, as a `ToolResult`.
fn convert(private: &TokenStream, value: &TokenStream) -> TokenStream {
    shape(
        private,
        &quote!({
            let __kind = (&&#private::kinds::Probe::of(&#value)).__windlass_content();
            __kind.content(#value)
        }),
    )
}

/// `__returned` taken apart: `ok` makes a result of `__value`, an error becomes a `ToolError`.
///
/// Which conversion fits is found by method look-up on the concrete type, from the more to the less special: see
/// `kinds` in windlass-tools.
fn shape(private: &TokenStream, ok: &TokenStream) -> TokenStream {
    quote!({
        #[allow(unused_imports)]
        use #private::kinds::{
            FailsWithDisplay as _, FailsWithError as _, FailsWithToolError as _, GivesContent as _, GivesJson as _,
            GivesNothing as _, MayFail as _, NeverFails as _,
        };
        let __kind = (&&#private::kinds::Probe::of(&__returned)).__windlass_shape();
        #[allow(unreachable_code, unreachable_patterns)]
        match __kind.result(__returned) {
            ::core::result::Result::Ok(__value) => #ok,
            ::core::result::Result::Err(__error) => {
                let __kind = (&&&#private::kinds::Probe::of(&__error)).__windlass_failure();
                ::core::result::Result::Err(__kind.failure(__error))
            }
        }
    })
}

#[cfg(test)]
mod tests;
