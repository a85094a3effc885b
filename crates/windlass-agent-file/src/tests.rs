mod bad;
mod docs;
mod good;
mod patterns;
mod reference;
mod schema;

use std::path::Path;

use windlass_error::Diagnostic as _;

use super::{AgentFile, AgentFileError};

/// The environment of these tests.
fn env(name: &str) -> Option<String> {
    match name {
        "MY_KEY" => Some("sk-very-secret".to_owned()),
        "SEARCH_TOKEN" => Some("token-also-secret".to_owned()),
        "PORT" => Some("9000".to_owned()),
        "HOST_WITH_LOGIN" => Some("http://ann:pass@127.0.0.1".to_owned()),
        "PATH_TOKEN" => Some("path-token-1".to_owned()),
        "HOST_ALONE" => Some("models.local".to_owned()),
        "SHORT" => Some("1234".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<AgentFile, AgentFileError> {
    AgentFile::parse(text, Path::new("agents/librarian.yaml"), &env)
}

fn good(text: &str) -> AgentFile {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The error in full: what the user sees.
fn rendered(text: &str) -> String {
    match parse(text).and_then(|agent| agent.check_available()) {
        Ok(()) => panic!("this file should be refused:\n{text}"),
        Err(error) => {
            let help = error.help().map(|help| format!("\nhint: {help}")).unwrap_or_default();
            format!("{error} [{}]{help}", error.code())
        }
    }
}
