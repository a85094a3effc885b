use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::*;

/// A message with a payload of so many bytes.
fn message(mut fields: serde_json::Value, bytes: usize) -> String {
    fields["pad"] = "x".repeat(bytes).into();
    fields.to_string()
}

fn takes(fault: &Fault, message: &str) -> bool {
    fault.takes(message)
}

#[test]
fn what_a_server_asks_and_tells_is_bounded_and_what_it_answers_is_not() {
    let asks = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let tells = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
    let answers = json!({ "jsonrpc": "2.0", "id": 1, "result": { "method": "x" } });
    for (fields, taken, given_up) in [(&asks, false, true), (&tells, false, false), (&answers, true, false)] {
        let (short, long) = (Fault::default(), Fault::default());
        assert!(takes(&short, &message(fields.clone(), 0)) && short.get().is_none());
        assert_eq!(takes(&long, &message(fields.clone(), MAX_ASKING_BYTES)), taken, "{fields}");
        assert_eq!(long.get().is_some(), given_up, "{fields}");
    }
    let exact = |bytes: usize| {
        let without = message(asks.clone(), 0).len();
        message(asks.clone(), bytes - without)
    };
    assert!(takes(&Fault::default(), &exact(MAX_ASKING_BYTES)));
    let fault = Fault::default();
    assert!(!takes(&fault, &exact(MAX_ASKING_BYTES + 1)));
    assert_eq!(fault.get().unwrap(), "its request has 16385 bytes, the maximum is 16384");
}

#[test]
fn no_way_of_writing_a_request_gets_around_the_bound() {
    let pad = "x".repeat(MAX_ASKING_BYTES);
    for asking in [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{pad}\",\"method\":\"ping\"}}"),
        format!("{{\"m\\u0065thod\":\"ping\",\"jsonrpc\":\"2.0\",\"\\u0069d\":\"{pad}\"}}"),
        format!("{{\"id\":1,\"id\":\"{pad}\",\"method\":\"a\",\"method\":\"ping\",\"jsonrpc\":\"2.0\"}}"),
        format!("  {{\"result\":{{}},\"id\":\"{pad}\",\"method\":\"ping\",\"jsonrpc\":\"2.0\"}}"),
    ] {
        let fault = Fault::default();
        assert!(!takes(&fault, &asking) && fault.get().is_some(), "{}", asking.get(..40).unwrap());
    }
    let log = format!("{{\"level\":30,\"method\":\"GET\",\"id\":1,\"pad\":\"{pad}\"}}");
    for other in [
        log,
        format!("[\"method\", \"id\", \"{pad}\"]"),
        format!("{{\"id\":1,\"method\":\"{pad}"),
        pad.clone(),
    ] {
        let fault = Fault::default();
        assert!(takes(&fault, &other) && fault.get().is_none(), "its reader says what it is");
    }
}

#[test]
fn what_is_passed_over_is_bounded_until_the_server_answers_something() {
    let told = message(json!({ "jsonrpc": "2.0", "method": "notifications/message" }), 1 << 20);
    let fault = Fault::default();
    for _ in 0..MAX_PASSED_OVER / told.len() {
        assert!(!takes(&fault, &told) && fault.get().is_none());
    }
    assert!(!takes(&fault, &told));
    assert!(fault.get().unwrap().starts_with("it sent more than 67108864 bytes"));
}

/// A wire on which nothing is written until the test lets it.
#[derive(Default)]
struct Stuck {
    incoming: std::collections::VecDeque<Incoming>,
    opened: CancellationToken,
}

impl Transport<RoleClient> for Stuck {
    type Error = std::io::Error;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let opened = self.opened.clone();
        async move {
            opened.cancelled().await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        self.incoming.pop_front()
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn incoming(message: &serde_json::Value) -> Incoming {
    serde_json::from_value(message.clone()).expect("a message")
}

/// Hears so many requests, and gives what answers them.
async fn asked(
    bounded: &mut Bounded<Stuck>,
    requests: usize,
) -> Vec<BoxFuture<'static, std::io::Result<()>>> {
    let mut answers = Vec::new();
    for id in 0..requests {
        let ask = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        bounded.wire.as_mut().expect("a wire").incoming.push_back(incoming(&ask));
        assert!(bounded.receive().await.is_some(), "request {id}");
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        answers.push(bounded.send(serde_json::from_value(answer).expect("an answer")).boxed());
    }
    answers
}

#[tokio::test]
async fn requests_whose_answers_nobody_takes_are_counted_and_others_are_not() {
    let fault = Fault::default();
    let mut bounded = Bounded::new(Stuck::default(), fault.clone());
    let answers = asked(&mut bounded, MAX_UNANSWERED).await;
    assert!(fault.get().is_none());
    bounded.wire.as_ref().expect("a wire").opened.cancel();
    futures_util::future::join_all(answers).await;
    // Those are answered: as many again may be asked, and what the server cancels waits no longer.
    let waiting = asked(&mut bounded, MAX_UNANSWERED - 1).await;
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    bounded.wire.as_mut().expect("a wire").incoming.push_back(incoming(&cancel));
    assert!(bounded.receive().await.is_some());
    let more = asked(&mut bounded, 2).await;
    assert!(fault.get().is_none());
    asked(&mut bounded, 1).await;
    assert_eq!(fault.get().unwrap(), "it does not read the answers to its requests; 1000 are waiting");
    assert!(bounded.receive().await.is_none(), "nothing more is read");
    drop((waiting, more));
}
