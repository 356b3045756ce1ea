//! The completion of fish.

use std::fmt::Write;

use super::{CHECK, Row, Value, hint, pages, rule_titles, value, valued};

const SCRIPT: &str = r"# fish completion of mcp-uplift, made of its tables of options by `make pages`.

# What the word at the cursor belongs to: bridge, check, or command. After the latter come the words
# of the command line of the server before it.
function __mcp_uplift_place
    set -l place bridge
    set -l valued @BRIDGE_VALUED@
    set -l words (commandline -opc)
    set -e words[1]
    if set -q words[1]; and test $words[1] = check
        set place check
        set valued @CHECK_VALUED@
        set -e words[1]
    end
    while set -q words[1]
        switch $words[1]
            case --
                set place command
                set -e words[1]
                break
            case -
                set place command
                break
            case '-*'
                if contains -- $words[1] $valued; and set -q words[2]
                    set -e words[1]
                end
            case '*'
                set place command
                break
        end
        set -e words[1]
    end
    printf '%s\n' $place
    test $place = command; and set -q words[1]; and printf '%s\n' $words
    return 0
end

function __mcp_uplift_in
    set -l place (__mcp_uplift_place)
    test $place[1] = $argv[1]
end

# Where options stand a command may begin, too. Before its first letter there are too many.
function __mcp_uplift_may_begin
    not __mcp_uplift_in command; and string match -qr -- '^[^-]' (commandline -ct)
end

function __mcp_uplift_is_first
    test (count (commandline -opc)) -eq 1
end

# The command of the server, or what its own completion says.
function __mcp_uplift_command
    set -l place (__mcp_uplift_place)
    set -l words (string escape -- $place[2..-1]) (commandline -ct)
    complete -C (string join ' ' -- $words)
end

# Ids with commas: those before the last comma stay.
function __mcp_uplift_rules
    set -l before (commandline -ct | string replace -r '^--[a-z-]+=' '' | string match -r '^.*,')
@RULES@end

complete -c mcp-uplift -f
complete -c mcp-uplift -n __mcp_uplift_is_first -a check -d '@ABOUT@'
complete -c mcp-uplift -n '__mcp_uplift_in command' -a '(__mcp_uplift_command)'
complete -c mcp-uplift -n __mcp_uplift_may_begin -a '(__mcp_uplift_command)'

@BRIDGE@
@CHECK@";

pub(super) fn script() -> String {
    let (bridge, check) = (pages::bridge(), pages::check());
    let mut rules = String::new();
    for (id, title) in rule_titles() {
        let _ = writeln!(rules, "    echo \"$before\"{}", quoted(&format!("{id}\t{title}")));
    }
    SCRIPT
        .replace("@BRIDGE_VALUED@", &valued(&bridge).join(" "))
        .replace("@CHECK_VALUED@", &valued(&check).join(" "))
        .replace("@RULES@", &rules)
        .replace("@ABOUT@", CHECK)
        .replace("@BRIDGE@", &lines("bridge", &bridge))
        .replace("@CHECK@", &lines("check", &check))
}

fn lines(place: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = write!(text, "complete -c mcp-uplift -n '__mcp_uplift_in {place}'");
        if let Some(letter) = row.short {
            let _ = write!(text, " -s {letter}");
        }
        let _ = write!(text, " -l {}", row.name);
        match value(row) {
            Value::None => {}
            Value::Words(words) => {
                let _ = write!(text, " -x -a {}", quoted(&words.join(" ")));
            }
            Value::Rules => text += " -x -a '(__mcp_uplift_rules)'",
            Value::Folder => text += " -x -a '(__fish_complete_directories)'",
            Value::File => text += " -r -F",
            Value::Variable => text += " -x -a '(set -nx)'",
            Value::Free => text += " -x",
        }
        let _ = writeln!(text, " -d {}", quoted(&hint(row)));
    }
    text
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
