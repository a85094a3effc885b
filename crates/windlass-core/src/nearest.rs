//! "Did you mean": the nearest of a set of names.

/// How many names are given at most.
const MOST: usize = 3;
/// The similarity (Jaro-Winkler, 0 to 1) from which two names are close.
const CLOSE: f64 = 0.8;

/// At most three names that are close to the given one, the nearest first.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let close = ranked(name, names).into_iter().take_while(|(similarity, _)| *similarity >= CLOSE);
    close.take(MOST).map(|(_, name)| name.to_owned()).collect()
}

/// The close names; where there are none, the three that are least far: somebody who asks for a tool that does not exist
/// must learn of one that does (E6).
pub(crate) fn nearest_or_any<'n>(
    name: &str,
    names: impl IntoIterator<Item = &'n str> + Clone,
) -> Vec<String> {
    let close = nearest(name, names.clone());
    if close.is_empty() {
        return ranked(name, names).into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect();
    }
    close
}

/// All names with their similarity, the nearest first, equal ones in their own order.
fn ranked<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<(f64, &'n str)> {
    let wanted = name.to_lowercase();
    let mut ranked: Vec<(f64, &str)> = names
        .into_iter()
        .map(|candidate| {
            let lower = candidate.to_lowercase();
            let similarity = strsim::jaro_winkler(&wanted, &lower);
            let part = !wanted.is_empty() && (lower.contains(&wanted) || wanted.contains(&lower));
            // The similarity of short names says little: one slip of the pen (`mx`, `fro`) makes them look far apart.
            let slip = wanted.len().min(lower.len()) > 1 && strsim::osa_distance(&wanted, &lower) == 1;
            let least = if part {
                0.9
            } else if slip {
                CLOSE
            } else {
                0.0
            };
            (similarity.max(least), candidate)
        })
        .collect();
    ranked.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    ranked
}
