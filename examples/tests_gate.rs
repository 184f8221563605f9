// A `stop` hook in Rust, std only: the agent may not stop before it has spoken of tests. It reads by lines. rustc -O tests_gate.rs
use std::io::{self, BufRead, Write};

const MANIFEST: &str = r#"{"protocol_version":1,"name":"tests-gate","version":"1.0.0","description":"Nobody stops before the tests are run.",
"subscriptions":[{"event":"stop","timeout_s":2}]}"#;

/// What stands behind `mark` and before the next `end`, looked for from the front.
fn between<'a>(text: &'a str, mark: &str, end: char) -> Option<&'a str> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest.find(end).map(|at| &rest[..at])
}

fn stop(line: &str) -> &'static str {
    // last_assistant_message is the last field, so all that follows it is its text
    let said = line.split_once(r#","last_assistant_message":"#).map_or("", |(_, text)| text);
    if line.contains(r#","stop_count":0,"#) && !said.to_lowercase().contains("test") {
        r#"{"continue_with":"Run the tests, and say how they went."}"#
    } else {
        "null"
    }
}

fn main() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.starts_with(r#"{"jsonrpc":"2.0","method":"exit""#) { break; }
        if !line.starts_with(r#"{"jsonrpc":"2.0","id":"#) { continue; } // a header, an event, a cancel
        let (Some(id), Some(method)) = (between(&line, r#","id":"#, ','), between(&line, r#","method":""#, '"')) else { continue };
        let answer = match method {
            "initialize" if !between(&line, r#""protocol_versions":["#, ']').is_some_and(|all| all.split(',').any(|one| one == "1")) =>
                r#""error":{"code":-32602,"message":"no common version: this plugin speaks 1"}"#.to_string(),
            "initialize" => format!(r#""result":{}"#, MANIFEST.replace('\n', "")),
            "hook/stop" => format!(r#""result":{}"#, stop(&line)),
            "ping" | "shutdown" => r#""result":null"#.to_string(),
            _ => r#""error":{"code":-32601,"message":"unknown method"}"#.to_string(),
        };
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)?;
        output.flush()?;
    }
    Ok(())
}
