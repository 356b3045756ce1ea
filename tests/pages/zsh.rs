//! The completion of zsh.

use std::fmt::Write;

use super::{
    CHECK, Row, Value, hint, is_repeatable, pages, rule_titles, spellings, stands_alone, value,
};

const SCRIPT: &str = r#"#compdef mcp-uplift
# zsh completion of mcp-uplift, made of its tables of options by `make pages`.

_mcp_uplift_rules() {
  local -a rules=(
@RULES@  )
  _values -s , rule $rules
}

_mcp_uplift() {
  local curcontext=$curcontext state state_descr line is_first=0 ret=1
  local -A opt_args
  local -a options
  if (( CURRENT > 2 )) && [[ $words[2] == check ]]; then
    shift words
    (( CURRENT-- ))
    options=(
@CHECK@    )
  else
    (( CURRENT == 2 )) && is_first=1
    options=(
@BRIDGE@    )
  fi

  # Options end where the command begins, whose own completion knows how it goes on.
  _arguments -s -S -A '-*' : $options '(-)1: :->command' '(-)*:: :->arguments' && ret=0
  case $state in
    command)
      if (( is_first )); then
        _alternative \
          'subcommands:subcommand:((check\:"@ABOUT@"))' \
          'commands:command:_command_names -e' && ret=0
      else
        _command_names -e && ret=0
      fi
      ;;
    arguments)
      # Words after -- begin with it.
      if [[ $words[1] == -- ]]; then
        shift words
        (( CURRENT-- ))
      fi
      _normal && ret=0
      ;;
  esac
  return ret
}

_mcp_uplift "$@"
"#;

pub(super) fn script() -> String {
    let mut rules = String::new();
    for (id, title) in rule_titles() {
        let _ = writeln!(rules, "    {}", quoted(&format!("{id}[{}]", bracketed(title))));
    }
    SCRIPT
        .replace("@RULES@", &rules)
        .replace("@CHECK@", &specs(&pages::check()))
        .replace("@BRIDGE@", &specs(&pages::bridge()))
        .replace("@ABOUT@", CHECK)
}

fn specs(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        for spelling in spellings(row) {
            let _ = writeln!(text, "      {}", quoted(&spec(row, &spelling)));
        }
    }
    text
}

/// As `_arguments` wants it: what it excludes, the option, what it does, its value.
fn spec(row: &Row, spelling: &str) -> String {
    let excluded = match spellings(row).join(" ") {
        _ if stands_alone(row) => "(- : *)".to_owned(),
        _ if is_repeatable(row) => "*".to_owned(),
        all => format!("({all})"),
    };
    let action = match value(row) {
        Value::None => return format!("{excluded}{spelling}[{}]", bracketed(&hint(row))),
        Value::Words(words) => format!("({})", words.join(" ")),
        Value::Rules => "_mcp_uplift_rules".to_owned(),
        Value::Folder => "_files -/".to_owned(),
        Value::File => "_files".to_owned(),
        Value::Variable => "_parameters -g '*export*'".to_owned(),
        // Only says what is expected.
        Value::Free => " ".to_owned(),
    };
    format!("{excluded}{spelling}=[{}]:{}:{action}", bracketed(&hint(row)), row.value)
}

fn bracketed(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]").replace(':', "\\:")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
