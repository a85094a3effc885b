use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-Pr0j_4711/abc+def=\"ü\" end";

fn knowing(secrets: &[&str]) -> Masker {
    let masker = Masker::new();
    for secret in secrets {
        masker.add(&Secret::new(*secret));
    }
    masker
}

fn hidden(secrets: &[&str], text: &str) -> String {
    knowing(secrets).hide(text).into_owned()
}

#[test]
fn e53_a_secret_prints_as_stars() {
    let secret = Secret::new("sk-12345");
    assert_eq!(format!("{secret:?} {secret} {:?}", Some(&secret)), "*** *** Some(***)");
    assert_eq!(secret.expose(), "sk-12345");
}

#[test]
fn e53_each_occurrence_is_masked() {
    assert_eq!(hidden(&["sk-12345"], "Bearer sk-12345, sk-12345!"), "Bearer ***, ***!");
    assert!(matches!(knowing(&["sk-12345"]).hide("nothing here"), Cow::Borrowed("nothing here")));
    assert!(matches!(knowing(&[]).hide("sk-12345"), Cow::Borrowed("sk-12345")));
}

#[test]
fn e53_a_secret_that_was_made_is_masked_in_this_process() {
    assert_eq!(mask("made-just-now-4711"), "made-just-now-4711");
    drop(Secret::new("made-just-now-4711"));
    assert_eq!(mask("made-just-now-4711"), "***");
}

#[test]
fn a_short_or_empty_secret_does_not_blot_out_words() {
    assert_eq!(hidden(&["abcde"], "abcdef"), "abcdef");
    assert_eq!(hidden(&["", " \n "], "text \n "), "text \n ");
    assert_eq!(hidden(&["abcdef"], "abcdefg"), "***g");
    assert!(!Secret::new("abcde").is_masked() && Secret::new("abcdef").is_masked());
}

#[test]
fn of_secrets_that_overlap_nothing_stays() {
    assert_eq!(hidden(&["abcdef", "defghi"], "xabcdefghix"), "x***x");
    assert_eq!(hidden(&["abcdef", "abcdefghij"], "abcdefghij abcdefgh"), "*** ***gh");
    assert_eq!(hidden(&["cdefgh", "abcdefghij"], "abcdefghi"), "ab***i");
}

#[test]
fn e53_the_usual_encodings_are_masked() {
    use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};
    let masker = knowing(&[KEY]);
    let url = |text: &str, plain: &str, upper: bool| -> String {
        let byte = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() || plain.contains(char::from(byte)) => {
                char::from(byte).to_string()
            }
            byte if upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        };
        text.bytes().map(byte).collect()
    };
    let json = serde_json::to_string(KEY).unwrap();
    let json = &json[1..json.len() - 1];
    let ascii = KEY.chars().map(|char| format!("\\u{:04X}", u32::from(char))).collect::<Vec<_>>().concat();
    let mut forms = vec![
        KEY.to_owned(),
        json.to_owned(),
        json.replace('/', "\\/"),
        json.replace('ü', "\\u00fc"),
        ascii,
        url(KEY, "-_.~", true),
        url(KEY, "-_.~", false),
        url(KEY, "-_.!~*'()", true),
        url(KEY, "/:@&=+$,", true),
        url(KEY, "", true),
        url(&KEY.replace(' ', "+"), "+*-._", true),
        HEXLOWER.encode(KEY.as_bytes()),
        HEXUPPER.encode(KEY.as_bytes()),
        KEY.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"),
        KEY.bytes().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":"),
    ];
    for encoding in [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD] {
        forms.push(encoding.encode(KEY.as_bytes()));
    }
    for form in &forms {
        assert_eq!(masker.hide(&format!("<{form}>")), "<***>", "{form}");
    }
    // Within something longer, at each alignment: at most a character at each side holds bits of a neighbour.
    for before in ["", "u", "us", "user:"] {
        for after in ["", "x", "xy", "xyz"] {
            for encoding in [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD] {
                let text = encoding.encode(format!("{before}{KEY}{after}").as_bytes());
                let masked = masker.hide(&text).into_owned();
                let around = (before.len() + after.len()) * 8 / 6 + 4 + 3;
                assert!(masked.contains("***") && masked.len() <= around + 3, "{text} -> {masked}");
            }
        }
    }
    // As `base64` and `fold` break it.
    for form in &forms[11..] {
        let broken: Vec<&str> =
            form.as_bytes().chunks(7).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
        for end in ["\n", "\r\n", "\n    ", "\\n"] {
            assert_eq!(masker.hide(&format!("<{}>", broken.join(end))), "<***>", "{form} {end:?}");
        }
    }
}

#[test]
fn e53_a_secret_that_is_broken_into_lines_is_masked() {
    const TOKEN: &str = "tok-9f8e7d6c+5b4a/3210ZYXw";
    let masker = knowing(&[TOKEN, "shorty"]);
    let json = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    let url = TOKEN.replace('+', "%2B").replace('/', "%2F");
    let unicode = TOKEN.replace('+', "\\u002b").replace('/', "\\/");
    let colons = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    let base64 = data_encoding::BASE64.encode(TOKEN.as_bytes());
    for form in [TOKEN, "shorty", &url, &unicode, &colons, &base64] {
        for width in (1..=20).filter(|width| *width < form.len()) {
            let lines: Vec<&str> =
                form.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            for end in ["\n", "\r\n", "\r", "\\n", "\\r\\n", "%0A", "\\u000a", "\n\n"] {
                // Between the parts of an escape, an escaped line break is another escape.
                if end.starts_with(['%', '\\']) && form.contains(['%', '\\']) {
                    continue;
                }
                let text = format!("<{}>\nnext", lines.join(end));
                assert_eq!(masker.hide(&text), "<***>\nnext", "{form} {width} {end:?}");
                let mut stream = masker.stream();
                let shown: String = text.chars().map(|letter| stream.push(letter.to_string())).collect();
                assert_eq!(shown + &stream.finish(), "<***>\nnext", "{form} {width} {end:?} in pieces");
            }
            let in_json = json(&format!("<{}>", lines.join("\n")));
            assert!(form.contains('\\') || masker.hide(&in_json) == "<***>", "{form} {width}: {in_json}");
        }
    }
    // What is around it stays, and lines that hold no secret.
    assert_eq!(masker.hide("a\ntok-9f8e\n7d6c+5b4a/3210ZYXw\nb\n"), "a\n***\nb\n");
    assert!(matches!(masker.hide("tok\n-9f8e \\n 7d6c\n"), Cow::Borrowed(_)));
}

#[test]
fn e53_the_token_of_a_header_and_the_lines_of_a_key_are_masked_by_themselves() {
    let basic = data_encoding::BASE64.encode(b"me:pass-word-1");
    let pem = "-----BEGIN KEY-----\nMIIBVAIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    let secrets = ["Bearer tok-12345", &format!("Basic {basic}"), pem, "correct horse battery"];
    for (text, masked) in [
        ("Bearer tok-12345", "***"),
        ("token tok-12345, a Bearer", "token ***, a Bearer"),
        ("me:pass-word-1 and pass-word-1", "*** and ***"),
        (pem.trim(), "***"),
        ("1: hkiG9w0BAQEFAASC", "1: ***"),
        ("-----BEGIN KEY-----", "-----BEGIN KEY-----"),
        ("q=correct+horse+battery", "q=***"),
        ("horse", "horse"),
    ] {
        assert_eq!(hidden(&secrets, text), masked);
    }
}

#[test]
fn the_credentials_of_a_url_are_masked() {
    mask_url_parts(
        "https://someone:pass%2Fword1@host.example:8443/v1/openai/gpt-4o-2024-07-18/k3y4b5c6d7e8f9a0b1/chat?api-key=query-key-1#frag-key-1",
    );
    mask_url_parts("http://lonetoken1@host.example/");
    for (text, masked) in [
        ("pass%2Fword1 pass/word1", "*** ***"),
        (
            "/v1/openai/gpt-4o-2024-07-18/chat at host.example",
            "/v1/openai/gpt-4o-2024-07-18/chat at host.example",
        ),
        ("k3y4b5c6d7e8f9a0b1", "***"),
        ("query-key-1 frag-key-1 lonetoken1", "*** *** ***"),
        ("someone api-key", "someone api-key"),
    ] {
        assert_eq!(mask(text), masked);
    }
}

#[test]
fn e53_a_secret_that_is_split_over_pieces_is_masked() {
    let masker = knowing(&[KEY, "tok-12345"]);
    let base64 = data_encoding::BASE64.encode(format!("x{KEY}").as_bytes());
    let json = serde_json::to_string(KEY).unwrap();
    let text = format!("a {KEY} b {base64} c tok-12345tok-12345 d {json} % tok-1234 \\ end tok-");
    for size in 1..40 {
        let mut stream = masker.stream();
        let mut shown = String::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            shown += &stream.push(piece.iter().collect());
        }
        shown += &stream.finish();
        assert_eq!(shown, masker.hide(&text), "pieces of {size}");
    }
}

#[test]
fn pieces_that_begin_no_secret_are_not_held_back() {
    let masker = knowing(&["sk-0123456789"]);
    let mut stream = masker.stream();
    assert_eq!(stream.push("What a day. ".to_owned()), "What a day. ");
    assert_eq!(stream.push("Thanks".to_owned()), "Thank");
    assert_eq!(stream.push("giving".to_owned()), "sgiving");
    let mut none = Masker::new();
    assert_eq!(none.stream().push("sk-".to_owned()), "sk-");
    none = knowing(&[]);
    assert_eq!(none.stream().finish(), "");
}

#[test]
fn more_secrets_than_are_known_put_the_oldest_out() {
    let masker = Masker::new();
    for number in 0..1_100 {
        masker.add(&Secret::new(format!("secret-number-{number:05}")));
    }
    assert_eq!(masker.hide("secret-number-01099 secret-number-00100"), "*** ***");
    assert_eq!(masker.hide("secret-number-00000"), "secret-number-00000");
}

/// Number of bytes that the automaton walks for a text: a measure of work that does not depend on the machine.
fn steps(masker: &Masker, text: &str, size: usize) -> u64 {
    super::matcher::STEPS.with(|steps| steps.set(0));
    let mut stream = masker.stream();
    for piece in text.as_bytes().chunks(size) {
        stream.push(String::from_utf8(piece.to_vec()).unwrap());
    }
    stream.finish();
    masker.hide(text);
    super::matcher::STEPS.with(std::cell::Cell::get)
}

/// The steps in which the forms of a secret are made into automata.
fn built(secret: &str) -> u64 {
    super::matcher::BUILT.with(|built| built.set(0));
    knowing(&[secret]).hide("some text");
    super::matcher::BUILT.with(std::cell::Cell::get)
}

#[test]
fn building_the_masks_of_a_secret_costs_its_length() {
    type Shape = (&'static str, fn(usize) -> String);
    let shapes: [Shape; 6] = [
        ("letters without order", |n| {
            let mut at = 7_u32;
            let letter = |_| {
                at = at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(b'a' + (at >> 24) as u8 % 26)
            };
            (0..n).map(letter).collect()
        }),
        ("equal letters", |n| "a".repeat(n)),
        ("pairs", |n| "ab".repeat(n)),
        ("a key with equal letters behind", |n| format!("sk-{}", "a".repeat(n))),
        ("lines", |n| format!("-----BEGIN\n{}", "aaaaaaaaaaaa\n".repeat(n / 8))),
        ("a header", |n| format!("Bearer {}b", "a".repeat(n))),
    ];
    for (what, secret) in shapes {
        // Shorter than those of other readers: a secret has some dozen forms, each of which is built.
        for n in [512, 1_024, 2_048] {
            let (one, two) = (built(&secret(n)), built(&secret(2 * n)));
            assert!(one > 0 && two <= one * 5 / 2, "{what}: {n} costs {one} steps and {} costs {two}", 2 * n);
        }
    }
    // With a table of all transitions this took 12 seconds, and signals waited for it.
    let letters = knowing(&[&"a".repeat(2_000)]);
    assert_eq!(letters.hide(&format!("x {} y", "a".repeat(2_000))), "x *** y");
}

#[test]
fn twice_the_text_costs_at_most_two_and_a_half_times_the_steps() {
    let long = format!("sk-{}", "a".repeat(500));
    let many: Vec<String> = (0..500).map(|number| format!("secret-{}-{number}", "a".repeat(100))).collect();
    let masker = knowing(&[&long]);
    for secret in &many {
        masker.add(&Secret::new(secret.as_str()));
    }
    let texts = [
        format!("sk-{}", "a".repeat(400)),
        "a".repeat(250) + "b",
        "%61".to_owned(),
        "\\u0061".to_owned(),
        "sk-\n".to_owned(),
        "a\n".to_owned(),
        "%6\n1".to_owned(),
        "\\n".to_owned(),
        "secret-".to_owned(),
        many.join(" "),
        "%".to_owned(),
    ];
    for text in &texts {
        let times = 20_000 / text.len() + 1;
        for size in [1, 7, 4_096] {
            let (one, two) =
                (steps(&masker, &text.repeat(times), size), steps(&masker, &text.repeat(times * 2), size));
            assert!(two * 2 <= one * 5, "{} {size}: {one} {two}", &text[..text.len().min(20)]);
            // Each byte is looked at a few times, however small the pieces are.
            assert!(
                one < (text.len() * times) as u64 * 40 + 10_000,
                "{} {size}: {one}",
                &text[..text.len().min(20)]
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No secret, in no form, is left in any text, and what is around it stays.
    #[test]
    fn no_secret_is_left(secret in "[!-~]{6,60}", before in "[ -~]{0,20}", after in "[ -~]{0,20}", size in 1..20_usize) {
        let masker = knowing(&[&secret]);
        let text = format!("{before}{secret}{after}");
        let masked = masker.hide(&text).into_owned();
        prop_assert!(!masked.contains(&secret) || MASK.contains(&secret), "{masked}");
        let mut stream = masker.stream();
        let mut shown = String::new();
        for piece in text.as_bytes().chunks(size) {
            shown += &stream.push(String::from_utf8(piece.to_vec()).unwrap());
        }
        shown += &stream.finish();
        prop_assert!(!shown.contains(&secret), "{shown}");
    }

    /// Any text at all, cut anywhere, is taken without harm.
    #[test]
    fn no_text_makes_it_panic(secret in ".{0,40}", texts in prop::collection::vec(".{0,30}", 0..8)) {
        let masker = knowing(&[&secret]);
        let mut stream = masker.stream();
        for text in texts {
            masker.hide(&text);
            stream.push(text);
        }
        stream.finish();
    }
}
