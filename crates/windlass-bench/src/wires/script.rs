//! The script of a conversation, which stands in the model's name as that of the mock of `shared/bench` does.

/// Bytes of a piece of the final answer.
const PIECE_BYTES: usize = 16;

/// `script-n3-k1-c20`: three rounds of one call each, then an answer in twenty pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    rounds: usize,
    calls: usize,
    pieces: usize,
}

/// The sense of a reply.
pub(super) enum ScriptedReply {
    /// The arguments of calls of the tool `echo`, each with an id.
    Calls(Vec<(String, String)>),
    /// The final answer, in pieces.
    Text(Vec<String>),
}

impl Script {
    /// The script of a request: the model is named in the body, or in the path.
    pub(super) fn of(path: &str, body: &[u8]) -> Option<Self> {
        let name = |text: &[u8]| {
            let from = memchr::memmem::find(text, b"script-")?;
            let name = text.get(from..)?;
            let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
            String::from_utf8(name.get(..end.unwrap_or(name.len()))?.to_vec()).ok()
        };
        let name = name(path.as_bytes()).or_else(|| name(body))?;
        let mut script = Self { rounds: 0, calls: 1, pieces: 1 };
        for part in name.split('-').skip(1) {
            let (key, number) = part.split_at_checked(1)?;
            let number = number.parse().ok()?;
            match key {
                "n" => script.rounds = number,
                "k" => script.calls = number,
                "c" => script.pieces = number,
                _ => return None,
            }
        }
        Some(script)
    }

    /// The step after so many results.
    pub(super) fn next(&self, results: usize) -> ScriptedReply {
        if results >= self.rounds * self.calls {
            let mut text = String::from("done ");
            while text.len() < self.pieces * PIECE_BYTES {
                text.push_str("lorem ipsum ");
            }
            text.truncate(self.pieces * PIECE_BYTES);
            let pieces = text.as_bytes().chunks(PIECE_BYTES);
            return ScriptedReply::Text(
                pieces.map(|piece| String::from_utf8_lossy(piece).into_owned()).collect(),
            );
        }
        let round = results / self.calls.max(1);
        let call =
            |at: usize| (format!("call_{round}_{at}"), format!("{{\"text\":\"m{round}.{at}.xxxxxxxxxxx\"}}"));
        ScriptedReply::Calls((0..self.calls).map(call).collect())
    }
}
