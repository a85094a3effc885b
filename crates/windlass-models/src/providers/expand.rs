//! Owns placeholders in base URLs: `${VARIABLE}`, `${ONE|OTHER}` and `${VARIABLE:-default}`.

/// A placeholder.
#[derive(Debug)]
pub(crate) struct Placeholder<'u> {
    /// The variables, of which the first one that is set counts.
    pub(crate) variables: Vec<&'u str>,
    /// The value where none is set.
    pub(crate) default: Option<&'u str>,
}

/// A URL with its placeholders filled in.
///
/// # Errors
/// The error of `fill`, or a placeholder that has no end.
pub(crate) fn placeholders(
    url: &str,
    mut fill: impl FnMut(&Placeholder<'_>) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once("${") {
        let (within, after) = after.split_once('}').ok_or("a `${` has no `}`")?;
        let (names, default) =
            within.split_once(":-").map_or((within, None), |(names, default)| (names, Some(default)));
        out.push_str(before);
        out.push_str(&fill(&Placeholder { variables: names.split('|').collect(), default })?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
