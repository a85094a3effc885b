use proc_macro2::TokenStream;

use super::tool;

fn expand(options: &str, function: &str) -> Result<String, String> {
    let tokens = |text: &str| text.parse::<TokenStream>().unwrap();
    tool(tokens(options), tokens(function)).map(|code| code.to_string()).map_err(|error| error.to_string())
}

#[test]
fn functions_that_cannot_be_tools_are_refused_with_the_reason() {
    for (function, says) in [
        ("async fn f(&self, a: i64) {}", "a tool has no `self`"),
        ("async fn f<T>(a: T) {}", "a tool cannot be generic"),
        ("async fn f(a: impl Into<String>) {}", "name the parameter's type"),
        ("async fn f((a, b): (i64, i64)) {}", "a tool's parameter needs a name"),
        ("async fn f(a: &mut String) {}", "cannot be lent as mutable"),
        ("async fn f(a: &str) -> &str { a }", "a tool gives an owned value"),
        ("async fn f() -> impl ToString { 1 }", "name the type that the tool gives"),
        ("unsafe fn f() {}", "a tool cannot be an unsafe function"),
        ("const fn f() {}", "a tool cannot be a const function"),
        ("extern \"C\" fn f() {}", "a tool cannot be an extern function"),
        ("fn f(a: ToolContext, b: &ToolContext) {}", "one `ToolContext` is enough"),
        ("fn f(#[default = 1] a: i64) {}", "write `#[default(value)]`"),
        ("fn f(#[default(1)] #[default(2)] a: i64) {}", "there is a default already"),
        ("fn f(#[range(1)] a: i64) {}", "only doc comments and `#[default]`"),
        ("struct S;", "expected"),
    ] {
        let found = expand("", function).unwrap_err();
        assert!(found.contains(says), "{found:?} should say {says:?}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused_with_what_would() {
    for (options, says) in [
        ("names = \"x\"", "unknown argument `names`; the known ones are name, effect, timeout_ms"),
        ("name", "write `name = \"add\"`"),
        ("name = \"a b\"", "1 to 64 of a-z"),
        ("name = \"a\", name = \"b\"", "`name` is given twice"),
        ("effect = \"twice\"", "unknown effect `twice`; the known ones are read_only, idempotent, once"),
        ("effect = once", "write `effect = \"once\"`"),
        ("timeout_ms = \"5\"", "write `timeout_ms = 5000`"),
        ("timeout_ms = 1.5", "expected"),
        ("retries", "write `retries = 2`"),
        ("approve = \"yes\"", "write `approve`"),
        ("poll = 1", "write `poll`"),
        ("check = \"f\"", "write `check = path::to::function`"),
        ("check = f", "only for tools with `effect = \"once\"`"),
        ("crate = \"x\"", "write `crate = ::windlass::tools`"),
    ] {
        let found = expand(options, "async fn f() {}").unwrap_err();
        assert!(found.contains(says), "{found:?} should say {says:?}");
    }
}

#[test]
fn the_default_path_is_the_facades() {
    let code = expand("", "async fn f() {}").unwrap();
    assert!(code.contains(":: windlass :: tools :: __private :: Tool"), "{code}");
    let code = expand("crate = some::tools", "async fn f() {}").unwrap();
    assert!(code.contains("some :: tools :: __private :: Tool") && !code.contains(":: windlass"), "{code}");
}

#[test]
fn what_only_this_attribute_understands_is_taken_out() {
    let function = "
        /// Doc.
        #[deprecated]
        #[allow(unused)]
        #[cfg(all())]
        pub fn f(
            /// Of a.
            #[default(1)]
            #[allow(unused)]
            a: i64,
        ) {}
    ";
    let code = expand("", function).unwrap();
    assert!(!code.contains("# [default"), "{code}");
    assert_eq!(code.matches("# [cfg (all ())]").count(), 2, "{code}");
    assert_eq!(code.matches("# [deprecated]").count(), 1, "{code}");
    assert!(code.contains("# [allow (unused)] fn f (# [allow (unused)] a : i64 ,)"), "{code}");
    assert_eq!(code.matches("\"Of a.\"").count(), 1, "{code}");
}
