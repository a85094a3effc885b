//! "Did you mean": the nearest of a set of names.
//!
//! The wanted names come from models, the known ones partly from tool servers. Comparing two names takes as many steps as the
//! product of their lengths, so long names are cut and a search has a budget.

/// Maximum number of suggestions.
const MOST: usize = 3;
/// The similarity (Jaro-Winkler, 0 to 1) from which two names are close.
const CLOSE: f64 = 0.8;
/// The bytes from which a part of a long name is close to it. In a name of at most so many times its length two bytes are.
const MIN_PART: usize = 3;
/// Maximum number of bytes of a name that are compared. Tool names have at most 64.
const COMPARED_BYTES: usize = 128;
/// Maximum number of comparison steps for one search, or for all searches of one reply.
const MOST_STEPS: usize = 2_000_000;

/// The steps that may still be taken to compare names.
#[derive(Clone, Copy, Debug)]
pub struct Comparing {
    left: usize,
}

impl Default for Comparing {
    fn default() -> Self {
        Self { left: MOST_STEPS }
    }
}

/// Returns up to three names close to `name`, nearest first. Of very many names only the first ones are compared.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let ranked = Comparing::default().ranked(name, names);
    let close = ranked.into_iter().take_while(|(similarity, _)| *similarity >= CLOSE);
    close.take(MOST).map(|(_, name)| name.to_owned()).collect()
}

/// The end of a message that names an unknown word: `; did you mean a or b?`, or nothing where no name is near.
pub fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}

impl Comparing {
    /// Returns the close names, or the three least distant ones if none is close, so that a call of an unknown tool always
    /// learns of an existing one. With no steps left it returns the first names.
    pub fn nearest_or_any<'n>(
        &mut self,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Vec<String> {
        let mut ranked = self.ranked(name, names);
        let close = ranked.iter().take_while(|(similarity, _)| *similarity >= CLOSE).count();
        ranked.truncate(if close == 0 { MOST } else { close.min(MOST) });
        ranked.into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    /// Names with their similarity, the nearest first, equal ones in their own order. What is not compared any more
    /// comes last.
    fn ranked<'n>(&mut self, name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<(f64, &'n str)> {
        let wanted = cut(name).to_lowercase();
        let mut ranked: Vec<(f64, &str)> =
            names.into_iter().map(|candidate| (self.similarity(&wanted, candidate), candidate)).collect();
        ranked.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
        ranked
    }

    fn similarity(&mut self, wanted: &str, candidate: &str) -> f64 {
        let candidate = cut(candidate);
        let Some(left) = self.left.checked_sub(wanted.len() * candidate.len() + 1) else { return 0.0 };
        self.left = left;
        let lower = candidate.to_lowercase();
        let similarity = strsim::jaro_winkler(wanted, &lower);
        let part = says_much(wanted, &lower) && (lower.contains(wanted) || wanted.contains(&lower));
        // The similarity of short names says little: one slip of the pen (`mx`, `fro`) makes them look far apart.
        let slip = wanted.len().min(lower.len()) > 1 && strsim::osa_distance(wanted, &lower) == 1;
        let least = if part {
            0.9
        } else if slip {
            CLOSE
        } else {
            0.0
        };
        similarity.max(least)
    }
}

/// Whether the shorter of two names says something where it stands in the other one: a letter or two are in many names.
fn says_much(one: &str, other: &str) -> bool {
    let (shorter, longer) = (one.len().min(other.len()), one.len().max(other.len()));
    shorter >= MIN_PART || shorter > 1 && shorter * MIN_PART >= longer
}

/// The beginning of a name.
fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(COMPARED_BYTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
