//! The client of a Windlass server: its API as typed methods.
//!
//! | type | does |
//! |---|---|
//! | [`Client`] | one method for each route of the server; what is lost on the way is sent again under the same key |
//! | [`Following`] | follows a run, and comes back by itself after a cut or a restart, without a gap or a repeat |
//! | [`RemoteStore`] | the server's log as a [`Store`](windlass_store::Store) that only reads |
//!
//! The types of requests and replies are those of [`windlass_api`].
//!
//! ```no_run
//! use windlass_api::{Input, StartRun, Update};
//! use windlass_client::{Client, ClientError, Follow};
//!
//! async fn ask(token: &str, question: &str) -> Result<String, ClientError> {
//!     let client = Client::new("http://127.0.0.1:7400")?.with_token(token)?;
//!     let start = StartRun {
//!         agent: "librarian".to_owned(),
//!         input: Input::Text(question.to_owned()),
//!         session: None,
//!         only_tools: None,
//!         wait_ms: 0,
//!     };
//!     let started = client.start(&start, None).await?;
//!     let mut following = client.follow(started.run, Follow::default());
//!     let mut answer = String::new();
//!     while let Some(next) = following.next().await? {
//!         match next.update {
//!             Update::Text { text, .. } => answer.push_str(&text),
//!             Update::Void { .. } => answer.clear(),
//!             _ => {}
//!         }
//!     }
//!     Ok(answer)
//! }
//! ```

mod address;
mod backoff;
mod client;
mod error;
mod following;
mod reads;
mod remote;
mod sse;
mod verbs;

pub use address::Address;
pub use client::{Client, Settings};
pub use error::{ClientError, Refusal};
pub use following::{Follow, Following};
pub use reads::{BytesFrom, EventsFrom, PollFrom};
pub use remote::{RemoteStore, batches};
