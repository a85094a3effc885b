//! "Did you mean": the nearest of a set of names.

/// At most three names that are close to the given one, the nearest first.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut close: Vec<(f64, &str)> = names
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            let similarity = strsim::jaro_winkler(&wanted, &lower);
            let part = !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower));
            (if part { similarity.max(0.9) } else { similarity }, candidate)
        })
        .filter(|(similarity, _)| *similarity >= 0.8)
        .collect();
    close.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    close.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
