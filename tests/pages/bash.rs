//! The completion of bash, with and without the package bash-completion.

use std::collections::BTreeSet;

use super::{Row, Value, pages, rule_titles, spellings, value, valued};

const SCRIPT: &str = r#"# bash completion of mcp-uplift, made of its tables of options by `make pages`.

_mcp_uplift()
{
    # bash splits words at = and :, too. Here they are put together again, up to the cursor.
    local line=${COMP_LINE:0:COMP_POINT} part gap i
    local -a words=() starts=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        part=${COMP_WORDS[i]}
        gap=${line%%[![:space:]]*}
        line=${line#"$gap"}
        ((i < COMP_CWORD)) || part=$line
        line=${line#"$part"}
        if [[ $i -gt 0 && -z $gap ]]; then
            words[-1]+=$part
        else
            words+=("$part")
            starts+=("$i")
        fi
    done
    local last=$((${#words[@]} - 1))
    local word=${words[last]}
    # What readline will not replace: all before the last = or : of the word.
    [[ $part == [=:]* ]] && part=
    local kept=${word%"$part"}

    local options='@BRIDGE@'
    local valued=' @BRIDGE_VALUED@ '
    local first=1
    if [[ $last -gt 1 && ${words[1]} == check ]]; then
        options='@CHECK@'
        valued=' @CHECK_VALUED@ '
        first=2
    fi

    # The option whose value is completed, what stands before the value in its word, and the value.
    local option= lead= value=
    for ((i = first; i < last; i++)); do
        case ${words[i]} in
            --)
                _mcp_uplift_command $((i + 1))
                return
                ;;
            -?*)
                if [[ $valued == *" ${words[i]} "* ]]; then
                    i=$((i + 1))
                    if ((i == last)); then
                        option=${words[i - 1]}
                        value=$word
                    fi
                fi
                ;;
            *)
                _mcp_uplift_command "$i"
                return
                ;;
        esac
    done
    if [[ -z $option && $word == --*=* ]]; then
        option=${word%%=*}
        lead=$option=
        value=${word#*=}
    fi

    COMPREPLY=()
    case $option in
        '')
            if [[ -z $word && $first -eq 1 && $last -eq 1 ]]; then
                options+=' check'
            elif [[ -n $word && $word != -* ]]; then
                _mcp_uplift_command "$last"
                if [[ $first -eq 1 && $last -eq 1 && check == "$word"* ]]; then
                    COMPREPLY+=(check)
                fi
                return
            fi
            mapfile -t COMPREPLY < <(compgen -W "$options --" -- "$word")
            ;;
@VALUES@    esac
    COMPREPLY=("${COMPREPLY[@]/#/"$lead"}")
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

# The command line of the server begins with this word; its own completion knows how it goes on.
_mcp_uplift_command()
{
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[$1]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    else
        compopt -o default
        if [[ $1 -eq $last && $word != */* ]]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        fi
    fi
}

complete -F _mcp_uplift mcp-uplift
"#;

pub(super) fn script() -> String {
    let (bridge, check) = (pages::bridge(), pages::check());
    let rows = bridge.iter().chain(&check);
    // Both tables have some of them; a name means the same in both.
    let values: BTreeSet<String> = rows.filter_map(branch).collect();
    SCRIPT
        .replace("@BRIDGE@", &all(&bridge))
        .replace("@BRIDGE_VALUED@", &valued(&bridge).join(" "))
        .replace("@CHECK@", &all(&check))
        .replace("@CHECK_VALUED@", &valued(&check).join(" "))
        .replace("@VALUES@", &String::from_iter(values))
}

fn all(rows: &[Row]) -> String {
    rows.iter().flat_map(spellings).collect::<Vec<_>>().join(" ")
}

/// What is done for the value of this option; nothing for one that nobody can guess.
fn branch(row: &Row) -> Option<String> {
    let compgen = |how: &str| format!("mapfile -t COMPREPLY < <(compgen {how})");
    let act = match value(row) {
        Value::None | Value::Free => return None,
        Value::Words(words) => compgen(&format!("-W '{}' -- \"$value\"", words.join(" "))),
        Value::Rules => {
            let ids: Vec<&str> = rule_titles().map(|(id, _)| id).collect();
            format!(
                "local before=${{value%\"${{value##*,}}\"}}\n                \
                 {}\n                \
                 compopt -o nospace",
                compgen(&format!("-P \"$before\" -W '{}' -- \"${{value##*,}}\"", ids.join(" ")))
            )
        }
        Value::Folder => "compopt -o dirnames".to_owned(),
        Value::File => "compopt -o default".to_owned(),
        Value::Variable => compgen("-e -- \"$value\""),
    };
    Some(format!(
        "        {})\n            {}\n            ;;\n",
        spellings(row).join(" | "),
        act.replace("                ", "            ")
    ))
}
