//! A request as it goes over HTTP, without its secrets.

use std::fmt::Write as _;

/// A request as it goes over HTTP. Keys and other secret headers are named (`$OPENAI_API_KEY`) and never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRequest {
    /// Its method.
    pub method: &'static str,
    /// Its address; secrets in it are masked.
    pub url: String,
    /// Its headers, except those of the connection.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

impl WrittenRequest {
    /// As a command of `curl` for a POSIX shell, which takes keys from its variables.
    pub fn to_curl(&self) -> String {
        let mut text = format!("curl -X {} {}", self.method, quoted(&self.url));
        for (name, value) in &self.headers {
            // Double quotes, in which the shell puts variables.
            let line = format!("{name}: {value}");
            let line = if value.contains('$') { format!("\"{line}\"") } else { quoted(&line) };
            // Writing into a String cannot fail.
            let _infallible = write!(text, " \\\n  -H {line}");
        }
        let _infallible = write!(text, " \\\n  --data-raw {}", quoted(&String::from_utf8_lossy(&self.body)));
        text
    }
}

/// One word for a POSIX shell, as it is.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_body_as_it_is_and_the_key_from_its_variable() {
        let request = WrittenRequest {
            method: "POST",
            url: "http://127.0.0.1:9/v1/chat".to_owned(),
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("authorization".to_owned(), "Bearer $KEY".to_owned()),
            ],
            body: br#"{"say":"it's $5"}"#.to_vec(),
        };
        let expected = "curl -X POST 'http://127.0.0.1:9/v1/chat' \\\n  -H 'content-type: application/json' \\\n  -H \"authorization: Bearer $KEY\" \\\n  --data-raw '{\"say\":\"it'\\''s $5\"}'";
        assert_eq!(request.to_curl(), expected);
    }
}
