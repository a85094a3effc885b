//! A tool server that takes the payment and dies (E30, E46).

use crate::kit::{Home, lines};
use crate::server::{Reply, Server};

/// A tool server over stdio in the shell. A call of its tool writes a line, and is the end of the server.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) echo paid >> payments; exit 1 ;;
    *) result= ;;
  esac
  case "$id$result" in
    '') ;;
    "$id") printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result" ;;
  esac
done
"#;

const OPEN: &str =
    r#"{"original_goal_achieved": false, "local_goal_achieved": false, "solution_summary": "nothing yet"}"#;
const PAY: &str =
    r#"{"plan_text": ["pay"], "description": "pay", "type": "CODE", "code": "return s__pay()"}"#;

/// Exactly one payment is made, whatever the preset and its tries, and a person is asked before anything follows.
#[test]
fn e30_a_server_that_dies_after_its_effect_pays_once_under_every_preset() {
    let call = || Reply::Call("s__pay".to_owned(), "{}".to_owned());
    for (preset, retries) in [
        ("chat", ""),
        ("chat", ", retries: 2"),
        ("typed", ", max_steps: 4"),
        ("text", ""),
        ("refine", ""),
        ("plan", ""),
    ] {
        let model = Server::start(match preset {
            "plan" => vec![Reply::Pieces(vec![OPEN]), Reply::Pieces(vec![PAY])],
            "text" => vec![Reply::Pieces(vec!["```tool_call\n{\"tool\": \"s__pay\"}\n```"])],
            _ => vec![call()],
        });
        let home = Home::new();
        home.write("server.sh", SERVER);
        let tools = "tools: [ { mcp: { name: s, command: [sh, server.sh] } } ]\n";
        let policy = format!("instructions: You pay.\nloop: {{ preset: {preset}{retries} }}\n");
        home.write("agent.yaml", &format!("{}{tools}{policy}", model.agent()));
        let end = home.windlass(["run", "agent.yaml", "Pay."]);
        assert_eq!(lines(&home.path("payments")), 1, "{preset}{retries}: {end:?}");
        assert_eq!(
            (home.events("CallDoubted"), home.events("CallRetried")),
            (1, 0),
            "{preset}{retries}: {end:?}"
        );
        assert_eq!(home.events("InputRequested"), 1, "{preset}{retries}: {end:?}");
        let said = format!("{}{}", end.stdout, end.stderr);
        assert!(
            said.contains("effect: read_only") && said.contains("the mcp `s`"),
            "{preset}{retries}: {end:?}"
        );
    }
}
