//! A server of durable runs.
//!
//! A [`Server`] is a [`Host`](windlass_runtime::host::Host) and doors to it. What doors share stands in one layer: who asks and what
//! they may do, limits, errors, event streams, connections. A door is a table of routes over it.
//!
//! | door | its paths |
//! |---|---|
//! | native | `/v1/…`, `/openapi.json`, `/health`, `/ready`, `/metrics`; [`windlass_api`] has its types |

mod error;
mod http;
mod serving;
mod settings;

pub use error::Error;
pub use http::lines::LINES;
pub use http::server::Server;
pub use http::tokens::{NewToken, Token, Tokens, VerbName};
pub use http::verb::Verb;
pub use serving::Listening;
pub use settings::{LONGEST_SILENCE_MS, Limits, Quota, Requests, Settings};

use http::route::Route;

/// Doors, each a folder with a function `routes`.
macro_rules! doors {
    ($($door:ident),+ $(,)?) => {
        $(mod $door;)+

        /// The routes of all doors.
        fn routes() -> Vec<Route> {
            [$($door::routes()),+].into_iter().flatten().collect()
        }
    };
}

doors! {
    native,
}

/// The document of the API (OpenAPI 3.1), as the server publishes it.
pub fn openapi() -> serde_json::Value {
    http::document::document(&routes())
}
