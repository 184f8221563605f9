//! What the user has set, and what holds if not.

use crate::json::Value;

pub const MANIFEST: &str = r#"{
"protocol_version":1,
"name":"reviewer",
"version":"1.0.0",
"description":"Reads the answer before the user does: do its blocks parse, were the tests run?",
"subscriptions":[
 {"event":"stop","timeout_s":30.0},
 {"event":"post_tool_call","mode":"event"},
 {"event":"turn_end"},
 {"event":"session_end"}],
"config_schema":{"type":"object","additionalProperties":false,"properties":{
 "tests":{"type":"array","items":{"type":"string","minLength":1},"description":"what a command begins with that runs the tests"},
 "checkers":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}},"description":"a command for each language of a block; it reads the block, and fails if it is wrong; [] is none"},
 "most":{"type":"integer","default":3,"minimum":0,"maximum":8,"description":"how often in one turn the model is asked to go on"}}}
}"#;

const PYTHON: &str = "import ast, sys; ast.parse(sys.stdin.read())";
const TOML: &str = "\
import sys
try:
    import tomllib
except ImportError:  # before Python 3.11
    sys.exit()
tomllib.loads(sys.stdin.read())";

pub struct Settings {
    pub tests: Vec<String>,
    pub checkers: Vec<(String, Vec<String>)>,
    pub most: f64,
}

impl Settings {
    /// The host has checked them by the schema above.
    pub fn read(config: &Value) -> Settings {
        let mut settings = Settings {
            tests: ["make test", "make check", "pytest", "python -m pytest", "python3 -m pytest", "cargo test", "go test", "npm test", "npm run test", "ctest"]
                .map(String::from)
                .to_vec(),
            checkers: [
                ("python", vec!["python3", "-I", "-c", PYTHON]),
                ("toml", vec!["python3", "-I", "-c", TOML]),
                ("bash", vec!["bash", "-n"]),
                ("sh", vec!["sh", "-n"]),
            ]
            .map(|(language, words)| (language.to_string(), words.into_iter().map(String::from).collect()))
            .to_vec(),
            most: config.get("most").number().unwrap_or(3.0),
        };
        if *config.get("tests") != Value::Null {
            settings.tests = texts(config.get("tests"));
        }
        for (language, words) in config.get("checkers").pairs() {
            settings.checkers.retain(|checker| checker.0 != *language);
            settings.checkers.push((language.clone(), texts(words)));
        }
        settings
    }

    pub fn checker(&self, language: &str) -> Option<&[String]> {
        self.checkers.iter().find(|checker| checker.0 == language && !checker.1.is_empty()).map(|checker| &checker.1[..])
    }

    /// Whether a shell's command runs the tests: it begins so, or what stands behind `&&`, `;` or `|` does.
    pub fn runs_tests(&self, command: &str) -> bool {
        command.split(['&', ';', '|', '\n', '(']).any(|part| {
            // `CI=1 pytest` and `.venv/bin/pytest` are pytest
            let words: Vec<&str> = part.split_whitespace().skip_while(|word| word.contains('=')).collect();
            let name = words.first().and_then(|word| word.rsplit('/').next()).unwrap_or("");
            let plain = [&[name], words.get(1..).unwrap_or(&[])].concat().join(" ");
            self.tests.iter().any(|test| plain == *test || plain.starts_with(&format!("{test} ")))
        })
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.list().iter().filter_map(|one| one.text().map(String::from)).collect()
}
