use std::borrow::Cow;

use super::Secret;

#[test]
fn e53_a_secret_prints_as_stars() {
    let secret = Secret::new("sk-12345");
    assert_eq!(format!("{secret:?} {secret} {:?}", Some(&secret)), "*** *** Some(***)");
    assert_eq!(secret.expose(), "sk-12345");
}

#[test]
fn e53_each_occurrence_is_masked() {
    let secret = Secret::new("sk-12345");
    assert_eq!(secret.mask("Bearer sk-12345, sk-12345!"), "Bearer ***, ***!");
    assert!(matches!(secret.mask("nothing here"), Cow::Borrowed("nothing here")));
}

#[test]
fn a_very_short_or_empty_secret_does_not_blot_out_words() {
    assert_eq!(Secret::new("abc").mask("abcdef"), "abcdef");
    assert_eq!(Secret::new("").mask("text"), "text");
    assert_eq!(Secret::new("abcd").mask("abcdef"), "***ef");
}
