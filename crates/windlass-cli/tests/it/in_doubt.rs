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

/// Notes its key, and what it was called with.
const NOTES: &str = r#"
tools:
  - command:
      name: note
      run: [sh, -c, "echo \"$1 $WINDLASS_IDEMPOTENCY_KEY\" >> keys", "{text}", "{text}"]
      description: Notes a text.
      parameters: { type: object, properties: { text: { type: string } }, required: [text] }
      effect: idempotent
  - command:
      name: turn
      run: [sh, -c, "[ -e begun ] && printf c || printf b; touch begun"]
      description: Tells the turn.
      effect: read_only
loop: { preset: plan, retry_wait_ms: 1 }
instructions: You note.
"#;
/// Its first try fails at its end.
const NOTE: &str = r#"{"plan_text": ["note"], "description": "note", "type": "CODE", "code": "note(text='a')\nnote(text='a')\nlast = turn()\nnote(text=last)\nif last == 'b':\n    return unheard_of\nreturn 'noted'"}"#;
const CLOSED: &str =
    r#"{"original_goal_achieved": true, "local_goal_achieved": true, "solution_summary": "noted"}"#;

/// A further try of a step has its calls matched one by one: by place, tool and arguments.
#[test]
fn e36_a_further_try_of_a_step_keeps_the_key_of_each_call_that_it_makes_again() {
    let model =
        Server::start([OPEN, NOTE, CLOSED].map(|text| Reply::Pieces(vec![text])).into_iter().collect());
    let home = Home::new();
    home.write("agent.yaml", &format!("{}{NOTES}", model.agent()));
    let end = home.windlass(["run", "agent.yaml", "Note."]);
    assert_eq!(end.code, 0, "{end:?}");
    let keys = home.read("keys");
    let keys: Vec<(&str, &str)> = keys.lines().filter_map(|line| line.split_once(' ')).collect();
    let [first, second] = [&keys[..3], &keys[3..]];
    assert_eq!(first.iter().map(|call| call.0).collect::<String>(), "aab");
    assert_eq!(second.iter().map(|call| call.0).collect::<String>(), "aac");
    assert_eq!(first[..2], second[..2], "the same place, tool and arguments: the same key");
    assert_ne!(first[0].1, first[1].1, "another place is another call");
    assert_ne!(first[2].1, second[2].1, "other arguments are another call");
}

const PAYS: &str = r#"
tools:
  - command:
      name: pay
      run: [sh, -c, "echo {order} >> paid"]
      description: Pays.
      parameters: { type: object, properties: { order: { type: integer } }, required: [order] }
      effect: once
  - command:
      name: look
      run: [sh, -c, "[ -e begun ] && echo good && exit; touch begun; exit 3"]
      description: Fails at first.
      effect: read_only
loop: { preset: plan, retry_wait_ms: 1 }
instructions: You pay.
"#;
/// The first try takes another way than the second, and fails at its end.
const WAYS: [&str; 2] = [
    r#"{"plan_text": ["pay"], "description": "pay", "type": "CODE", "code": "x = 'bad'\ntry:\n    x = look()\nexcept Exception as e:\n    pay(order=9)\npay(order=4)\nif x == 'bad':\n    return unheard_of\nreturn x"}"#,
    r#"{"plan_text": ["pay"], "description": "pay", "type": "CODE", "code": "x = 'bad'\norders = [1, 2]\ntry:\n    x = look()\n    orders = [2, 1]\nexcept Exception as e:\n    x = 'bad'\nfor n in orders:\n    pay(order=n)\nif x == 'bad':\n    return unheard_of\nreturn x"}"#,
];

/// A payment that has happened is not made once more because it is another one in the order of the calls.
#[test]
fn e30_a_further_try_of_a_step_pays_nothing_twice_whatever_way_it_takes() {
    for (way, expected) in WAYS.into_iter().zip(["9\n4\n", "1\n2\n"]) {
        let model =
            Server::start([OPEN, way, CLOSED].map(|text| Reply::Pieces(vec![text])).into_iter().collect());
        let home = Home::new();
        home.write("agent.yaml", &format!("{}{PAYS}", model.agent()));
        let end = home.windlass(["run", "agent.yaml", "Pay."]);
        assert_eq!((end.code, home.read("paid").as_str()), (0, expected), "{end:?}");
    }
}

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
